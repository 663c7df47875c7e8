package fit

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// unenforced fits the policy on a machine that enforces nothing: it stays as declared, and what is
// protected is compared after the call.
func (h *fitting) unenforced() {
	for _, s := range h.zones {
		s.e = s.most
		if s.SelfProtection {
			h.compare(s)
		}
		if s.missing() {
			h.toMake(s)
		}
	}
	h.open()
}

// open excludes from the comparison after the call what a rule allows to be changed within it.
func (h *fitting) open() {
	below := func(p string, w Want) bool {
		return slices.ContainsFunc(h.after, func(c Check) bool { return c.Want == w && c.Path != p && Holds(c.Path, p) })
	}
	for _, s := range h.zones {
		if s.e&jptool.Write != 0 && !s.SelfProtection && !s.bare && !s.missing() && below(s.Abs, Unchanged) && !below(s.Abs, Opened) {
			h.after = append(h.after, Check{Path: s.Abs, Want: Opened, Node: s.node})
		}
	}
}

// compare adds a check after the call that a protected place has not changed.
func (h *fitting) compare(s *zone) {
	if s.missing() {
		h.after = append(h.after, Check{Path: s.Abs, Want: StillMissing})
		s.by = append(s.by, "watched")
		return
	}
	h.after = append(h.after, Check{Path: s.Abs, Want: Unchanged, Node: s.node})
	s.by = append(s.by, "check after the call")
}

// byGrants holds the policy with Landlock alone: a grant above a
// rule that takes away is replaced by grants on the entries around it. Self-protection is
// not worth that price.
func (in *input) byGrants() *fitting {
	var h *fitting
	limit, fixed := map[string]jptool.Caps{}, map[string]jptool.Caps{}
	for again := true; again; {
		h = in.fitting()
		h.fixed = fixed
		h.split(limit)
		h.eachZone(h.place)
		h.pinAll(h.idle)
		again = h.unpinned(limit) || h.fix()
	}
	h.entries()
	h.open()
	for _, s := range h.zones {
		// It need not stay, but the next call must not find its rights behind a link.
		if s.from == nil && !s.bare && !s.missing() && s.top != "" && h.idle(s) && s.most != 0 && h.replaceable(s.Abs) {
			h.after = append(h.after, Check{Path: s.Abs, Want: NoLink})
		}
	}
	for _, x := range sorted(h.pins) {
		if slices.ContainsFunc(h.after, func(c Check) bool { return c.Path == x && c.Want == Unchanged }) {
			continue // compared already, and said
		}
		h.after = append(h.after, Check{Path: x, Want: SameEntry, Node: h.facts.node(x)})
		h.lacking(nil, fmt.Sprintf("that the entry %q keeps its place", h.name(x)),
			h.noTree+"; it is compared after the call", h.treeRemedy, false)
	}
	clear(h.pins)
	return h
}

// place grants what Landlock is to grant on a zone, and finds what it grants besides.
func (h *fitting) place(s *zone) {
	if s.bare {
		s.e = s.most
	}
	before, grant := h.above(s.Abs)|s.extra, s.e|s.extra
	if !s.dir() {
		before, grant = before&fileCaps, grant&fileCaps
	}
	if s.node.Kind == Special {
		grant &= before
		s.e &= before
	}
	h.allow(s, grant)
	s.k = s.e | s.extra
	left := before &^ s.e
	switch {
	case left == 0 || h.governing(s.Abs) == nil:
	case s.SelfProtection && !s.Withheld:
		h.compare(s)
		h.lacking(s, fmt.Sprintf("that it is not changed (%s)", left),
			h.noTree+"; it is compared after the call", h.treeRemedy, false)
	default:
		h.notDenied(s, left, h.treeRemedy)
	}
}

// unpinned narrows the rules whose rights would move with an entry that cannot be kept
// in its place, and reports whether there were any.
func (h *fitting) unpinned(limit map[string]jptool.Caps) bool {
	again := false
	for _, s := range h.zones {
		before := h.above(s.Abs)
		if s.bare || s.from != nil || s.top == "" || s.e&^before == 0 || h.grants[s.Abs] == 0 {
			continue
		}
		if slices.ContainsFunc(h.onWay(s.Abs), func(x string) bool { return h.pins[x] }) {
			limit[s.Abs] = s.e & before
			again = true
		}
	}
	return again
}

// idle reports whether a rule grants exactly what its directory grants, so that nothing depends on where its entry
// is.
func (h *fitting) idle(s *zone) bool {
	return s.Abs != s.top && s.e == h.allows(path.Dir(s.Abs)) && h.grants[s.Abs] == 0
}

// replaceable reports whether an entry, or a directory on the way to it, can be moved away
// and another put there.
func (h *fitting) replaceable(p string) bool {
	return slices.ContainsFunc(h.onWay(p), func(x string) bool { return h.does(path.Dir(x)).Has(entryCaps) })
}

// fix notes the rights by which a pinned entry could be moved, and reports whether some are new. What only
// self-protection pins is compared after the call instead.
func (h *fitting) fix() bool {
	again := false
	h.eachMovable(func(s *zone) bool { return s.SelfProtection || h.idle(s) }, func(x string, caps jptool.Caps) {
		dir := path.Dir(x)
		if more := caps &^ h.fixed[dir]; h.pins[x] && more != 0 {
			h.fixed[dir] |= more
			again = true
		}
	})
	return again
}

