package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// Node is one parameter, or what lists and objects hold.
type Node struct {
	// Name is empty for the items of a list.
	Name string
	// Types are JSON types; none allows every type.
	Types []string
	// Enum lists the only values allowed; none allows all.
	Enum []any
	// Default counts only with HasDefault: it may be null.
	Default    any
	HasDefault bool
	Required   bool
	Items      *Node
	// Properties are the only keys that an object may have; none allows all keys.
	Properties []*Node
	// Description is for the model.
	Description string
}

// Schema is a checked list of parameters. It is immutable and safe for concurrent use.
type Schema struct{ root *Node }

var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// New checks parameters and takes them over. Its errors name the parameter and the key:
// an unknown type, a default or an enum value that does not fit, a name that occurs
// twice.
func New(parameters []*Node) (*Schema, error) {
	root := &Node{Types: []string{"object"}, Properties: parameters}
	var problems Problems
	root.prepare("", &problems)
	if len(problems) > 0 {
		return nil, problems
	}
	return &Schema{root}, nil
}

// prepare brings the values of a node to the form that decoded arguments have, and
// checks them.
func (n *Node) prepare(path string, problems *Problems) {
	for _, t := range n.Types {
		if !slices.Contains(typeNames, t) {
			problems.add(path, BadSchema, "type %q is unknown; the types are %s", t, strings.Join(typeNames, ", "))
		}
	}
	names := map[string]bool{}
	for _, p := range n.Properties {
		at := join(path, p.Name)
		if names[p.Name] || p.Name == "" {
			problems.add(at, BadSchema, "the name %q is empty or stands there twice", p.Name)
		}
		names[p.Name] = true
		p.prepare(at, problems)
	}
	if n.Items != nil {
		n.Items.prepare(path+"[]", problems)
	}
	bare := *n
	bare.Enum = nil
	for i, v := range n.Enum {
		if v, err := plain(v); err != nil || !bare.fits(v) {
			problems.add(path, BadSchema, "enum: %s is not %s", show(v), bare.want())
		} else {
			n.Enum[i] = v
		}
	}
	if !n.HasDefault {
		return
	}
	def, err := plain(n.Default)
	if err != nil {
		problems.add(path, BadSchema, "default: %v", err)
		return
	}
	var wrong Problems
	n.Default = n.check(def, path, &wrong)
	for _, p := range wrong {
		problems.add(p.Path, BadSchema, "default: %s", p.Message)
	}
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

// property returns the parameter with this name, or nil.
func (n *Node) property(name string) *Node {
	for _, p := range n.Properties {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// want describes what a value must be: "a string", "one of 1, 2".
func (n *Node) want() string {
	if len(n.Enum) > 0 {
		words := make([]string, len(n.Enum))
		for i, v := range n.Enum {
			words[i] = show(v)
		}
		if len(words) == 1 {
			return words[0]
		}
		return "one of " + strings.Join(words, ", ")
	}
	if len(n.Types) == 0 {
		return "any value"
	}
	words := make([]string, len(n.Types))
	for i, t := range n.Types {
		switch {
		case t == "null":
			words[i] = "null"
		case t == "array" && n.Items != nil && len(n.Items.Types) == 1 && n.Items.Types[0] != "null":
			words[i] = "an array of " + n.Items.Types[0] + "s"
		case strings.IndexByte("aio", t[0]) >= 0:
			words[i] = "an " + t
		default:
			words[i] = "a " + t
		}
	}
	return strings.Join(words, " or ")
}

// JSON is the schema as JSON Schema (draft 2020-12), for models and MCP clients. It says
// what is accepted in its proper form; what Validate completes is accepted beside it.
func (s *Schema) JSON() map[string]any {
	out := s.root.json()
	out["additionalProperties"] = false
	return out
}

func (n *Node) json() map[string]any {
	out := map[string]any{}
	switch len(n.Types) {
	case 0:
	case 1:
		out["type"] = n.Types[0]
	default:
		out["type"] = n.Types
	}
	if n.Description != "" {
		out["description"] = n.Description
	}
	if len(n.Enum) > 0 {
		out["enum"] = n.Enum
	}
	if n.HasDefault {
		out["default"] = n.Default
	}
	if n.Items != nil {
		out["items"] = n.Items.json()
	}
	if len(n.Properties) == 0 {
		return out
	}
	properties, required := map[string]any{}, []string{}
	for _, p := range n.Properties {
		properties[p.Name] = p.json()
		if p.Required && !p.HasDefault {
			required = append(required, p.Name)
		}
	}
	out["properties"], out["additionalProperties"] = properties, false
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}
