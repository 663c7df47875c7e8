package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fields are the members that an object may have, as a struct describes them; those of embedded structs are among
// them:
//
//	Path  string   `json:"path" required:"" help:"File to read." example:"src/lib.rs"`
//	Most  int      `json:"most" min:"1" default:"9" …`  absent is the default
//	From  *int     `json:"start_line" min:"1" …`        absent is nil
//	Flat  bool     `json:"flat" help:"…"`               absent is false
//	Mode  string   `json:"mode" enum:"a,b" default:"a"` one of these
//	Paths Strings  `json:"paths" …`                     one or many
//	Edits []Edit   `json:"edits" …`                     objects
//
// A null stands for an absent member everywhere, but not for an element of a list.
type Fields []Field

// Field is one member of an object.
type Field struct {
	Name     string
	Alias    string // another name that is accepted
	Help     string
	Example  string
	Default  string
	Enum     []string
	Required bool
	Min      *int
	Kind     Kind
	Items    Fields // of the objects, for KindObjects

	typ   reflect.Type
	index []int
}

// Kind is the type of a member.
type Kind uint8

// The kinds. KindOther is any that no command line has.
const (
	KindOther Kind = iota
	KindString
	KindInt
	KindBool
	KindStrings
	KindObjects
)

// kindNames are the kinds as messages name them.
var kindNames = [...]string{
	KindOther: "an object", KindString: "a string", KindInt: "an integer", KindBool: "a boolean",
	KindStrings: "a string or an array of strings", KindObjects: "an array of objects",
}

// Strings is a "one or many" member: a string, an array of strings, or a string that
// holds a JSON array of strings, as models send it. Set tells an empty array from an
// absent member.
type Strings struct {
	Items []string
	Set   bool
}

// FieldsOf reads the fields of a struct type.
func FieldsOf(t reflect.Type) (list Fields) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		tag := f.Tag
		field := Field{
			Name: name, Alias: tag.Get("alias"), Help: tag.Get("help"), Example: tag.Get("example"), Default: tag.Get("default"),
			Kind: kindOf(f.Type), typ: f.Type, index: f.Index,
		}
		_, field.Required = tag.Lookup("required")
		if e := tag.Get("enum"); e != "" {
			field.Enum = strings.Split(e, ",")
		}
		if m := tag.Get("min"); m != "" {
			n, err := strconv.Atoi(m)
			if err != nil {
				panic("strictjson: bad min tag on " + f.Name)
			}
			field.Min = &n
		}
		if field.Kind == KindObjects {
			field.Items = FieldsOf(f.Type.Elem())
		}
		list = append(list, field)
	}
	return list
}

var timeType = reflect.TypeFor[time.Time]()

func kindOf(t reflect.Type) Kind {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[Strings]():
		return KindStrings
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return KindObjects
	case t.Kind() == reflect.String:
		return KindString
	case t.Kind() == reflect.Bool:
		return KindBool
	case t.Kind() == reflect.Int || t.Kind() == reflect.Uint16:
		return KindInt
	}
	return KindOther
}

// Names lists the names, and after each its alias.
func (list Fields) Names() []string {
	var names []string
	for _, f := range list {
		names = append(names, f.Name)
		if f.Alias != "" {
			names = append(names, f.Alias)
		}
	}
	return names
}

// Literal is the JSON of a value written in a tag.
func (f *Field) Literal(text string) json.RawMessage {
	if f.Kind == KindString {
		return String(text)
	}
	return ValueOrString(text)
}

// typeName names the type in messages.
func (f *Field) typeName() string {
	if len(f.Enum) > 0 {
		return "one of " + strings.Join(f.Enum, ", ")
	}
	return typeName(f.typ)
}

func typeName(t reflect.Type) string {
	kind := kindOf(t)
	switch {
	case t == timeType:
		return "a time as in RFC 3339"
	case kind == KindOther && t.Kind() == reflect.Struct:
		return "an object with " + strings.Join(FieldsOf(t).Names(), ", ")
	case kind == KindOther && t.Kind() == reflect.Slice && t != reflect.TypeFor[json.RawMessage]():
		return "an array"
	case t.Kind() == reflect.Uint16:
		return "an integer from 0 to 65535"
	}
	return kindNames[kind]
}

// MemberError says what is wrong with one member.
type MemberError struct {
	Path string // names of members and indices that lead to it
	Text string
}

// Error joins both.
func (e *MemberError) Error() string { return fmt.Sprintf("`%s` %s", e.Path, e.Text) }

func wrong(path, format string, args ...any) error {
	return &MemberError{path, fmt.Sprintf(format, args...)}
}

// Decoder fills structs from objects.
type Decoder struct {
	// Unknown decides about a member that is none of known: it returns an error, or nil to pass it over. If Unknown is
	// nil, all are passed over.
	Unknown func(path, name string, known []string) error
	// OneOrMany lets a single object, and a string that holds a JSON array, stand for a list of objects.
	OneOrMany bool
}

// Decode fills the struct that into points to. The error is that of Unknown, or a *MemberError.
func (d *Decoder) Decode(obj Object, into any) error {
	return d.object("", obj, reflect.ValueOf(into).Elem())
}

