package jptool

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// Placed is a rule with the place that it applies to, as [Compiler] finds it.
type Placed struct {
	// Rule is the rule as it was written, and Index its position in the list; -1 for one that was added later.
	Rule  FsRule
	Index int
	// Place is where the rule applies, and Name the path that leads there without links but those of mounts.
	Place Place
	Name  string
	// Caps is what the rule grants there. It is never more than the rule says.
	Caps Caps
	// Linked says that a symlink other than a mount's leads from the path as written to the place, and Missing
	// that nothing is there.
	Linked, Missing bool
	// Hops are the symlinks on the way from the path as written, without those of mounts: people mount anew.
	Hops []wspath.Hop
	// Target is where the link of an external rule that grants something leads, absolute; "" when it leads nowhere.
	Target string
	// Lost says in a phrase why the rule grants nothing of what it says, "" for one that is in force; Help is what
	// a person can do, if anything is known.
	Lost, Help string
	// Denied is the pattern of `deny` that covers the path of the rule, or a directory on the way to its place; nil if
	// none does. The rule grants nothing then.
	Denied *Withheld
	// Ahead marks the second place of a rule whose path cannot be resolved: where the resolution was heading.
	Ahead bool
	// Gone marks a lost rule that no path of the wire can express: what its path leads to is another rule's now.
	// Its own entry denies, and is pinned.
	Gone bool

	rel  wspath.Rel // the path as written
	hops []wspath.Hop
	// broken is what the rule would grant if the link that it is on or below led anywhere.
	broken Caps
	// leads is what the path resolves to, if it does; below says that the rule was lost because it lies below a
	// lost one.
	leads *Place
	below bool
}

// Written returns the path of the rule as it was written, normalised; "" for the root.
func (p *Placed) Written() string { return p.rel.Slash() }

// Rules are the fs rules of one workspace, each at its place, and the evaluator of what is granted at a path.
//
// Rules on paths inside the workspace and rules on what lies outside of it are kept in two tries, both keyed by
// what a path resolves to: a link, also one below a mount, cannot dodge a rule. The rule with the most components
// on a path decides there, alone; of several at the same place the last one. Once no rule is added or changed any
// more, Rules are safe for concurrent use.
type Rules struct {
	Site
	// Restricted says that there are rules, so that what no rule matches is denied. Without it, all is granted in the
	// workspace.
	Restricted bool
	// Placed are the rules in the order written, then those that were added. Their Caps may be narrowed; Place
	// must stay.
	Placed []Placed
	// Pins are the entries that have to stay where they are.
	Pins []Place

	inside, outside *node
	globs           *globs
}

// NewRules returns rules that deny everything, to be added to.
func NewRules(s Site) *Rules {
	return &Rules{Site: s, Restricted: true, inside: newNode(), outside: newNode()}
}

// Add appends a rule and keys it at its place. There it decides over all rules before it.
func (r *Rules) Add(p Placed) {
	r.Placed = append(r.Placed, p)
	r.key(len(r.Placed) - 1)
}

// key enters the i-th rule into the trie. Rules may be keyed in any order.
func (r *Rules) key(i int) {
	n := r.node(r.Placed[i].Place)
	n.rule = max(n.rule, int32(i))
}

// Pin keeps an entry in its place: it may be neither created, removed, renamed nor replaced.
func (r *Rules) Pin(p Place) {
	if r.Known(p) {
		r.Pins = append(r.Pins, p)
		r.node(p).pinned = true
	}
}

func (r *Rules) pinHops(hops []wspath.Hop) {
	for _, hop := range hops {
		r.Pin(r.PlaceOf(hop.Entry))
	}
}

// PinPaths pins the entries that a list of paths names, as `pinned` of the wire does, and the symlinks on the way
// to them. written is the root as in [Compiler]. The error carries CodeInvalidPolicy and names the path.
func (r *Rules) PinPaths(list []string, written string) error {
	for i, path := range list {
		rel, err := RulePath(path, r.Root, written)
		if err != nil {
			return Errorf(CodeInvalidPolicy, "access.pinned[%d]: path %q: %w", i, path, err)
		}
		to, err := r.Resolve(rel, true)
		r.pinHops(to.Hops)
		if err != nil {
			to.Place = r.Lexical(rel.Slash())
		}
		r.Pin(to.Place)
	}
	return nil
}

// display names a place for a sentence; never by an absolute path outside.
func (r *Rules) display(p Place) string { return cmp.Or(r.Name(p), ".") }

// At returns the position of a place among the rules: what decides there, and what is granted.
func (r *Rules) At(p Place) Cursor {
	if r.globs == nil {
		rule, n := r.trie(p).find(p.Path)
		return Cursor{r: r, n: n, rule: rule}
	}
	c := Cursor{r: r, n: r.trie(p), at: Place{Outside: p.Outside}}
	c.rule = c.n.rule
	if p.Outside {
		c.at.Path = "/"
	} else {
		c.held.deny = r.globs.root
	}
	for name := range strings.SplitSeq(p.Path, "/") {
		if name != "" {
			c = c.Child(name)
		}
	}
	return c
}

