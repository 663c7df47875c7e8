package config

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/nearest"
)

// checker checks one layer against the schema, and rewrites short and annotated forms into
// the one form that merging knows.
type checker struct{ settings.Problems }

// ParseLayer reads the file of one layer, checks it against the schema, and brings what may be written
// in several ways into the one form that merging knows. The error is a [settings.Errors].
func ParseLayer(data []byte, layer settings.Layer, file string) (*settings.Value, error) {
	tree, err := settings.ParseTOML(data, layer, file)
	if err == nil {
		err = checkLayer(tree)
	}
	return tree, err
}

// checkLayer reports everything in a layer's tree that the schema refuses, in the order
// of the file, and normalises the rest in place.
func checkLayer(root *settings.Value) error {
	c := &checker{}
	c.value(schema(), root)
	slices.SortStableFunc(c.List, func(a, b *settings.Problem) int {
		return cmp.Or(a.Origin.Line-b.Origin.Line, a.Origin.Column-b.Origin.Column)
	})
	return c.Err()
}

func (c *checker) value(n *node, v *settings.Value) {
	if n.kind == nodeNever {
		c.Add(v.Origin, n.refusal, n.remedy)
		return
	}
	if v.Kind == settings.Null { // takes the key away; items of lists never get here
		if n.kind == nodeAdded {
			c.Add(v.Origin, "cannot be taken away", "layers only add to this list: take the item out of the layer that has it")
		}
		return
	}
	alt := n.alternative(v.Kind)
	if alt == nil || !alt.takes(v.Kind) {
		c.wrongKind(n, v)
		return
	}
	before := c.Count
	switch alt.kind {
	case nodeString:
		c.word(alt, v)
	case nodeTable:
		c.table(alt, v)
	case nodeMap:
		c.mapOf(alt, v)
	case nodeRules:
		if v.Kind == settings.Table {
			c.annotated(alt, v)
		} else {
			c.items(alt, v)
		}
		v.Rules = true
	case nodeAdded, nodeList:
		c.items(alt, v)
	case nodeFree:
		c.free(v)
	}
	if c.Count > before {
		return
	}
	if alt.check != nil {
		if message, help := alt.check(v); message != "" {
			c.Add(v.Origin, message, help)
			return
		}
	}
	if n.normal != nil {
		n.normal(v)
	}
}

func (c *checker) wrongKind(n *node, v *settings.Value) {
	what := v.Kind.String()
	help := "write " + assignment(v.Origin.Key, n.example())
	switch {
	case v.Kind == settings.String && n.takes(settings.Bool) && (v.Text() == "true" || v.Text() == "false"):
		help = "write " + assignment(v.Origin.Key, v.Text()) + ", without quotes"
	case n.kind == nodeAdded && v.Kind == settings.Table:
		help = "write a plain list; later layers can only add to it"
	case n.kind == nodeString && v.Kind == settings.Table && v.Fields["strategy"] != nil:
		help = "write the text alone; the last layer's text counts"
	case n.kind == nodeTable && v.Kind == settings.String && n.required() != "":
		help = "write " + assignment(v.Origin.Key, "{ "+n.required()+" = "+settings.Quote(v.Text())+" }")
	case n.takes(settings.Table) && v.Kind == settings.List && len(v.Items) > 0 && v.Items[0].Kind == settings.Table:
		help = "write it once, as [" + v.Origin.Key + "] with single brackets"
	case n.kind == nodeList && v.Kind == settings.String:
		help = "write " + assignment(v.Origin.Key, "["+settings.Quote(v.Text())+"]")
	}
	c.Add(v.Origin, "must be "+n.describe()+", not "+what, help)
}

// assignment shows how to write a value: `key = value`, or only the value in a list.
func assignment(key, value string) string {
	if strings.HasSuffix(key, "]") {
		return value
	}
	if i := strings.LastIndex(key, "]."); i >= 0 { // what follows the item of a list
		key = key[i+2:]
	}
	if parts, err := settings.SplitKey(key); err == nil && len(parts) > 0 {
		key = settings.QuoteKey(parts[len(parts)-1])
	}
	return key + " = " + value
}

