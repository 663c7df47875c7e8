package config

import (
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jptools/jptools/jptool/strictjson"
)

// JSONSchema returns a JSON Schema (draft 2020-12) of one configuration file, for
// editors. It is looser than Load: it cannot know what only merging shows, and not all
// that a string may hold.
func JSONSchema() ([]byte, error) {
	w := schemaWriter{defs: map[string]*jsonschema.Schema{}}
	root := w.node(schema())
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "jphost configuration"
	root.Defs = w.defs
	return strictjson.Marshal(root, "  ")
}

type schemaWriter struct{ defs map[string]*jsonschema.Schema }

func (w schemaWriter) node(n *node) *jsonschema.Schema {
	if n.name == "" {
		return w.plain(n)
	}
	if _, done := w.defs[n.name]; !done {
		w.defs[n.name] = nil // the node may hold itself
		w.defs[n.name] = w.plain(n)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + n.name}
}

func (w schemaWriter) plain(n *node) *jsonschema.Schema {
	s := &jsonschema.Schema{}
	switch n.kind {
	case nodeString:
		if len(n.enum) == 0 {
			s.Type = "string"
		}
		for _, word := range n.enum {
			s.Enum = append(s.Enum, word)
		}
	case nodeBool:
		s.Type = "boolean"
	case nodeInt:
		s.Type = "integer"
	case nodeNumber:
		s.Type = "number"
	case nodeTable:
		return w.table(n)
	case nodeMap:
		s.Type, s.AdditionalProperties = "object", w.node(n.elem)
		if n.shared != nil {
			s.Properties = map[string]*jsonschema.Schema{defaultsName: w.table(n.shared)}
		}
		if n.annotated {
			return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, w.node(annotation(n))}}
		}
	case nodeRules:
		list := &jsonschema.Schema{Type: "array", Items: w.node(n.elem)}
		s.AnyOf = []*jsonschema.Schema{list, w.node(annotation(n))}
	case nodeAdded, nodeList:
		s.Type, s.Items = "array", w.node(n.elem)
	case nodeUnion:
		for _, a := range n.alts {
			s.AnyOf = append(s.AnyOf, w.node(a))
		}
	}
	return s
}

func (w schemaWriter) table(n *node) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}, // false
	}
	for _, f := range n.fields {
		if f.node.kind == nodeNever {
			continue
		}
		p := w.node(f.node)
		p.Description = f.doc
		s.Properties[f.key] = p
		if f.required {
			s.Required = append(s.Required, f.key)
		}
	}
	return s
}
