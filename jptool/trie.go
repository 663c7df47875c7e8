package jptool

import (
	"iter"
	"maps"
	"slices"
	"strings"
)

// node is one component of a trie over canonical paths. Lookups cost the depth of the
// path and allocate nothing, however many rules there are.
type node struct {
	children map[string]*node
	rule     int32 // index into Policy.rules, -1 for none
	mount    int32 // index into Policy.mounts, -1 for none
	pinned   bool
}

func newNode() *node { return &node{rule: -1, mount: -1} }

// insert returns the node at a slash path, making what is missing.
func (n *node) insert(path string) *node {
	for rest := foldKey(path); rest != ""; {
		var name string
		name, rest = cutComponent(rest)
		if name == "" {
			continue
		}
		next := n.children[name]
		if next == nil {
			next = newNode()
			if n.children == nil {
				n.children = map[string]*node{}
			}
			n.children[name] = next
		}
		n = next
	}
	return n
}

// find walks to path. rule is the deepest rule on the way, -1 for none; at is the
// node of the path itself, nil when the trie does not reach that far.
func (n *node) find(path string) (rule int32, at *node) {
	rule = n.rule
	for rest := foldKey(path); rest != ""; {
		var name string
		name, rest = cutComponent(rest)
		if name == "" {
			continue
		}
		if n = n.children[name]; n == nil {
			return rule, nil
		}
		if n.rule >= 0 {
			rule = n.rule
		}
	}
	return rule, n
}

func cutComponent(path string) (name, rest string) {
	if i := strings.IndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return path, ""
}

// each visits n and every node below it.
func (n *node) each(visit func(*node)) {
	visit(n)
	for _, c := range n.children {
		c.each(visit)
	}
}

// below visits n and every node below it with its path relative to n.
func (n *node) below(prefix string, visit func(path string, n *node)) {
	visit(prefix, n)
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		path := name
		if prefix != "" {
			path = prefix + "/" + name
		}
		n.children[name].below(path, visit)
	}
}

// Cursor is a position of a walk: the rules on a directory and, for each name in it,
// the next position, without looking the whole path up again.
type Cursor struct {
	p    *Policy
	n    *node // nil: no rule, pin or mount below here
	rule int32
}

// Child is the position of an entry of the directory at c. It allocates nothing.
func (c Cursor) Child(name string) Cursor {
	if c.n == nil {
		return c
	}
	c.n = c.n.children[foldKey(name)]
	if c.n != nil && c.n.rule >= 0 {
		c.rule = c.n.rule
	}
	return c
}

// Caps returns what is granted at c.
func (c Cursor) Caps() Caps { return c.p.capsOf(c.rule, c.n) }

// Leads reports whether a rule or mount below c may grant something, so that a walk
// has to go on although c itself may not be read.
func (c Cursor) Leads() bool { return c.n != nil && len(c.n.children) > 0 }

// Names yields, in order, the names below c that rules or mounts lie on: the only
// ones to try where the directory may not be listed. On systems that ignore case they
// are folded.
func (c Cursor) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		if c.n == nil {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(c.n.children)) {
			if !yield(name) {
				return
			}
		}
	}
}

// Mount returns the workspace-relative path of the mount whose link stands at c.
func (c Cursor) Mount() (path string, ok bool) {
	if c.n == nil || c.n.mount < 0 {
		return "", false
	}
	return c.p.mounts[c.n.mount].path, true
}
