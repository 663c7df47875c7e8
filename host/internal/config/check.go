package config

import (
	"math"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/nearest"
)

// checker checks one layer against the schema, and rewrites short and annotated forms into
// the one form that merging knows.
type checker struct{ problems }

// checkLayer reports everything in a layer's tree that the schema refuses, in the order
// of the file, and normalises the rest in place.
func checkLayer(root *Value) error {
	c := &checker{}
	c.value(schema(), root)
	slices.SortStableFunc(c.list, func(a, b *Problem) int {
		if a.Origin.Line != b.Origin.Line {
			return a.Origin.Line - b.Origin.Line
		}
		return a.Origin.Column - b.Origin.Column
	})
	return c.err()
}

func (c *checker) value(n *node, v *Value) {
	if n.kind == nodeNever {
		c.add(v.Origin, n.refusal, n.remedy)
		return
	}
	if v.Kind == Null { // takes the key away; items of lists never get here
		return
	}
	alt := n.alternative(v.Kind)
	if alt == nil || !alt.takes(v.Kind) {
		c.wrongKind(n, v)
		return
	}
	before := c.count
	switch alt.kind {
	case nodeString:
		c.word(alt, v)
	case nodeTable:
		c.table(alt, v)
	case nodeMap:
		c.mapOf(alt, v)
	case nodeRules:
		if v.Kind == Table {
			c.annotated(alt, v)
		} else {
			c.items(alt, v)
		}
		v.rules = true
	case nodeAdded, nodeList:
		c.items(alt, v)
	case nodeFree:
		c.free(v)
	}
	if c.count > before {
		return
	}
	if alt.check != nil {
		if message, help := alt.check(v); message != "" {
			c.add(v.Origin, message, help)
			return
		}
	}
	if n.normal != nil {
		n.normal(v)
	}
}

func (c *checker) wrongKind(n *node, v *Value) {
	what := v.Kind.String()
	help := "write " + assignment(v.Origin.Key, n.example())
	switch {
	case v.Kind == String && n.takes(Bool) && (v.text() == "true" || v.text() == "false"):
		help = "write " + assignment(v.Origin.Key, v.text()) + ", without quotes"
	case n.kind == nodeAdded && v.Kind == Table:
		help = "write a plain list; later layers can only add to it"
	case n.kind == nodeString && v.Kind == Table && v.fields["strategy"] != nil:
		help = "write the text alone; the last layer's text counts"
	case n.kind == nodeTable && v.Kind == String && n.required() != "":
		help = "write " + assignment(v.Origin.Key, "{ "+n.required()+" = "+quoteTOML(v.text())+" }")
	case n.takes(Table) && v.Kind == List && len(v.items) > 0 && v.items[0].Kind == Table:
		help = "write it once, as [" + v.Origin.Key + "] with single brackets"
	case n.kind == nodeList && v.Kind == String:
		help = "write " + assignment(v.Origin.Key, "["+quoteTOML(v.text())+"]")
	}
	c.add(v.Origin, "must be "+n.describe()+", not "+what, help)
}

// required is the key that a table must have, "" when there is none.
func (n *node) required() string {
	for _, f := range n.fields {
		if f.required {
			return f.key
		}
	}
	return ""
}

// assignment shows how to write a value: `key = value`, or only the value in a list.
func assignment(key, value string) string {
	if strings.HasSuffix(key, "]") {
		return value
	}
	return lastPart(key) + " = " + value
}

// lastPart is the last part of a key, as it was quoted.
func lastPart(key string) string {
	if i := strings.LastIndex(key, "]."); i >= 0 { // what follows the item of a list
		key = key[i+2:]
	}
	parts, err := SplitKey(key)
	if err != nil || len(parts) == 0 {
		return key
	}
	return quoteKey(parts[len(parts)-1])
}

func (c *checker) word(n *node, v *Value) {
	if len(n.enum) == 0 || slices.Contains(n.enum, v.text()) {
		return
	}
	help := "write " + assignment(v.Origin.Key, quoteTOML(n.enum[0]))
	if near := nearest.Word(v.text(), n.enum); near != "" {
		help = "did you mean " + quoteTOML(near) + "?"
	}
	c.add(v.Origin, "must be "+n.describe()+", not "+show(v.text()), help)
}

