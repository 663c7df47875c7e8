package toolargs

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/strictjson"
)

// Schema is a checked list of parameters. It is immutable and safe for concurrent use.
type Schema struct {
	root *jsonschema.Schema
	// validators have, for each part of root, the validator of its types and its enum. What is inside of a list or an
	// object is checked by the walk of this package, which names every problem.
	validators map[*jsonschema.Schema]*jsonschema.Resolved
}

// Problem is one thing that is wrong with an argument.
type Problem struct {
	// Path leads to the value: `patterns[0].old`.
	Path    string
	Message string
}

// Problems are all that is wrong with the arguments of a call, or with a schema, in the order of the parameters.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "`" + problem.Path + "`: " + problem.Message
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{path, fmt.Sprintf(format, args...)})
}

var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// simpleName is a name that needs no quotes in a path.
var simpleName = settings.Pattern(`^[\pL_][\pL\pN_-]*$`)

func join(path, name string) string {
	if !simpleName().MatchString(name) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// New checks parameters. Its errors name the parameter and the key: an unknown type, a default or an enum value that
// does not fit, a name that occurs twice.
func New(parameters []*config.Parameter) (*Schema, error) {
	var problems Problems
	s := &Schema{validators: map[*jsonschema.Schema]*jsonschema.Resolved{}}
	s.root = s.compile(&config.Parameter{Types: []string{"object"}, Properties: parameters}, "", &problems)
	s.root.AdditionalProperties = nothing()
	if len(problems) > 0 {
		return nil, problems
	}
	return s, nil
}

// nothing is the schema that no value has; the library writes it as false.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func (s *Schema) compile(p *config.Parameter, path string, problems *Problems) *jsonschema.Schema {
	n := &jsonschema.Schema{Description: cmp.Or(p.Description, p.Summary)}
	if len(p.Types) == 1 {
		n.Type = p.Types[0]
	} else if len(p.Types) > 1 {
		n.Types = p.Types
	}
	for _, t := range p.Types {
		if !slices.Contains(typeNames, t) {
			problems.add(path, "type %q is unknown; the types are %s", t, strings.Join(typeNames, ", "))
		}
	}
	if len(p.Properties) > 0 {
		n.Properties, n.AdditionalProperties = map[string]*jsonschema.Schema{}, nothing()
	}
	for _, property := range p.Properties {
		inside := join(path, property.Name)
		if n.Properties[property.Name] != nil || property.Name == "" {
			problems.add(inside, "the name %q is empty or stands there twice", property.Name)
		}
		n.Properties[property.Name] = s.compile(property, inside, problems)
		n.PropertyOrder = append(n.PropertyOrder, property.Name)
		if property.Required && !property.HasDefault {
			n.Required = append(n.Required, property.Name)
		}
	}
	if p.Items != nil {
		n.Items = s.compile(p.Items, path+"[]", problems)
	}
	s.setValidator(n)
	var enum []any
	for _, v := range p.Enum {
		plainly, err := plain(v)
		var wrong Problems
		// An enum lists values as they are, without what completing would add.
		if err != nil || !s.valid(n, plainly) || !reflect.DeepEqual(s.check(n, plainly, "x", &wrong), plainly) || len(wrong) > 0 {
			problems.add(path, "enum: %s is not %s", brief(v), want(n))
		}
		enum = append(enum, numbers(plainly))
	}
	n.Enum = enum
	s.setValidator(n)
	if p.HasDefault {
		var wrong Problems
		v, err := plain(p.Default)
		if err == nil {
			n.Default, err = json.Marshal(s.check(n, v, path, &wrong))
		}
		if err != nil {
			problems.add(path, "default: %v", err)
		}
		for _, p := range wrong {
			problems.add(p.Path, "default: %s", p.Message)
		}
	}
	return n
}

func (s *Schema) setValidator(n *jsonschema.Schema) {
	r, err := (&jsonschema.Schema{Type: n.Type, Types: n.Types, Enum: n.Enum}).Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("toolargs: %v", err)) // it refers to nothing
	}
	s.validators[n] = r
}

// valid reports whether a value has one of the types, and is in the enum if there is one.
func (s *Schema) valid(n *jsonschema.Schema, v any) bool {
	return s.validators[n].Validate(numbers(v)) == nil
}

// plain is a value as decoding JSON gives it, with numbers as they were written.
func plain(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// decode reads one JSON value that is known to be valid.
func decode(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// brief is a value for a message: its JSON, cut when it is long.
func brief(v any) string {
	text := show.Value(v)
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:57]) + "…"
	}
	return text
}

