package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
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
	_, err := jptool.ParseObject(args)
	var v any
	if err == nil {
		v, err = decode(args)
	}
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

// decode reads one JSON value that is known to be valid.
func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// check returns v completed and adds what is wrong with it.
func (n *node) check(v any, path string, problems *Problems) any {
	if inner, ok := n.inString(v); ok {
		v = inner
	}
	if !n.is(v) {
		problems.add(path, "must be %s, got %s", n.want(), brief(v))
		return v
	}
	if n.schema.Enum != nil && n.hasValue.Validate(numbers(v)) != nil {
		hint := ""
		if word, ok := v.(string); ok {
			if near := nearest.Word(word, texts(n.schema.Enum)); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
		}
		problems.add(path, "must be %s, got %s%s", n.want(), brief(v), hint)
		return v
	}
	switch v := v.(type) {
	case []any:
		if n.items == nil {
			break
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = n.items.check(item, path+"["+strconv.Itoa(i)+"]", problems)
		}
		return list
	case map[string]any:
		if n.schema.AdditionalProperties != nil {
			return n.checkObject(v, path, problems)
		}
	}
	return v
}

func (n *node) checkObject(v map[string]any, path string, problems *Problems) any {
	object := map[string]any{}
	var known []string
	for _, p := range n.properties {
		known = append(known, p.name)
		value, ok := v[p.name]
		if value == nil && len(p.types()) > 0 && !slices.Contains(p.types(), "null") {
			ok = false
		}
		at := join(path, p.name)
		switch {
		case ok:
			object[p.name] = p.check(value, at, problems)
		case p.def != nil:
			object[p.name], _ = decode(p.def) // New wrote it
		case p.required:
			problems.add(at, "is missing; it must be %s", p.want())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if slices.Contains(known, name) {
			continue
		}
		switch near := nearest.Word(name, known); {
		case near != "":
			problems.add(join(path, name), "is unknown; did you mean `%s`?", near)
		case len(known) == 0:
			problems.add(join(path, name), "is unknown; there are no arguments")
		default:
			problems.add(join(path, name), "is unknown; known are %s", strings.Join(known, ", "))
		}
	}
	return object
}

// inString reads the JSON in a string, as strictly as the request itself is read, if a string is not allowed and that
// JSON is of an allowed type.
func (n *node) inString(v any) (any, bool) {
	text, ok := v.(string)
	if !ok || n.is(v) || !json.Valid([]byte(text)) {
		return nil, false
	}
	if _, err := jptool.ParseObject([]byte(`{"":` + text + `}`)); err != nil {
		return nil, false
	}
	inner, err := decode([]byte(text))
	return inner, err == nil && n.is(inner)
}

// is reports whether a value has one of the types.
func (n *node) is(v any) bool {
	if number, ok := v.(json.Number); ok {
		v = numbers(number)
	}
	return n.hasType.Validate(v) == nil
}

// numbers is a value with all numbers in a form that the validator takes for them: to it a json.Number is a string. One
// that is beyond float64 becomes an infinity, which is no integer.
func numbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		f, _ := v.Float64()
		return f
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = numbers(item)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, value := range v {
			object[key] = numbers(value)
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