func (c *checker) word(n *node, v *settings.Value) {
	if len(n.enum) == 0 || slices.Contains(n.enum, v.Text()) {
		return
	}
	help := "write " + assignment(v.Origin.Key, settings.Quote(n.enum[0]))
	if near := nearest.Word(v.Text(), n.enum); near != "" {
		help = "did you mean " + settings.Quote(near) + "?"
	}
	c.Add(v.Origin, "must be "+n.describe()+", not "+settings.Show(v.Text()), help)
}

func (c *checker) table(n *node, v *settings.Value) {
	for _, k := range v.Keys {
		f := n.field(k)
		child := v.Fields[k]
		switch {
		case f == nil:
			help := unknownKey(k, n.keys())
			for _, in := range n.fields { // as fs stands in `access`
				if deeper := in.node.field(k); in.node.kind == nodeTable && deeper != nil {
					meant := settings.Origin{Key: in.key}.Child(k)
					if len(child.Keys) > 0 && deeper.node.kind == nodeMap {
						meant = meant.Child(child.Keys[0])
					}
					help = "did you mean " + meant.Key + "?"
					break
				}
			}
			c.Add(child.Origin, "unknown key", help)
		case f.repo == Never && v.Origin.Layer.Repository():
			c.Add(child.Origin, "may not come from a repository",
				"move it to your own configuration: the user's file or the one for this workspace")
		default:
			c.value(f.node, child)
		}
	}
	for _, f := range n.fields {
		if child := v.Fields[f.key]; f.required && (child == nil || child.Kind == settings.Null) {
			c.Add(v.Origin, "has no "+f.key, "add "+f.key+" = "+f.node.example())
		}
	}
}

func (c *checker) mapOf(n *node, v *settings.Value) {
	if n.annotated && isAnnotatedMap(v) {
		c.annotated(n, v)
		return
	}
	for _, k := range v.Keys {
		child := v.Fields[k]
		if n.keyCheck != nil {
			if message, help := n.keyCheck(k); message != "" {
				c.Add(child.Origin, message, help)
				continue
			}
		}
		elem := n.elem
		if n.shared != nil && k == defaultsName && child.Kind == settings.Table {
			elem = n.shared
		}
		c.value(elem, child)
	}
}

func (c *checker) items(n *node, v *settings.Value) {
	for _, item := range v.Items {
		if item.Kind == settings.Null {
			c.Add(item.Origin, "must be "+n.elem.describe()+", not null", "leave the item out")
			continue
		}
		c.value(n.elem, item)
	}
}

// free judges a value that is handed on as JSON.
func (c *checker) free(v *settings.Value) {
	switch v.Kind {
	case settings.Float:
		if n := v.Number(); math.IsNaN(n) || math.IsInf(n, 0) {
			c.Add(v.Origin, "JSON has no "+v.String(), "write a finite number")
		}
	case settings.List:
		for _, item := range v.Items {
			if item.Kind == settings.Null {
				c.Add(item.Origin, "a list cannot hold null", "leave the item out")
				continue
			}
			c.free(item)
		}
	case settings.Table:
		for _, k := range v.Keys {
			c.free(v.Fields[k])
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
func isAnnotatedMap(v *settings.Value) bool {
	s := v.Fields["strategy"]
	return s != nil && s.Kind == settings.String && v.Fields["value"] != nil
}

// annotated turns the annotated form into a list or map that knows how it merges.
func (c *checker) annotated(n *node, v *settings.Value) {
	if n.kind == nodeRules && slices.ContainsFunc(n.elem.fields, func(f field) bool { return v.Fields[f.key] != nil }) {
		c.Add(v.Origin, "is one table, not a list", "write [["+v.Origin.Key+"]] for a rule")
		return
	}
	before := c.Count
	c.table(annotation(n), v)
	how := &settings.Merge{
		Strategy: "append",
		Discard:  v.Get("discard_when_merged").Any() == true,
	}
	if dedup, ok := v.Get("dedup").Any().(bool); ok {
		how.Dedup = &dedup
	}
	for _, k := range v.Keys {
		note := v.Fields[k]
		if note.Kind == settings.Null {
			c.Add(note.Origin, "must not be null", "leave it out")
		}
		if k != "value" {
			how.Notes = append(how.Notes, note)
		}
	}
	if c.Count > before {
		return
	}
	if s := v.Get("strategy"); s != nil {
		how.Strategy = s.Text()
	}
	origin := v.Origin
	*v = *v.Fields["value"]
	v.Origin, v.Merge = origin, how
	v.Rebase(origin.Key)
}