func (d *Decoder) object(path string, obj Object, into reflect.Value) error {
	list := FieldsOf(into.Type())
	known := list.Names()
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		if d.Unknown != nil && !slices.Contains(known, name) {
			if err := d.Unknown(path+name, name, known); err != nil {
				return err
			}
		}
	}
	for i := range list {
		f := &list[i]
		at, raw := path+f.Name, obj[f.Name]
		if other := obj[f.Alias]; f.Alias != "" && !Absent(other) {
			if !Absent(raw) && string(raw) != string(other) {
				return wrong(at, "is %s and `%s` is %s; give one of them", raw, f.Alias, other)
			}
			raw = other
		}
		if Absent(raw) {
			if f.Required {
				return wrong(at, "is missing; it must be %s", f.typeName())
			}
			if f.Default == "" {
				continue
			}
			raw = f.Literal(f.Default)
		}
		field := into.FieldByIndex(f.index)
		if err := d.value(at, raw, field); err != nil {
			return err
		}
		switch value := reflect.Indirect(field); {
		case len(f.Enum) > 0 && !slices.Contains(f.Enum, value.String()):
			return wrong(at, "must be one of %s, got %q", strings.Join(f.Enum, ", "), value)
		case f.Min != nil && value.Int() < int64(*f.Min):
			return wrong(at, "must be at least %d, got %d", *f.Min, value.Int())
		}
	}
	return nil
}

func (d *Decoder) value(path string, raw json.RawMessage, into reflect.Value) error {
	t := into.Type()
	mismatch := func() error { return wrong(path, "must be %s, got %s", typeName(t), shorten(raw)) }
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		into.SetBytes(raw)
		return nil
	case Absent(raw):
		return mismatch()
	case t.Kind() == reflect.Pointer:
		into.Set(reflect.New(t.Elem()))
		return d.value(path, raw, into.Elem())
	case t == reflect.TypeFor[Strings]():
		list := Strings{Items: []string{}, Set: true}
		for _, item := range oneOrMany(raw) {
			text, ok := stringOf(item)
			if !ok {
				return mismatch()
			}
			list.Items = append(list.Items, text)
		}
		into.Set(reflect.ValueOf(list))
		return nil
	case t.Kind() == reflect.Struct && t != timeType:
		obj, err := ParseObject(raw)
		if err != nil {
			return mismatch()
		}
		return d.object(path+".", obj, into)
	case t.Kind() == reflect.Map:
		obj, err := ParseObject(raw)
		if err != nil {
			return mismatch()
		}
		into.Set(reflect.MakeMap(t))
		for _, key := range slices.Sorted(maps.Keys(obj)) {
			item := reflect.New(t.Elem()).Elem()
			if err := d.value(path+"."+key, obj[key], item); err != nil {
				return err
			}
			into.SetMapIndex(reflect.ValueOf(key), item)
		}
		return nil
	case t.Kind() == reflect.Slice:
		many := d.OneOrMany && kindOf(t) == KindObjects
		items := oneOrMany(raw)
		if !many && KindOf(raw) != "an array" {
			return mismatch()
		}
		into.Set(reflect.MakeSlice(t, len(items), len(items)))
		for i, item := range items {
			at := fmt.Sprintf("%s[%d]", path, i)
			if err := brokenJSON(item); many && err != nil {
				return wrong(at, "is a text that begins as JSON but is none: %v", err)
			}
			if err := d.value(at, item, into.Index(i)); err != nil {
				return err
			}
		}
		return nil
	case kindOf(t) == KindInt:
		raw = integer(raw)
	}
	if json.Unmarshal(raw, into.Addr().Interface()) != nil {
		return mismatch()
	}
	return nil
}

// brokenJSON says what is wrong with the JSON in a text, where an object or a list of them is meant. On a command
// line every value that is no JSON is a text, so a missing brace makes one.
func brokenJSON(raw json.RawMessage) error {
	s, _ := stringOf(raw)
	if kind := KindOf([]byte(s)); kind == "an object" || kind == "an array" {
		return Check([]byte(s))
	}
	return nil
}

// oneOrMany returns the values of an array, of a string that holds a JSON array, or
// the one value itself.
func oneOrMany(raw json.RawMessage) []json.RawMessage {
	if list, err := ParseArray(raw); err == nil {
		return list
	}
	// As strict as the request itself; anything else is an ordinary string.
	if s, ok := stringOf(raw); ok {
		if list, err := ParseArray([]byte(s)); err == nil {
			return list
		}
	}
	return []json.RawMessage{raw}
}

func stringOf(raw json.RawMessage) (string, bool) {
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil && !Absent(raw)
}

// integer writes what JSON Schema calls an integer without a fraction: 10.0 as 10.
func integer(raw json.RawMessage) json.RawMessage {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return raw
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

// ValueOrString is text itself if it is JSON, else the JSON of a string.
func ValueOrString(text string) json.RawMessage {
	if Check([]byte(text)) == nil {
		return bytes.TrimSpace([]byte(text))
	}
	return String(text)
}

// String is the JSON of a string.
func String(text string) json.RawMessage {
	raw, err := json.Marshal(text)
	if err != nil {
		panic(err) // no string fails
	}
	return raw
}

func shorten(raw json.RawMessage) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}
