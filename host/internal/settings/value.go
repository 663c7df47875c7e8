// Package settings is the tree that every layer of the configuration is read into: values that know who wrote
// them and where, read from TOML or JSON and written as TOML, and the problems that are reported at those places.
//
// It knows no key of the configuration: package config has the schema, and says what is merged how.
package settings

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool/strictjson"
)

// Kind is the kind of a Value.
type Kind uint8

// The kinds. Null comes only from JSON, where it takes away what lower layers set.
const (
	Null Kind = iota
	Bool
	Integer
	Float
	String
	DateTime
	List
	Table
)

// String names the kind with its article.
func (k Kind) String() string {
	return [...]string{"null", "a boolean", "an integer", "a float", "a string", "a date", "a list", "a table"}[k]
}

// Value is a node of the tree. Once a configuration is loaded its values are only read.
type Value struct {
	Kind   Kind
	Origin Origin

	// Scalar is a bool, an int64, a float64 or a string; a DateTime is a string as written.
	Scalar any
	Items  []*Value
	Keys   []string // of a table, in the order written
	Fields map[string]*Value

	// Rules marks a list each of whose items is a setting of its own.
	Rules bool
	// Merge is set on lists and free values by the annotated form {value, strategy, …}.
	Merge *Merge
}

// Merge is what the annotated form of a list says besides its items (docs/config.md, "Merging").
type Merge struct {
	Strategy string
	// Dedup is nil where the layer has no opinion ("inherit").
	Dedup   *bool
	Discard bool
	// Notes are the annotations themselves, so that they can be listed as settings.
	Notes []*Value
}

// NewTable returns an empty table.
func NewTable(o Origin) *Value {
	return &Value{Kind: Table, Origin: o, Fields: map[string]*Value{}}
}

// Get returns the value of a key of a table, or nil; nil has no keys.
func (v *Value) Get(key string) *Value {
	if v == nil {
		return nil
	}
	return v.Fields[key]
}

// At follows keys through tables; it returns nil when one is absent.
func (v *Value) At(keys ...string) *Value {
	for _, k := range keys {
		v = v.Get(k)
	}
	return v
}

// Set sets a key of a table; a new one becomes the last.
func (v *Value) Set(key string, child *Value) {
	if v.Fields[key] == nil {
		v.Keys = append(v.Keys, key)
	}
	v.Fields[key] = child
}

// Remove takes a key out of a table.
func (v *Value) Remove(key string) {
	delete(v.Fields, key)
	v.Keys = slices.DeleteFunc(v.Keys, func(k string) bool { return k == key })
}

// Any returns the value as encoding/json would decode it, but integers as int64 and
// dates as strings.
func (v *Value) Any() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case List:
		list := make([]any, len(v.Items))
		for i, item := range v.Items {
			list[i] = item.Any()
		}
		return list
	case Table:
		m := make(map[string]any, len(v.Keys))
		for k, f := range v.Fields {
			m[k] = f.Any()
		}
		return m
	}
	return v.Scalar
}

// JSON renders equal values equally, whatever the order of their keys.
func (v *Value) JSON() string {
	data, err := strictjson.Marshal(v.Any(), "")
	if err != nil {
		return v.String() // JSON has no NaN
	}
	return string(data)
}

// Text is a String or a DateTime, "" for any other value and for nil.
func (v *Value) Text() string {
	if v == nil {
		return ""
	}
	s, _ := v.Scalar.(string)
	return s
}

// Strings are the texts of a list, or the one of a String.
func (v *Value) Strings() []string {
	if v == nil {
		return nil
	}
	if v.Kind == String {
		return []string{v.Text()}
	}
	list := make([]string, len(v.Items))
	for i, item := range v.Items {
		list[i] = item.Text()
	}
	return list
}

// Number is an Integer or a Float, 0 for any other value.
func (v *Value) Number() float64 {
	if i, ok := v.Scalar.(int64); ok {
		return float64(i)
	}
	f, _ := v.Scalar.(float64)
	return f
}

// Equal reports whether two values are the same but for where they stand and the
// order of keys. NaN equals itself, so that a tree always equals itself.
func (v *Value) Equal(w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.Kind == w.Kind && fmt.Sprint(v.Scalar) == fmt.Sprint(w.Scalar) &&
		slices.EqualFunc(v.Items, w.Items, (*Value).Equal) && maps.EqualFunc(v.Fields, w.Fields, (*Value).Equal)
}

