package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jptools/jptools/host/internal/config"
)

// Schema is a checked list of parameters. It is immutable and safe for concurrent use.
type Schema struct{ root *node }

// node is one parameter, or what lists and objects hold.
type node struct {
	name     string
	required bool
	// def is the default as JSON, nil if there is none.
	def        json.RawMessage
	items      *node
	properties []*node
	schema     *jsonschema.Schema
	// hasType and hasValue validate the type of a value, and whether it is in the enum if there is one.
	hasType, hasValue *jsonschema.Resolved
}

var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// New checks parameters. Its errors name the parameter and the key: an unknown type, a default or an enum value that
// does not fit, a name that occurs twice.
func New(parameters []*config.Parameter) (*Schema, error) {
	var problems Problems
	root := newNode(&config.Parameter{Types: []string{"object"}, Properties: parameters}, "", &problems)
	root.schema.AdditionalProperties = nothing()
	if len(problems) > 0 {
		return nil, problems
	}
	return &Schema{root}, nil
}

// nothing is the schema that no value has; the library writes it as false.
func nothing() *jsonschema.Schema { return &jsonschema.Schema{Not: &jsonschema.Schema{}} }

func newNode(p *config.Parameter, path string, problems *Problems) *node {
	n := &node{name: p.Name, required: p.Required && !p.HasDefault}
	n.schema = &jsonschema.Schema{Description: cmp.Or(p.Description, p.Summary)}
	if len(p.Types) == 1 {
		n.schema.Type = p.Types[0]
	} else if len(p.Types) > 1 {
		n.schema.Types = p.Types
	}
	for _, t := range p.Types {
		if !slices.Contains(typeNames, t) {
			problems.add(path, "type %q is unknown; the types are %s", t, strings.Join(typeNames, ", "))
		}
	}
	n.addProperties(p.Properties, path, problems)
	if p.Items != nil {
		n.items = newNode(p.Items, path+"[]", problems)
		n.schema.Items = n.items.schema
	}
	n.hasType = n.resolve(nil)
	var enum []any
	for _, v := range p.Enum {
		plainly, err := plain(v)
		if err != nil || !n.fits(plainly) {
			problems.add(path, "enum: %s is not %s", brief(v), n.want())
		}
		enum = append(enum, numbers(plainly))
	}
	if enum != nil {
		n.schema.Enum = p.Enum
		n.hasValue = n.resolve(enum)
	}
	if p.HasDefault {
		n.setDefault(p.Default, path, problems)
	}
	return n
}

func (n *node) addProperties(parameters []*config.Parameter, path string, problems *Problems) {
	if len(parameters) == 0 {
		return
	}
	n.schema.Properties, n.schema.AdditionalProperties = map[string]*jsonschema.Schema{}, nothing()
	for _, p := range parameters {
		at := join(path, p.Name)
		if n.schema.Properties[p.Name] != nil || p.Name == "" {
			problems.add(at, "the name %q is empty or stands there twice", p.Name)
		}
		property := newNode(p, at, problems)
		n.properties = append(n.properties, property)
		n.schema.Properties[p.Name] = property.schema
		if property.required {
			n.schema.Required = append(n.schema.Required, p.Name)
		}
	}
}

func (n *node) setDefault(value any, path string, problems *Problems) {
	v, err := plain(value)
	if err != nil {
		problems.add(path, "default: %v", err)
		return
	}
	var wrong Problems
	v = n.check(v, path, &wrong)
	for _, p := range wrong {
		problems.add(p.Path, "default: %s", p.Message)
	}
	if n.def, err = json.Marshal(v); err != nil {
		problems.add(path, "default: %v", err)
	}
	n.schema.Default = n.def
}

// fits reports whether a value passes as it is, without being completed.
func (n *node) fits(v any) bool {
	var wrong Problems
	return n.is(v) && reflect.DeepEqual(n.check(v, "x", &wrong), v) && len(wrong) == 0
}

// resolve makes the validator of the type, and of the values if there are any.
func (n *node) resolve(enum []any) *jsonschema.Resolved {
	r, err := (&jsonschema.Schema{Type: n.schema.Type, Types: n.schema.Types, Enum: enum}).Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // it refers to nothing
	}
	return r
}

// plain is a value as decoding JSON gives it, with numbers as they were written.
func plain(v any) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return decode(text)
}

// want describes what a value must be: "a string", "one of 1, 2".
func (n *node) want() string {
	var words []string
	for _, v := range n.schema.Enum {
		words = append(words, brief(v))
	}
	switch len(words) {
	case 0:
	case 1:
		return words[0]
	default:
		return "one of " + strings.Join(words, ", ")
	}
	for _, t := range n.types() {
		switch {
		case t == "null":
		case t == "array" && n.items != nil && n.items.schema.Type != "" && n.items.schema.Type != "null":
			t = "an array of " + n.items.schema.Type + "s"
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
func (n *node) types() []string {
	if n.schema.Type != "" {
		return []string{n.schema.Type}
	}
	return n.schema.Types
}

// Usage is one line that lists the arguments, for the end of a message.
func (s *Schema) Usage() string {
	if len(s.root.properties) == 0 {
		return "it takes no arguments"
	}
	words := make([]string, len(s.root.properties))
	for i, p := range s.root.properties {
		words[i] = p.name + " (" + p.want()
		if p.required {
			words[i] += ", required"
		}
		words[i] += ")"
	}
	return "its arguments are " + strings.Join(words, ", ")
}

// JSON is the schema as JSON Schema (draft 2020-12), for models and MCP clients. It says
// what is accepted in its proper form; what Validate completes is accepted beside it.
func (s *Schema) JSON() map[string]any {
	v, err := plain(s.root.schema)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // New has written all of its values
	}
	return v.(map[string]any)
}
