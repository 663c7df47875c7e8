package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// Validate checks the arguments of a call, one JSON object, and returns them completed:
// with defaults, without nulls that mean "absent", and with strings that hold the JSON
// of the declared type replaced by it. Numbers keep their spelling (json.Number).
//
// The error is Problems, or says why args is no JSON object (which includes duplicate
// keys and invalid UTF-8: a tool would refuse them too).
func (s *Schema) Validate(args []byte) (map[string]any, error) {
	if _, err := jptool.ParseObject(args); err != nil {
		return nil, fmt.Errorf("the arguments are not one JSON object: %w", err)
	}
	v, err := decode(args)
	if err != nil {
		return nil, fmt.Errorf("the arguments are not one JSON object: %w", err)
	}
	var problems Problems
	object, _ := s.root.check(v, "", &problems).(map[string]any)
	if len(problems) > 0 {
		return nil, problems
	}
	return object, nil
}

// Usage is one line that lists the arguments, for the end of a message.
func (s *Schema) Usage() string {
	if len(s.root.Properties) == 0 {
		return "it takes no arguments"
	}
	words := make([]string, len(s.root.Properties))
	for i, p := range s.root.Properties {
		words[i] = p.Name + " (" + p.want()
		if p.Required && !p.HasDefault {
			words[i] += ", required"
		}
		words[i] += ")"
	}
	return "its arguments are " + strings.Join(words, ", ")
}

// check returns v completed and adds what is wrong with it.
func (n *Node) check(v any, path string, problems *Problems) any {
	v = n.coerce(v)
	if !n.hasType(v) {
		problems.add(path, WrongType, "must be %s, got %s", n.want(), show(v))
		return v
	}
	if len(n.Enum) > 0 && !slices.ContainsFunc(n.Enum, func(e any) bool { return equal(e, v) }) {
		hint := ""
		if word, ok := v.(string); ok {
			if near := nearest.Word(word, texts(n.Enum)); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
		}
		problems.add(path, NotInEnum, "must be %s, got %s%s", n.want(), show(v), hint)
		return v
	}
	switch v := v.(type) {
	case []any:
		if n.Items == nil {
			break
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = n.Items.check(item, path+"["+strconv.Itoa(i)+"]", problems)
		}
		return list
	case map[string]any:
		// At the top no parameters means no arguments; below it, that nothing is declared.
		if len(n.Properties) > 0 || path == "" && n.Name == "" {
			return n.checkObject(v, path, problems)
		}
	}
	return v
}

func (n *Node) checkObject(v map[string]any, path string, problems *Problems) any {
	object := map[string]any{}
	for _, p := range n.Properties {
		value, ok := v[p.Name]
		if ok && value == nil && !slices.Contains(p.Types, "null") && len(p.Types) > 0 {
			ok = false
		}
		at := join(path, p.Name)
		switch {
		case ok:
			object[p.Name] = p.check(value, at, problems)
		case p.HasDefault:
			object[p.Name] = clone(p.Default)
		case p.Required:
			problems.add(at, Missing, "is missing; it must be %s", p.want())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.property(name) != nil {
			continue
		}
		var known []string
		for _, p := range n.Properties {
			known = append(known, p.Name)
		}
		switch near := nearest.Word(name, known); {
		case near != "":
			problems.add(join(path, name), Unknown, "is unknown; did you mean `%s`?", near)
		case len(known) == 0:
			problems.add(join(path, name), Unknown, "is unknown; there are no arguments")
		default:
			problems.add(join(path, name), Unknown, "is unknown; known are %s", strings.Join(known, ", "))
		}
	}
	return object
}

// coerce takes a string for the JSON in it when a string is not allowed and that JSON
// is of an allowed type.
func (n *Node) coerce(v any) any {
	text, ok := v.(string)
	if !ok || len(n.Types) == 0 || n.hasType(v) {
		return v
	}
	if inner, ok := strict(text); ok && n.hasType(inner) {
		return inner
	}
	return v
}

// strict reads one JSON value, as strictly as the request itself is read.
func strict(text string) (any, bool) {
	if !json.Valid([]byte(text)) {
		return nil, false
	}
	if _, err := jptool.ParseObject([]byte(`{"":` + text + `}`)); err != nil {
		return nil, false
	}
	v, err := decode([]byte(text))
	return v, err == nil
}

func (n *Node) hasType(v any) bool {
	if len(n.Types) == 0 {
		return true
	}
	return slices.ContainsFunc(n.Types, func(t string) bool {
		switch v := v.(type) {
		case nil:
			return t == "null"
		case bool:
			return t == "boolean"
		case string:
			return t == "string"
		case json.Number:
			return t == "number" || t == "integer" && isInteger(v)
		case []any:
			return t == "array"
		case map[string]any:
			return t == "object"
		}
		return false
	})
}

// fits is check without completion or messages.
func (n *Node) fits(v any) bool {
	if !n.hasType(v) {
		return false
	}
	var problems Problems
	n.check(v, "x", &problems)
	return len(problems) == 0
}

// isInteger accepts what JSON Schema calls an integer: 10 and 10.0. Numbers beyond
// float64 are none, since no tool could read them.
func isInteger(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == math.Trunc(f)
}

// equal compares values as JSON does: 1 and 1.0 are the same number.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, err := a.Int64()
		y, err2 := b.Int64()
		if err == nil && err2 == nil {
			return x == y
		}
		f, err := a.Float64()
		g, err2 := b.Float64()
		return err == nil && err2 == nil && f == g
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case []any, map[string]any: // not comparable
		return false
	}
	return a == b
}

func clone(v any) any {
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = clone(v[i])
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for k := range v {
			object[k] = clone(v[k])
		}
		return object
	}
	return v
}

func texts(values []any) []string {
	var list []string
	for _, v := range values {
		if s, ok := v.(string); ok {
			list = append(list, s)
		}
	}
	return list
}