func (r *Rules) capsOf(rule int32, n *node, h withholding) Caps {
	if h.any() {
		return 0
	}
	caps := AllCaps
	if r.Restricted {
		caps = 0
		if rule >= 0 {
			caps = r.Placed[rule].Caps
		}
	}
	if n != nil && n.pinned {
		caps &^= Create | Delete
	}
	return caps
}

func (r *Rules) trie(p Place) *node {
	if p.Outside {
		return r.outside
	}
	return r.inside
}

// node returns the node of a place, making what is missing.
func (r *Rules) node(p Place) *node { return r.trie(p).insert(p.Path) }

// node is one component of a trie over canonical paths. Lookups cost the depth of the
// path and allocate nothing, however many rules there are.
type node struct {
	children map[string]*node
	rule     int32 // index into Rules.Placed, -1 for none
	mount    int32 // index into Site.Mounts, -1 for none
	pinned   bool
	// deny and secret are patterns that cover just this place, as in withholding. named: it is no place of secrets,
	// because somebody named it.
	deny, secret int32
	named        bool
}

func newNode() *node { return &node{rule: -1, mount: -1} }

// insert returns the node at a slash path, making what is missing.
func (n *node) insert(path string) *node {
	for name := range strings.SplitSeq(Fold(path), "/") {
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

// find walks to path. rule is the deepest rule on the way, -1 for none; last is the
// node of the path itself, nil when the trie does not reach that far.
func (n *node) find(path string) (rule int32, last *node) {
	rule = n.rule
	for name := range strings.SplitSeq(Fold(path), "/") {
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

// below visits n and every node below it with its path relative to n. A nil node has none.
func (n *node) below(prefix string, visit func(path string, n *node)) {
	if n == nil {
		return
	}
	visit(prefix, n)
	for _, name := range slices.Sorted(maps.Keys(n.children)) {
		n.children[name].below(wspath.JoinSlash(prefix, name), visit)
	}
}

// Cursor is a position among the rules: a place, or one on a walk, which goes on to the names in a directory
// without looking the whole path up for each.
type Cursor struct {
	r    *Rules
	n    *node // nil: no rule, pin or mount is there or below
	rule int32
	held withholding
	at   Place // followed only if there are patterns on paths
}

// Rule returns the index in Rules.Placed of the rule that decides at c, -1 for none.
func (c Cursor) Rule() int { return int(c.rule) }

// Caps returns what is granted at c. A pinned entry has neither create nor delete.
func (c Cursor) Caps() Caps { return c.r.capsOf(c.rule, c.n, c.held) }

// Pinned reports whether the entry at c has to stay where it is.
func (c Cursor) Pinned() bool { return c.n != nil && c.n.pinned }

// placed returns the rule that decides at c, or nil.
func (c Cursor) placed() *Placed {
	if c.rule < 0 {
		return nil
	}
	return &c.r.Placed[c.rule]
}

// Child is the position of an entry of the directory at c. It allocates nothing, unless there are patterns on paths.
func (c Cursor) Child(name string) Cursor {
	if c.n == nil && c.r.globs == nil {
		return c
	}
	if c.n != nil {
		c.n = c.n.children[Fold(name)]
		if c.n != nil && c.n.rule >= 0 {
			c.rule = c.n.rule
		}
	}
	if c.r.globs != nil {
		if len(c.r.globs.paths) > 0 {
			c.at = c.at.Join(name)
		}
		c.r.note(&c.held, c.n, Fold(name), c.at)
		if c.n != nil && (c.n.rule >= 0 || c.n.named) {
			c.held.secret = 0 // a rule names the place, or something in it
		}
	}
	return c
}

// Leads reports whether a rule or mount below c may grant something, so that a walk
// has to go on although c itself may not be read.
func (c Cursor) Leads() bool { return c.n != nil && len(c.n.children) > 0 && c.held.deny == 0 }

// Names yields, in order, the names below c that rules or mounts lie on: the only
// ones to try where the directory may not be listed. On systems that ignore case they
// are folded.
func (c Cursor) Names() iter.Seq[string] {
	if c.n == nil {
		return func(func(string) bool) {}
	}
	return slices.Values(slices.Sorted(maps.Keys(c.n.children)))
}

// Mount returns the workspace-relative path of the mount whose link stands at c.
func (c Cursor) Mount() (path string, ok bool) {
	if c.n == nil || c.n.mount < 0 {
		return "", false
	}
	return c.r.Mounts[c.n.mount].Path, true
}
