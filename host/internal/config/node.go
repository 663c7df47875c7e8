package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/nearest"
)

// nodeKind is how a key is checked, merged, documented and decoded.
type nodeKind uint8

const (
	nodeString nodeKind = iota
	nodeBool
	nodeInt
	nodeNumber // integer or float
	nodeTable  // the keys in fields; merges key by key
	nodeMap    // any keys, each an elem; merges key by key
	nodeRules  // a MergeableVec of elem
	nodeAdded  // a list of strings that layers only add to
	nodeList   // a list of elem that a later layer replaces
	nodeFree   // any value JSON can hold; merges deeply
	nodeUnion  // the one of alts that takes the kind of the value
	nodeNever  // a key that people may expect, but that is refused with its reason
)

// node is one place in the schema.
type node struct {
	kind   nodeKind
	fields []field
	elem   *node
	alts   []*node
	enum   []string
	// whole says that a table is replaced by a later layer, not filled up.
	whole bool
	// check judges a value of the right kind.
	check checkFunc
	// normal brings a value of the right kind into the one form that merging knows.
	normal func(v *Value)
	// keyCheck judges the keys of a map.
	keyCheck func(key string) (message, help string)
	// shared is, for the map of the tools, the schema of its table '*'.
	shared *node
	// annotated says that a map may be written {value, strategy}.
	annotated bool
	// name is what docs and the JSON Schema call the node; a named node may hold itself.
	name string
	// refusal and remedy of nodeNever.
	refusal, remedy string
}

// field is a key of a table.
type field struct {
	key      string
	node     *node
	required bool
	shared   bool // the key may stand in the table '*' too
	repo     Repository
	initial  *Value // what counts when nobody sets it, nil for the zero value
	def      string // the same in words, for docs
	doc      string
}

func (n *node) field(key string) *field {
	for i := range n.fields {
		if n.fields[i].key == key {
			return &n.fields[i]
		}
	}
	return nil
}

// kinds is what each kind of node takes, and how it is called in messages.
var kinds = [...]struct {
	words, example string
	takes          []Kind
}{
	nodeString: {"a string", `"…"`, []Kind{String}},
	nodeBool:   {"a boolean", "true", []Kind{Bool}},
	nodeInt:    {"an integer", "1", []Kind{Integer}},
	nodeNumber: {"a number", "1", []Kind{Integer, Float}},
	nodeTable:  {"a table", "{ … }", []Kind{Table}},
	nodeMap:    {"a table", "{ … }", []Kind{Table}},
	nodeRules:  {"a list", "[ … ]", []Kind{List, Table}}, // a table is the annotated form
	nodeAdded:  {"a list", "[ … ]", []Kind{List}},
	nodeList:   {"a list", "[ … ]", []Kind{List}},
	nodeFree:   {"any value", "[ … ]", []Kind{Null, Bool, Integer, Float, String, DateTime, List, Table}},
	nodeNever:  {"any value", "[ … ]", nil},
}

// takes reports whether the node accepts values of a kind.
func (n *node) takes(k Kind) bool {
	if n.kind == nodeUnion {
		return n.alternative(k) != nil
	}
	return slices.Contains(kinds[n.kind].takes, k)
}

// alternative is the member of a union that takes a kind, or n itself if it is none.
func (n *node) alternative(k Kind) *node {
	if n.kind != nodeUnion {
		return n
	}
	for _, a := range n.alts {
		if a.takes(k) {
			return a
		}
	}
	return nil
}

// describe names what a node takes, for messages.
func (n *node) describe() string {
	switch {
	case len(n.enum) > 0:
		return "one of " + quoteWords(n.enum)
	case n.kind != nodeUnion:
		return kinds[n.kind].words
	}
	parts := make([]string, len(n.alts))
	for i, a := range n.alts {
		parts[i] = a.describe()
	}
	return strings.Join(parts, ", or ")
}

// example is a value to write, for remedies.
func (n *node) example() string {
	switch {
	case len(n.enum) > 0:
		return quoteTOML(n.enum[0])
	case n.kind == nodeUnion:
		return n.alts[0].example()
	}
	return kinds[n.kind].example
}

func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quoteTOML(w)
	}
	return strings.Join(quoted, ", ")
}

// unknownKey is the remedy for a key that is not in known.
func unknownKey(key string, known []string) string {
	if near := nearest.Word(key, known); near != "" {
		return fmt.Sprintf("did you mean %s?", quoteKey(near))
	}
	return "known keys here: " + strings.Join(known, ", ")
}

// deeper is the first table of n that has the key, as `access` has fs; "" when none has.
func (n *node) deeper(key string) string {
	for _, f := range n.fields {
		if f.node.kind == nodeTable && f.node.field(key) != nil {
			return f.key
		}
	}
	return ""
}

func (n *node) keys() []string {
	var keys []string
	for _, f := range n.fields {
		if f.node.kind != nodeNever {
			keys = append(keys, f.key)
		}
	}
	slices.Sort(keys)
	return keys
}
