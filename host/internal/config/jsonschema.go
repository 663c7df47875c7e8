package config

import "bytes"

// JSONSchema returns a JSON Schema (draft 2020-12) of one configuration file, for
// editors. It is looser than Load: it cannot know what only merging shows, and not all
// that a string may hold.
func JSONSchema() ([]byte, error) {
	w := schemaWriter{defs: map[string]any{}}
	root := w.node(schema())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "jphost configuration"
	root["$defs"] = w.defs
	var buf bytes.Buffer
	err := writeJSON(&buf, root)
	return buf.Bytes(), err
}

type schemaWriter struct{ defs map[string]any }

type object = map[string]any

func (w schemaWriter) node(n *node) object {
	if n.name != "" {
		if _, done := w.defs[n.name]; !done {
			w.defs[n.name] = nil // the node may hold itself
			w.defs[n.name] = w.plain(n)
		}
		return object{"$ref": "#/$defs/" + n.name}
	}
	return w.plain(n)
}

func (w schemaWriter) plain(n *node) object {
	switch n.kind {
	case nodeString:
		if len(n.enum) > 0 {
			return object{"enum": n.enum}
		}
		return object{"type": "string"}
	case nodeBool:
		return object{"type": "boolean"}
	case nodeInt:
		return object{"type": "integer"}
	case nodeNumber:
		return object{"type": "number"}
	case nodeTable:
		return w.table(n)
	case nodeMap:
		plain := object{"type": "object", "additionalProperties": w.node(n.elem)}
		if n.shared != nil {
			plain["properties"] = object{defaultsName: w.table(n.shared)}
		}
		if n.annotated {
			return object{"anyOf": []any{plain, w.node(annotation(n))}}
		}
		return plain
	case nodeRules:
		return object{"anyOf": []any{
			object{"type": "array", "items": w.node(n.elem)}, w.node(annotation(n)),
		}}
	case nodeAdded, nodeList:
		return object{"type": "array", "items": w.node(n.elem)}
	case nodeUnion:
		var alts []any
		for _, a := range n.alts {
			alts = append(alts, w.node(a))
		}
		return object{"anyOf": alts}
	}
	return object{}
}

func (w schemaWriter) table(n *node) object {
	properties := object{}
	var required []string
	for _, f := range n.fields {
		if f.node.kind == nodeNever {
			continue
		}
		p := w.node(f.node)
		if f.doc != "" {
			p["description"] = f.doc
		}
		properties[f.key] = p
		if f.required {
			required = append(required, f.key)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if required != nil {
		o["required"] = required
	}
	return o
}
