package fit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jptools/jptools/jptool"
)

const (
	// fileCaps are the rights that mean something on a file; creating and deleting it
	// are rights on its directory.
	fileCaps  = jptool.Read | jptool.Update | jptool.Execute
	entryCaps = jptool.Create | jptool.Delete
	lookCaps  = jptool.Read | jptool.Execute
)

// input is what is fitted, in the form that fitting needs.
type input struct {
	d       *Policy
	facts   *Facts
	machine Machine
	options Options
	tops    []string // the trees, outermost only
	runtime map[string]jptool.Caps
	places  []Place
	// noTree says why the namespace tier cannot be used, "" when it can, and treeRemedy what to do.
	noTree, treeRemedy string
}

func newInput(d *Policy, facts *Facts, m Machine, o Options) *input {
	in := &input{
		d: d, facts: facts, machine: m, options: o, tops: roots(d, o),
		runtime: map[string]jptool.Caps{}, places: slices.Clone(d.Places),
	}
	for _, g := range o.Runtime {
		in.runtime[g.Path] |= g.Caps
	}
	switch {
	case o.Tier == TierLandlock:
		in.noTree, in.treeRemedy = "the tier is set to landlock", tierRemedy
	case !m.Namespaces:
		in.noTree, in.treeRemedy = m.Lacks("namespaces")
	case slices.Contains(in.tops, "/"):
		in.noTree = "the whole file system is granted, and cannot be a private tree"
		in.treeRemedy = "use a workspace, and targets of mounts, below the root of the file system"
	}
	if !slices.ContainsFunc(in.places, func(p Place) bool { return p.Abs == d.Site.Root }) {
		// What no rule matches is denied, also where a mount's target or the runtime
		// holds the workspace; without rules everything in it is granted.
		p := Place{Abs: d.Site.Root, Index: -1}
		if len(d.Access.FS) == 0 {
			p.Caps = jptool.AllCaps
		}
		in.places = append(in.places, p)
	}
	return in
}

// zone is a path with all below it, up to the next zone: within it the same rights hold.
type zone struct {
	Place
	node Node
	// top is the tree it lies in, "" outside of all.
	top string
	// most is what may be granted there at most, e what is granted.
	most, e jptool.Caps
	// extra is what the program needs there to start, whatever the rules say, and k all that
	// the kernel is to let it do.
	extra, k jptool.Caps
	// unread: the rule grants execute without read, which cannot be granted.
	unread bool
	// bare: no rule is there, only extra.
	bare bool
	// from is the rule whose grant was replaced by grants on what lies below it.
	from *zone
	// why and remedy say why e is less than the rule grants.
	why, remedy string
	by          []string
}

func (s *zone) dir() bool     { return s.node.Kind == Dir }
func (s *zone) missing() bool { return s.node.Kind == Missing }

// fitting is one way to enforce a policy, while it is worked out.
type fitting struct {
	*input
	zones []*zone // outer before inner
	at    map[string]*zone

	// grants, covers and pins are what the kernel is to hold in the trees, by path; kept are
	// the entries that the tool's own check keeps in place as well.
	grants map[string]jptool.Caps
	covers map[string]*Cover
	pins   map[string]bool
	kept   map[string]bool

	// whole and fixed are for splitting grants: the places with grants to be split, outer before inner, and
	// what must not be done with entries, by directory: one of them has to stay.
	whole []*zone
	fixed map[string]jptool.Caps

	after []Check
	not   []NotEnforced
	// leaks are what of a withheld place would be granted.
	leaks []NotEnforced
	make  []string
	want  []string

	scratch bool // there is a private /tmp around the trees
}

// fitting starts with nothing granted.
func (in *input) fitting() *fitting {
	h := &fitting{
		input: in, at: map[string]*zone{}, grants: map[string]jptool.Caps{}, covers: map[string]*Cover{},
		pins: map[string]bool{}, kept: map[string]bool{},
	}
	for _, p := range h.places {
		s := &zone{Place: p, most: p.Caps}
		if h.d.Needs != nil {
			s.most &= *h.d.Needs
		}
		if s.most&lookCaps == jptool.Execute {
			s.most &^= jptool.Execute
			s.unread = true
			s.why, s.remedy = "the kernel reads what it executes", "grant read too"
		}
		h.add(s)
	}
	for _, g := range h.options.Runtime {
		if topOf(h.tops, g.Path) == "" {
			continue
		}
		if h.at[g.Path] == nil {
			h.add(&zone{Place: Place{Abs: g.Path, Index: -1}, bare: true})
		}
		s := h.at[g.Path]
		s.extra |= g.Caps
		if s.node.Kind == Missing {
			s.node = g.Node
		}
	}
	h.sort()
	return h
}

