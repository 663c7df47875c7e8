package toolmain

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// Args describes how a struct defines arguments or options. Every exported field is
// one, embedded structs are flattened:
//
//	Path  string   `json:"path" required:"" help:"File to read." example:"src/lib.rs"`
//	Most  int      `json:"most" min:"1" default:"9" …`  absent is the default
//	From  *int     `json:"start_line" min:"1" …`        absent is nil
//	Flat  bool     `json:"flat" help:"…"`               absent is false
//	Mode  string   `json:"mode" enum:"a,b" default:"a"` one of these
//	Paths Strings  `json:"paths" …`                    one or many
//	Edits []Edit   `json:"edits" …`                    objects, one or many
//
// A null stands for an absent value everywhere.
type Args []Arg

// Arg is one argument or option.
type Arg struct {
	Name     string // on the wire
	Help     string
	Example  string
	Default  string
	Enum     []string
	Required bool
	Min      *int
	Kind     Kind
	Items    Args // of the objects, for KindObjects

	index []int
}

// Kind is the type of an argument.
type Kind uint8

// The kinds of arguments.
const (
	KindString Kind = iota
	KindInt
	KindBool
	KindStrings
	KindObjects
)

// kinds are the types as help shows them, as messages name them, and as JSON Schema has them.
var kinds = [...]struct {
	short, name string
	schema      any
}{
	KindString:  {"string", "a string", "string"},
	KindInt:     {"integer", "an integer", "integer"},
	KindBool:    {"boolean", "a boolean", "boolean"},
	KindStrings: {"string…", "a string or an array of strings", []string{"string", "array"}},
	KindObjects: {"object…", "an array of objects with ", "array"},
}

// Strings is a "one or many" argument: a string, an array of strings, or a string that
// holds a JSON array of strings, as models send it. Set tells an empty array from an
// absent argument.
type Strings struct {
	Items []string
	Set   bool
}

// UnmarshalJSON implements [json.Unmarshaler].
func (s *Strings) UnmarshalJSON(raw []byte) error {
	*s = Strings{Items: []string{}, Set: true}
	items, err := oneOrMany(raw)
	for _, item := range items {
		text, ok := stringOf(item)
		if !ok {
			return errors.New("not a string")
		}
		s.Items = append(s.Items, text)
	}
	return err
}