func (c *checker) table(n *node, v *Value) {
	for _, k := range v.keys {
		f := n.field(k)
		child := v.fields[k]
		switch {
		case f == nil:
			help := unknownKey(k, n.keys())
			if in := n.deeper(k); in != "" {
				help = "did you mean " + in + "." + quoteKey(k)
				if len(child.keys) > 0 && n.field(in).node.field(k).node.kind == nodeMap {
					help += "." + quoteKey(child.keys[0])
				}
				help += "?"
			}
			c.add(child.Origin, "unknown key", help)
		case f.repo == Never && v.Origin.Layer.Repository():
			c.add(child.Origin, "may not come from a repository",
				"move it to your own configuration: the user's file or the one for this workspace")
		default:
			c.value(f.node, child)
		}
	}
	for _, f := range n.fields {
		if child := v.fields[f.key]; f.required && (child == nil || child.Kind == Null) {
			c.add(v.Origin, "has no "+f.key, "add "+f.key+" = "+f.node.example())
		}
	}
}

func (c *checker) mapOf(n *node, v *Value) {
	if n.annotated && isAnnotatedMap(v) {
		c.annotated(n, v)
		return
	}
	for _, k := range v.keys {
		child := v.fields[k]
		if n.keyCheck != nil {
			if message, help := n.keyCheck(k); message != "" {
				c.add(child.Origin, message, help)
				continue
			}
		}
		elem := n.elem
		if n.shared != nil && k == defaultsName && child.Kind == Table {
			elem = n.shared
		}
		c.value(elem, child)
	}
}

func (c *checker) items(n *node, v *Value) {
	for _, item := range v.items {
		if item.Kind == Null {
			c.add(item.Origin, "must be "+n.elem.describe()+", not null", "leave the item out")
			continue
		}
		c.value(n.elem, item)
	}
}

// free judges a value that is handed on as JSON.
func (c *checker) free(v *Value) {
	switch v.Kind {
	case Float:
		if n := v.number(); math.IsNaN(n) || math.IsInf(n, 0) {
			c.add(v.Origin, "JSON has no "+v.String(), "write a finite number")
		}
	case List:
		for _, item := range v.items {
			if item.Kind == Null {
				c.add(item.Origin, "a list cannot hold null", "leave the item out")
				continue
			}
			c.free(item)
		}
	case Table:
		for _, k := range v.keys {
			c.free(v.fields[k])
		}
	}
}

var (
	vecStrategies = []string{"append", "prepend", "replace"}
	mapStrategies = []string{"deep_merge", "merge", "keep", "replace"}
)

// annotation is the schema of the annotated form of a list of rules or of a map.
func annotation(n *node) *node {
	discard := field{
		key: "discard_when_merged", node: &node{kind: nodeBool},
		doc: "Drop these items when a higher layer sets the list.",
	}
	if n.kind == nodeMap {
		plain := *n
		plain.annotated = false
		return &node{kind: nodeTable, fields: []field{
			{key: "value", node: &plain, required: true},
			{key: "strategy", node: enum(mapStrategies...), required: true},
			discard,
		}}
	}
	return &node{kind: nodeTable, fields: []field{
		{key: "value", node: &node{kind: nodeList, elem: n.elem}, required: true, doc: "The items."},
		{key: "strategy", node: enum(vecStrategies...), doc: "How they join those of lower layers."},
		{key: "dedup", node: union(&node{kind: nodeBool}, enum("inherit")), doc: "Keep only the last of equal items."},
		discard,
	}}
}

// isAnnotatedMap tells {value = {…}, strategy = "…"} from a map that has such keys.
func isAnnotatedMap(v *Value) bool {
	s := v.fields["strategy"]
	return s != nil && s.Kind == String && v.fields["value"] != nil
}

// annotated turns the annotated form into a list or map that knows how it merges.
func (c *checker) annotated(n *node, v *Value) {
	if n.kind == nodeRules && slices.ContainsFunc(n.elem.fields, func(f field) bool { return v.fields[f.key] != nil }) {
		c.add(v.Origin, "is one table, not a list", "write [["+v.Origin.Key+"]] for a rule")
		return
	}
	before := c.count
	c.table(annotation(n), v)
	how := &howto{
		strategy: "append",
		discard:  v.Get("discard_when_merged").Any() == true,
	}
	if dedup, ok := v.Get("dedup").Any().(bool); ok {
		how.dedup = &dedup
	}
	for _, k := range v.keys {
		note := v.fields[k]
		if note.Kind == Null {
			c.add(note.Origin, "must not be null", "leave it out")
		}
		if k != "value" {
			how.notes = append(how.notes, note)
		}
	}
	if c.count > before {
		return
	}
	if s := v.Get("strategy"); s != nil {
		how.strategy = s.text()
	}
	origin := v.Origin
	*v = *v.fields["value"]
	v.Origin, v.how = origin, how
	v.rebase(origin.Key)
}
