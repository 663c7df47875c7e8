package config

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/jptools/jptools/jptool"
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

var kindNames = [...]string{"null", "a boolean", "an integer", "a float", "a string", "a date", "a list", "a table"}

// String names the kind with its article.
func (k Kind) String() string { return kindNames[k] }

// Value is a node of the generic tree that every layer is read into. It is not changed
// after Load; whoever gets one only reads it.
type Value struct {
	Kind   Kind
	Origin Origin

	// scalar is a bool, an int64, a float64 or a string; a DateTime is a string as written.
	scalar any
	items  []*Value
	keys   []string // of a table, in the order written
	fields map[string]*Value

	// rules marks a list each of whose items is a setting of its own.
	rules bool
	// how is set on lists and free values by the annotated form {value, strategy, …}.
	how *howto
}

// howto is what the annotated form of a list says besides its items (docs/config.md, "Merging").
type howto struct {
	strategy string
	// dedup is nil where the layer has no opinion ("inherit").
	dedup   *bool
	discard bool
	// notes are the annotations themselves, for History.
	notes []*Value
}

func newTable(o Origin) *Value {
	return &Value{Kind: Table, Origin: o, fields: map[string]*Value{}}
}

// Get returns the value of a key of a table, or nil.
func (v *Value) Get(key string) *Value {
	if v == nil || v.Kind != Table {
		return nil
	}
	return v.fields[key]
}

// At follows keys through tables; it returns nil when one is absent.
func (v *Value) At(keys ...string) *Value {
	for _, k := range keys {
		v = v.Get(k)
	}
	return v
}

// Keys returns the keys of a table in the order written.
func (v *Value) Keys() []string {
	if v == nil {
		return nil
	}
	return slices.Clone(v.keys)
}

// Items returns the items of a list.
func (v *Value) Items() []*Value { return slices.Clone(v.items) }

func (v *Value) set(key string, child *Value) {
	if _, ok := v.fields[key]; !ok {
		v.keys = append(v.keys, key)
	}
	v.fields[key] = child
}

func (v *Value) remove(key string) {
	if _, ok := v.fields[key]; ok {
		delete(v.fields, key)
		v.keys = slices.DeleteFunc(v.keys, func(k string) bool { return k == key })
	}
}

// Any returns the value as encoding/json would decode it, but integers as int64 and
// dates as strings.
func (v *Value) Any() any {
	if v == nil {
		return nil
	}
	switch v.Kind {
	case List:
		list := make([]any, len(v.items))
		for i, item := range v.items {
			list[i] = item.Any()
		}
		return list
	case Table:
		m := make(map[string]any, len(v.keys))
		for k, f := range v.fields {
			m[k] = f.Any()
		}
		return m
	}
	return v.scalar
}

// Command is what a value says that stands for a command, nil for any other. In a list of settings
// the keys of a command's table stand one by one.
func (v *Value) Command() *Command {
	if v == nil || v.Kind != String && v.Kind != Table {
		return nil
	}
	if v.Kind == Table {
		return &Command{
			Program: v.Get("program").text(), Args: v.Get("args").Strings(),
			Shell: v.Get("shell").Any() == true, Origin: v.Origin,
		}
	}
	words, err := splitWords(v.text())
	if err != nil || len(words) == 0 {
		return nil // cannot be: the layer's check refused it
	}
	return &Command{Program: words[0], Args: words[1:], Origin: v.Origin}
}

// FsRule is a rule of access.fs as it stands in its layer.
func (v *Value) FsRule() jptool.FsRule {
	var r FsRule
	if v.Kind == Table {
		fill(reflect.ValueOf(&r).Elem(), v)
	}
	return r.FsRule
}

// Caps are the capabilities that a list of words names.
func (v *Value) Caps() jptool.Caps {
	var caps jptool.Caps
	for _, word := range v.Strings() {
		one, _ := jptool.ParseCapability(word)
		caps |= one
	}
	return caps
}

// String renders the value in TOML on one line, for people.
func (v *Value) String() string { return string(appendInline(nil, v)) }

// Equal reports whether two values are the same apart from where they stand and the
// order of keys. NaN equals itself, so that a tree always equals itself.
func (v *Value) Equal(w *Value) bool {
	if v == nil || w == nil {
		return v == w
	}
	return v.Kind == w.Kind && fmt.Sprint(v.scalar) == fmt.Sprint(w.scalar) &&
		slices.EqualFunc(v.items, w.items, (*Value).Equal) && maps.EqualFunc(v.fields, w.fields, (*Value).Equal)
}

// text is a String or a DateTime, "" for any other value and for nil.
func (v *Value) text() string {
	s, _ := v.Any().(string)
	return s
}

// Strings are the texts of a list, or the one of a String.
func (v *Value) Strings() []string {
	if v == nil {
		return nil
	}
	if v.Kind == String {
		return []string{v.text()}
	}
	list := make([]string, len(v.items))
	for i, item := range v.items {
		list[i] = item.text()
	}
	return list
}

// number is an Integer or a Float, 0 for any other value.
func (v *Value) number() float64 {
	switch n := v.scalar.(type) {
	case int64:
		return float64(n)
	case float64:
		return n
	}
	return 0
}

// rebase gives v and what is below it keys that start at key.
func (v *Value) rebase(key string) {
	v.Origin.Key = key
	for i, item := range v.items {
		item.rebase(key + "[" + strconv.Itoa(i) + "]")
	}
	for k, f := range v.fields {
		f.rebase(joinKey(key, k))
	}
}