// argsOf reads the definition from a struct type.
func argsOf(t reflect.Type, base []int) Args {
	var list Args
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(slices.Clone(base), i)
		if f.Anonymous {
			list = append(list, argsOf(f.Type, index)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		a := Arg{
			Name: f.Tag.Get("json"), Help: f.Tag.Get("help"), Example: f.Tag.Get("example"),
			Default: f.Tag.Get("default"), index: index,
		}
		_, a.Required = f.Tag.Lookup("required")
		if e := f.Tag.Get("enum"); e != "" {
			a.Enum = strings.Split(e, ",")
		}
		if m := f.Tag.Get("min"); m != "" {
			n, err := strconv.Atoi(m)
			if err != nil {
				panic("toolmain: bad min tag on " + f.Name)
			}
			a.Min = &n
		}
		switch ft := f.Type; {
		case ft == reflect.TypeFor[Strings]():
			a.Kind = KindStrings
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			a.Kind, a.Items = KindObjects, argsOf(ft.Elem(), nil)
		default:
			if ft.Kind() == reflect.Pointer {
				ft = ft.Elem()
			}
			switch ft.Kind() {
			case reflect.String:
				a.Kind = KindString
			case reflect.Int:
				a.Kind = KindInt
			case reflect.Bool:
				a.Kind = KindBool
			default:
				panic("toolmain: no argument can have the type of " + f.Name)
			}
		}
		list = append(list, a)
	}
	return list
}

// unknownArg is a name in a call that is not defined.
type unknownArg struct {
	path  string // with the list and place that it stands in
	name  string
	among Args // what could stand there
}

// unknown lists the names in obj, and in the objects of its lists, that are not
// defined, sorted.
func (list Args) unknown(obj jptool.Object) []unknownArg {
	var found []unknownArg
	for name, raw := range obj {
		i := slices.IndexFunc(list, func(a Arg) bool { return a.Name == name })
		if i < 0 {
			found = append(found, unknownArg{name, name, list})
			continue
		}
		if list[i].Kind != KindObjects || string(raw) == "null" {
			continue
		}
		items, _ := oneOrMany(raw) // the decoder says what is wrong
		for n, item := range items {
			inner, err := jptool.ParseObject(item)
			if err != nil {
				continue // the decoder says what is wrong
			}
			for _, sub := range list[i].Items.unknown(inner) {
				sub.path = fmt.Sprintf("%s[%d].%s", name, n, sub.path)
				found = append(found, sub)
			}
		}
	}
	slices.SortFunc(found, func(a, b unknownArg) int { return strings.Compare(a.path, b.path) })
	return found
}

func (list Args) names() []string {
	names := make([]string, len(list))
	for i, a := range list {
		names[i] = a.Name
	}
	return names
}

// ignored lists what of the arguments the tool does not know. An argument that is nearly
// a known one is an error: `dryrun` would change files.
func (d *definition) ignored(arguments jptool.Object) ([]string, error) {
	var names []string
	for _, u := range d.args.unknown(arguments) {
		if near := jptool.Misspelt(u.name, u.among.names()); near != "" {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%s has no argument %q; did you mean %q?", d.name, u.path, near)
		}
		names = append(names, u.path)
	}
	return names, nil
}

// checkOptions refuses options that the tool does not know: an option restricts, as
// `suppress` does, and one without effect would be a restriction that nobody enforces.
func (d *definition) checkOptions(options jptool.Object) error {
	unknown := d.options.unknown(options)
	if len(unknown) == 0 {
		return nil
	}
	first, names := unknown[0], d.options.names()
	if near := nearest.Word(first.name, names); near != "" {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s has no option %q; did you mean %q?", d.name, first.path, near)
	}
	return jptool.Errorf(jptool.CodeInvalidArguments, "%s has no option %q; its options are %s", d.name, first.path, strings.Join(names, ", "))
}

// decode fills the struct that into points to.
func (list Args) decode(what, tool string, obj jptool.Object, into any) error {
	return list.fill(func(a *Arg, format string, args ...any) error {
		return jptool.Errorf(jptool.CodeInvalidArguments, "%s `%s` of %s %s", what, a.Name, tool, fmt.Sprintf(format, args...))
	}, obj, reflect.ValueOf(into).Elem())
}

// deadline is the value of the option `deadline` in the struct that options points to, 0 if there is none.
func (list Args) deadline(options any) int64 {
	for _, a := range list {
		if a.Name == "deadline" && a.Kind == KindInt {
			return reflect.ValueOf(options).Elem().FieldByIndex(a.index).Int()
		}
	}
	return 0
}

type failFunc func(a *Arg, format string, args ...any) error

func (list Args) fill(fail failFunc, obj jptool.Object, into reflect.Value) error {
	for i := range list {
		a := &list[i]
		field := into.FieldByIndex(a.index)
		raw, ok := obj[a.Name]
		if !ok || string(raw) == "null" {
			if a.Required {
				return fail(a, "is missing; it must be %s", a.typeName())
			}
			if a.Default == "" {
				continue
			}
			raw = a.literal(a.Default)
		}
		if err := a.set(fail, raw, field); err != nil {
			return err
		}
	}
	return nil
}

func (a *Arg) set(fail failFunc, raw json.RawMessage, field reflect.Value) error {
	switch a.Kind {
	case KindObjects:
		return a.setObjects(fail, raw, field)
	case KindInt:
		raw = integer(raw)
	}
	if err := json.Unmarshal(raw, field.Addr().Interface()); err != nil {
		return fail(a, "must be %s, got %s", a.typeName(), shorten(raw))
	}
	value := reflect.Indirect(field)
	switch {
	case len(a.Enum) > 0 && !slices.Contains(a.Enum, value.String()):
		return fail(a, "must be one of %s, got %q", strings.Join(a.Enum, ", "), value)
	case a.Min != nil && value.Int() < int64(*a.Min):
		return fail(a, "must be at least %d, got %d", *a.Min, value.Int())
	}
	return nil
}

func (a *Arg) setObjects(fail failFunc, raw json.RawMessage, field reflect.Value) error {
	items, err := oneOrMany(raw)
	if err != nil {
		return fail(a, "must be %s, got %s", a.typeName(), shorten(raw))
	}
	list := reflect.MakeSlice(field.Type(), len(items), len(items))
	for i, item := range items {
		if err := brokenJSON(item); err != nil {
			return fail(a, "must be %s; item %d is a text that begins as JSON but is none: %v", a.typeName(), i, err)
		}
		if len(item) == 0 || item[0] != '{' {
			return fail(a, "must be %s; item %d is %s", a.typeName(), i, shorten(item))
		}
		obj, err := jptool.ParseObject(item)
		if err != nil {
			return fail(a, "item %d: %v", i, err)
		}
		inner := func(sub *Arg, format string, args ...any) error {
			return fail(a, "item %d: `%s` %s", i, sub.Name, fmt.Sprintf(format, args...))
		}
		if err := a.Items.fill(inner, obj, list.Index(i)); err != nil {
			return err
		}
	}
	field.Set(list)
	return nil
}

// brokenJSON says what is wrong with the JSON in a text, where an object or a list of them is meant. On a command
// line every value that is no JSON is a text, so a missing brace makes one.
func brokenJSON(raw json.RawMessage) error {
	s, ok := stringOf(raw)
	if !ok {
		return nil
	}
	switch s = strings.TrimSpace(s); {
	case strings.HasPrefix(s, "{"):
		_, err := jptool.ParseObject([]byte(s))
		return err
	case strings.HasPrefix(s, "["):
		return json.Unmarshal([]byte(s), new([]json.RawMessage))
	}
	return nil
}

// oneOrMany returns the values of an array, of a string that holds a JSON array, or
// the one value itself.
func oneOrMany(raw json.RawMessage) (list []json.RawMessage, err error) {
	if raw[0] == '[' {
		err = json.Unmarshal(raw, &list)
		return list, err
	}
	if s, ok := stringOf(raw); ok && strings.HasPrefix(strings.TrimSpace(s), "[") {
		// As strict as the request itself; anything else is an ordinary string.
		if obj, err := jptool.ParseObject([]byte(`{"a":` + s + `}`)); err == nil && json.Unmarshal(obj["a"], &list) == nil {
			return list, nil
		}
	}
	return []json.RawMessage{raw}, nil
}

func stringOf(raw json.RawMessage) (string, bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	var s string
	err := json.Unmarshal(raw, &s)
	return s, err == nil
}

// integer writes what JSON Schema calls an integer without a fraction: 10.0 as 10.
func integer(raw json.RawMessage) json.RawMessage {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= 1<<53 {
		return raw
	}
	return strconv.AppendInt(nil, int64(f), 10)
}

func (a *Arg) typeName() string {
	switch {
	case len(a.Enum) > 0:
		return "one of " + strings.Join(a.Enum, ", ")
	case a.Kind == KindObjects:
		return kinds[a.Kind].name + strings.Join(a.Items.names(), ", ")
	}
	return kinds[a.Kind].name
}

func shorten(raw json.RawMessage) string {
	const most = 60
	if len(raw) > most {
		return strings.ToValidUTF8(string(raw[:most]), "") + "…"
	}
	return string(raw)
}