func (h *fitting) add(s *zone) {
	s.node = h.facts.node(s.Abs)
	s.top = topOf(h.tops, s.Abs)
	h.at[s.Abs] = s
	h.zones = append(h.zones, s)
}

func (h *fitting) sort() {
	slices.SortFunc(h.zones, func(a, b *zone) int { return OuterFirst(a.Abs, b.Abs) })
}

// governing is the zone whose rule decides at a path, nil for none: as the tool's check
// finds it. A path in the workspace is decided by the rules of the workspace only, as the
// workspace always has a zone.
func (h *fitting) governing(p string) *zone {
	for q := range Upward(p) {
		if s := h.at[q]; s != nil && !s.bare {
			return s
		}
	}
	return nil
}

// allows is what the effective policy grants at a path, pins aside.
func (h *fitting) allows(p string) jptool.Caps {
	if s := h.governing(p); s != nil {
		return s.e
	}
	return 0
}

// does is what the kernel lets be done with what is in a directory.
func (h *fitting) does(p string) jptool.Caps {
	for q := range Upward(p) {
		if s := h.at[q]; s != nil {
			return s.k
		}
	}
	return h.above(p) | h.runtime[p]
}

// above is A(P): what Landlock grants on the ancestors of a path, from whatever source.
func (h *fitting) above(p string) jptool.Caps {
	var caps jptool.Caps
	for q := range Upward(p) {
		if q != p {
			caps |= h.grants[q] | h.runtime[q]
		}
	}
	return caps
}

// mounted is the cover above a path, which decides what mounts do there.
func (h *fitting) mounted(p string) Cover {
	for q := range Upward(p) {
		if c := h.covers[q]; c != nil && q != p {
			return *c
		}
	}
	return Cover{}
}

// grantor names what grants some of caps above a path, for people.
func (h *fitting) grantor(p string, caps jptool.Caps) string {
	for q := range Upward(p) {
		switch {
		case q == p:
		case h.grants[q]&caps != 0:
			return fmt.Sprintf("%q", h.name(q))
		case h.runtime[q]&caps != 0:
			return fmt.Sprintf("%q, which the sandbox leaves to every program,", q)
		}
	}
	return "a directory above it"
}

// name is a path as rules write it.
func (h *fitting) name(abs string) string {
	if p, ok := h.d.Site.WirePath(abs); ok {
		return cmp.Or(p, ".")
	}
	return abs
}

// rule is the text of a zone's rule, and where it was written.
func (h *fitting) rule(s *zone) (text, origin string) {
	if s.from != nil {
		return h.rule(s.from)
	}
	if s.Index >= 0 && s.Index < len(h.d.Rules) {
		r := &h.d.Rules[s.Index]
		return r.Text, r.Origin
	}
	return h.text(s, s.Caps), ""
}

// text is how the rule of a zone would be written if it granted caps.
func (h *fitting) text(s *zone, caps jptool.Caps) string {
	r := FsRule(h.name(s.Abs), caps)
	if s.Index >= 0 && s.Index < len(h.d.Access.FS) {
		w := &h.d.Access.FS[s.Index]
		r.Path, r.External = w.Path, w.External
	}
	return FsText(&r)
}

// lacking notes that the operating system does not hold something of a zone's rule.
func (h *fitting) lacking(s *zone, what, why, remedy string, known bool) {
	n := NotEnforced{What: what, Why: why, Remedy: remedy, Known: known}
	if s != nil && !s.bare {
		n.Rule, n.Origin = h.rule(s)
	}
	if !slices.Contains(h.not, n) {
		h.not = append(h.not, n)
	}
}

// isRoot reports whether nobody may create or remove the entry: the workspace and the targets of
// mounts.
func (h *fitting) isRoot(p string) bool {
	return p == h.d.Site.Root || slices.ContainsFunc(h.d.Mounts, func(m Mount) bool { return m.Target == p })
}