// Walk calls visit for v and everything below it.
func (v *Value) Walk(visit func(*Value)) {
	visit(v)
	for _, item := range v.Items {
		item.Walk(visit)
	}
	for _, f := range v.Fields {
		f.Walk(visit)
	}
}

// Rebase gives v and what is below it keys that start at key.
func (v *Value) Rebase(key string) {
	v.Origin.Key = key
	for i, item := range v.Items {
		item.Rebase(v.Origin.Item(i).Key)
	}
	for k, f := range v.Fields {
		f.Rebase(v.Origin.Child(k).Key)
	}
}

// TOML writes the table v, or nothing for nil, as a document; reading it gives an equal tree. With origins
// each value has a comment that says who wrote it.
func (v *Value) TOML(origins bool) []byte {
	w := tomlWriter{origins: origins}
	if v != nil {
		w.table("", v)
	}
	return w.Bytes()
}

type tomlWriter struct {
	bytes.Buffer
	origins bool
}

func (w *tomlWriter) line(s string, origin Origin) {
	w.WriteString(s)
	if w.origins && !origin.IsZero() {
		place := origin.String()
		if origin.Layer != LayerDefault { // whose places begin with its name
			place = origin.Layer.String() + " " + place
		}
		w.WriteString("  # " + place)
	}
	w.WriteByte('\n')
}

// table writes what has no header first, because everything after a header belongs to it. name is
// the key of the table in TOML's notation.
func (w *tomlWriter) table(name string, v *Value) {
	for _, k := range v.Keys {
		if f := v.Fields[k]; !hasHeader(f) && f.Kind != Null {
			w.keyValue(k, f)
		}
	}
	for _, k := range v.Keys {
		f, sub := v.Fields[k], Origin{Key: name}.Child(k).Key
		switch {
		case !hasHeader(f):
		case f.Kind == List:
			for _, item := range f.Items {
				w.header("[["+sub+"]]", item.Origin)
				w.table(sub, item)
			}
		default:
			// One that only holds other tables needs no header: theirs imply it.
			own := func(k string) bool { return !hasHeader(f.Fields[k]) }
			if !slices.ContainsFunc(f.Keys, func(k string) bool { return !own(k) }) ||
				slices.ContainsFunc(f.Keys, func(k string) bool { return own(k) && f.Fields[k].Kind != Null }) {
				w.header("["+sub+"]", Origin{})
			}
			w.table(sub, f)
		}
	}
}

func (w *tomlWriter) header(s string, origin Origin) {
	if w.Len() > 0 {
		w.WriteByte('\n')
	}
	w.line(s, origin)
}

// keyValue puts the items of a long list on lines of their own when each has an origin.
func (w *tomlWriter) keyValue(k string, f *Value) {
	if !w.origins || f.Kind != List || len(f.Items) < 2 {
		w.line(QuoteKey(k)+" = "+f.String(), f.Origin)
		return
	}
	w.WriteString(QuoteKey(k) + " = [\n")
	for _, item := range f.Items {
		w.line("  "+item.String()+",", item.Origin)
	}
	w.WriteString("]\n")
}

// hasHeader reports whether a value is written under a [header] of its own.
func hasHeader(v *Value) bool {
	return v.Kind == Table || v.Kind == List && len(v.Items) > 0 &&
		!slices.ContainsFunc(v.Items, func(i *Value) bool { return i.Kind != Table })
}

// String writes the value in TOML on one line, for people. Null has no form in TOML: it is left out of
// tables, and the schema keeps it out of lists; here it shows as null, for messages.
func (v *Value) String() string {
	var parts []string
	switch v.Kind {
	case Null:
		return "null"
	case Float:
		s := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v.Number(), 'g', -1, 64), "+"))
		if !strings.ContainsAny(s, ".en") { // neither a fraction, nor an exponent, nor nan or inf
			s += ".0"
		}
		return s
	case String:
		return Quote(v.Text())
	case List:
		for _, item := range v.Items {
			parts = append(parts, item.String())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case Table:
		for _, k := range v.Keys {
			if f := v.Fields[k]; f.Kind != Null {
				parts = append(parts, QuoteKey(k)+" = "+f.String())
			}
		}
		if len(parts) == 0 {
			return "{}"
		}
		return "{ " + strings.Join(parts, ", ") + " }"
	}
	return fmt.Sprint(v.Scalar)
}

// Quote writes a basic string of TOML; what a terminal would act on is escaped.
func Quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case strings.ContainsRune("\"\\\n\t\r", r):
			escaped := strconv.Quote(string(r))
			b.WriteString(escaped[1 : len(escaped)-1])
		case unprintable(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08X`, r)
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