// sorted are the paths of a set, outer before inner.
func sorted[T any](set map[string]T) []string { return slices.SortedFunc(maps.Keys(set), OuterFirst) }

// split takes from each grant what rules below it take away, and what would let an entry be
// moved that has to stay (fixed, by directory), and gives the whole to the entries on which
// no such rule lies.
func (h *fitting) split(limit map[string]jptool.Caps) {
	// First each place grants all of its own, but what is over its limit.
	for _, s := range h.zones {
		if s.bare || s.top == "" || s.missing() {
			continue
		}
		s.e = s.most
		if most, ok := limit[s.Abs]; ok {
			s.e &= most
			s.why = "without namespaces it cannot be kept where it is, and its rights would move with it: " + h.noTree
			s.remedy = h.treeRemedy + ", or do not grant delete above it"
		}
		h.whole = append(h.whole, s)
	}
	// Inner before outer: what an inner place loses is taken from the outer ones too.
	for _, s := range slices.Backward(h.whole) {
		taken, by := h.lost(s.Abs, s.e)
		if taken == 0 || !s.dir() {
			continue
		}
		var made []*zone
		tangled, complete := h.tangled(s), false
		if !tangled {
			made, complete = h.spread(s, taken, s.Abs)
		}
		s.e &^= taken
		s.why = fmt.Sprintf("%s, and Landlock alone cannot enforce that: %s", by, h.noTree)
		s.remedy = h.treeRemedy + ", or grant the entries one by one"
		if slices.ContainsFunc(h.whole, func(p *zone) bool { return p.Withheld && Holds(s.Abs, p.Abs) }) {
			s.remedy += ", or name the places of secrets in rules of their own"
		}
		if tangled {
			s.why += "; several mounts reach it, and a grant on one of its entries would hold under one name only"
			s.remedy = h.treeRemedy + ", or keep one of the mounts"
			continue
		}
		if !complete {
			s.why += "; its entries are too many to be granted one by one"
			continue
		}
		s.why += "; each entry that is there now is granted it instead"
		for _, m := range made {
			if old := h.at[m.Abs]; old != nil {
				old.Place, old.most, old.e, old.from, old.bare = m.Place, m.most, m.e, m.from, false
				continue
			}
			h.add(m)
		}
	}
	h.sort()
}

// lost returns what of caps cannot be granted on all of a directory because rules below it take it away, and which
// rules do.
func (h *fitting) lost(dir string, caps jptool.Caps) (taken jptool.Caps, why string) {
	for d, move := range h.fixed {
		if Holds(dir, d) {
			taken |= caps & move
		}
	}
	var by []string
	var named jptool.Caps
	for _, p := range h.whole {
		if p.Abs == dir || !Holds(dir, p.Abs) || p.node.Kind == Link || p.SelfProtection || caps&^p.e == 0 {
			continue
		}
		taken |= caps &^ p.e
		if own := caps &^ p.most; own != 0 { // else it lost that itself, to a rule that is named too
			rule, _ := h.rule(p)
			by = append(by, fmt.Sprintf("%s takes away %s", rule, own))
			named |= own
		}
	}
	if taken != 0 {
		// The entries that are granted something of their own must stay in place.
		taken |= caps & entryCaps
	}
	if n := len(by) - 3; n > 0 {
		by = append(by[:3], fmt.Sprintf("%d more rules do so too", n))
	}
	why = strings.Join(by, "; ")
	if why != "" {
		why += " below it"
	}
	if more := taken &^ named; more != 0 {
		if why != "" {
			why += ", and "
		}
		why += fmt.Sprintf("with %s what rules below it depend on could be moved", more)
	}
	return taken, why
}

// spread makes grants for the entries in dir, which is s or lies below it, of what s loses and they do
// not. complete is false if not all of them are known.
func (h *fitting) spread(s *zone, taken jptool.Caps, dir string) (made []*zone, complete bool) {
	list, known := h.facts.Listings[dir]
	if !known {
		h.want = append(h.want, dir)
	}
	complete = known && !list.Incomplete
	for _, n := range list.Entries {
		if at := h.at[n.Path]; at != nil && !at.bare || n.Kind != Dir && n.Kind != File {
			continue
		}
		below, _ := h.lost(n.Path, s.e)
		caps := s.e &^ below
		if n.Kind == File {
			caps &= fileCaps
		}
		if caps&taken != 0 {
			made = append(made, &zone{Place: Place{Abs: n.Path, Outside: s.Outside, Caps: caps, Index: -1}, most: caps, e: caps, from: s})
		}
		if below != 0 {
			inner, all := h.spread(s, taken, n.Path)
			made, complete = append(made, inner...), complete && all
		}
	}
	return made, complete
}

// tangled reports whether the place can be reached by several mounts, so that a rule on what
// is in it would hold under one name only.
func (h *fitting) tangled(s *zone) bool {
	n := 0
	for _, m := range h.d.Mounts {
		if s.Outside && (Holds(m.Target, s.Abs) || Holds(s.Abs, m.Target)) {
			n++
		}
	}
	return n > 1
}