// want describes what a value must be: "a string", "one of 1, 2".
func want(n *jsonschema.Schema) string {
	var words []string
	for _, v := range n.Enum {
		words = append(words, brief(v))
	}
	switch len(words) {
	case 0:
	case 1:
		return words[0]
	default:
		return "one of " + strings.Join(words, ", ")
	}
	for _, t := range types(n) {
		switch {
		case t == "null":
		case t == "array" && n.Items != nil && n.Items.Type != "" && n.Items.Type != "null":
			t = "an array of " + n.Items.Type + "s"
		case strings.ContainsAny(t[:1], "aio"):
			t = "an " + t
		default:
			t = "a " + t
		}
		words = append(words, t)
	}
	return cmp.Or(strings.Join(words, " or "), "any value")
}

// types are the JSON types of a value; none allows every type.
func types(n *jsonschema.Schema) []string {
	if n.Type != "" {
		return []string{n.Type}
	}
	return n.Types
}

// allows reports whether a value may have a JSON type.
func allows(n *jsonschema.Schema, name string) bool {
	list := types(n)
	return len(list) == 0 || slices.Contains(list, name)
}

// Usage is one line that lists the arguments, for the end of a message.
func (s *Schema) Usage() string {
	if len(s.root.PropertyOrder) == 0 {
		return "it takes no arguments"
	}
	var words []string
	for _, name := range s.root.PropertyOrder {
		word := name + " (" + want(s.root.Properties[name])
		if slices.Contains(s.root.Required, name) {
			word += ", required"
		}
		words = append(words, word+")")
	}
	return "its arguments are " + strings.Join(words, ", ")
}

// JSON is the schema as JSON Schema (draft 2020-12), for models and MCP clients. It says
// what is accepted in its proper form; what Validate completes is accepted beside it.
func (s *Schema) JSON() map[string]any {
	v, err := plain(s.root)
	if err != nil {
		panic(fmt.Sprintf("toolargs: %v", err)) // New has written all of its values
	}
	return v.(map[string]any)
}

// Validate checks the arguments of a call, one JSON object, and returns them completed: with defaults, without nulls that
// mean "absent", and with strings that hold the JSON of the declared type replaced by it. Numbers keep their spelling
// (json.Number).
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
	object, _ := s.check(s.root, v, "", &problems).(map[string]any)
	if len(problems) > 0 {
		return nil, problems
	}
	return object, nil
}

// check returns v completed and adds what is wrong with it.
func (s *Schema) check(n *jsonschema.Schema, v any, path string, problems *Problems) any {
	word, isText := v.(string)
	if isText && !allows(n, "string") {
		// The JSON in a string is read as strictly as the request itself.
		if _, err := jptool.ParseObject([]byte(`{"":` + word + `}`)); err == nil && json.Valid([]byte(word)) {
			if inner, err := decode([]byte(word)); err == nil && s.valid(n, inner) {
				v = inner
			}
		}
	}
	if !s.valid(n, v) {
		hint := ""
		if near := nearest.Word(word, texts(n.Enum)); isText && near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		} else if err := brokenJSON(word); err != nil {
			hint = fmt.Sprintf("; as JSON it is not valid: %v", err)
		}
		problems.add(path, "must be %s, got %s%s", want(n), brief(v), hint)
		return v
	}
	switch v := v.(type) {
	case []any:
		if n.Items == nil {
			break
		}
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = s.check(n.Items, item, path+"["+strconv.Itoa(i)+"]", problems)
		}
		return list
	case map[string]any:
		if n.AdditionalProperties != nil {
			return s.checkObject(n, v, path, problems)
		}
	}
	return v
}

// brokenJSON says what is wrong with a text that was probably meant as JSON, and nil for any other.
func brokenJSON(text string) error {
	if !strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "{") {
		return nil
	}
	return strictjson.Check([]byte(text))
}

func (s *Schema) checkObject(n *jsonschema.Schema, v map[string]any, path string, problems *Problems) any {
	object := map[string]any{}
	for _, name := range n.PropertyOrder {
		p, inside := n.Properties[name], join(path, name)
		value, ok := v[name]
		switch {
		case ok && (value != nil || allows(p, "null")):
			object[name] = s.check(p, value, inside, problems)
		case p.Default != nil:
			object[name], _ = decode(p.Default) // New wrote it
		case slices.Contains(n.Required, name):
			problems.add(inside, "is missing; it must be %s", want(p))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if n.Properties[name] != nil {
			continue
		}
		switch near := nearest.Word(name, n.PropertyOrder); {
		case near != "":
			problems.add(join(path, name), "is unknown; did you mean `%s`?", near)
		case len(n.PropertyOrder) == 0:
			problems.add(join(path, name), "is unknown; there are no arguments")
		default:
			problems.add(join(path, name), "is unknown; known are %s", strings.Join(n.PropertyOrder, ", "))
		}
	}
	return object
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
