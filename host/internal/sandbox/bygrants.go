package sandbox

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/jptool"
)

// without is for machines that hold nothing: the policy stays as declared, and what is
// protected is compared after the call.
func (h *holding) without() {
	for _, s := range h.spots {
		s.e = s.most
		if s.SelfProtection {
			h.compare(s)
		}
	}
}

// compare has a protected place looked at after the call.
func (h *holding) compare(s *spot) {
	c := Check{Path: s.Abs, Want: StillMissing}
	if !s.missing() {
		c = Check{Path: s.Abs, Want: Unchanged, Node: s.node}
	}
	h.after = append(h.after, c)
	s.by = append(s.by, "check after the call")
}

// byGrants holds the policy with Landlock alone: a grant above a
// rule that takes away is replaced by grants on the entries around it. Self-protection is
// not worth that price.
func (h *holding) byGrants() {
	limit, fixed := map[string]jptool.Caps{}, map[string]jptool.Caps{}
	for {
		h.reset()
		h.split(limit, fixed)
		h.place()
		h.pinAll(h.idle)
		if !h.unpinned(limit) && !h.fix(fixed) {
			break
		}
	}
	h.entries()
	for _, s := range h.spots {
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
			h.noPrivateTree()+"; it is compared after the call", h.remedyPrivate(), false)
	}
	clear(h.pins)
}

// split takes from each grant what rules below it take away, and what would let an entry be
// moved that has to stay (fixed, by directory), and gives the whole to the entries on which
// no such rule lies.
func (h *holding) split(limit, fixed map[string]jptool.Caps) {
	var whole []*spot
	for _, s := range h.spots {
		if s.bare || s.top == "" || s.missing() {
			continue
		}
		s.e = s.most
		if most, ok := limit[s.Abs]; ok {
			s.e &= most
			s.why = "without namespaces it cannot be kept where it is, and its rights would move with it: " + h.noPrivateTree()
			s.remedy = h.remedyPrivate() + ", or do not grant delete above it"
		}
		whole = append(whole, s)
	}
	lost := func(dir string, caps jptool.Caps) (taken jptool.Caps, why string) {
		for d, move := range fixed {
			if Holds(dir, d) {
				taken |= caps & move
			}
		}
		var by *spot
		for _, p := range whole {
			if p.Abs != dir && Holds(dir, p.Abs) && p.node.Kind != Link && !p.SelfProtection && caps&^p.e != 0 {
				taken |= caps &^ p.e
				by = p
			}
		}
		if taken != 0 {
			// The entries that are granted something of their own must stay in place.
			taken |= caps & entryCaps
		}
		if by == nil {
			return taken, fmt.Sprintf("with %s what rules below it depend on could be moved", taken)
		}
		return taken, fmt.Sprintf("%s takes away %s below it", first(h.rule(by)), taken)
	}
	// Inner before outer: what an inner place loses is taken from the outer ones too.
	for _, s := range slices.Backward(whole) {
		full := s.e
		taken, by := lost(s.Abs, full)
		if taken == 0 || !s.dir() {
			continue
		}
		var made []*spot
		complete := !h.tangled(s)
		var spread func(dir string)
		spread = func(dir string) {
			l, known := h.facts.Listings[dir]
			if !known {
				h.want = append(h.want, dir)
			}
			complete = complete && known && !l.Incomplete
			for _, n := range l.Entries {
				if h.at[n.Path] != nil && !h.at[n.Path].bare || n.Kind != Dir && n.Kind != File {
					continue
				}
				caps := full
				below, _ := lost(n.Path, caps)
				if n.Kind == File {
					caps &= fileCaps
				}
				if caps &^= below; caps&^(full&^taken) != 0 {
					made = append(made, &spot{Place: policy.Place{Abs: n.Path, Outside: s.Outside, Caps: caps, Index: -1}, most: caps, e: caps, from: s})
				}
				if below != 0 {
					spread(n.Path)
				}
			}
		}
		if complete {
			spread(s.Abs)
		}
		s.e &^= taken
		s.why = fmt.Sprintf("%s, and Landlock alone cannot: %s", by, h.noPrivateTree())
		s.remedy = h.remedyPrivate() + ", or grant the entries one by one"
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

func first(text, _ string) string { return text }

// tangled reports whether the place can be reached by several mounts, so that a rule on what
// is in it would hold under one name only.
func (h *holding) tangled(s *spot) bool {
	n := 0
	for _, m := range h.mounts {
		if s.Outside && (Holds(m.Target, s.Abs) || Holds(s.Abs, m.Target)) {
			n++
		}
	}
	return n > 1
}

// place grants what Landlock is to grant, and finds what it grants besides.
func (h *holding) place() {
	for _, s := range h.spots {
		switch {
		case s.top == "":
			h.outside(s)
			continue
		case s.missing():
			h.nothingThere(s)
			continue
		case s.node.Kind == Link:
			s.e, s.k = s.most, s.most
			continue
		case s.bare:
			s.most = h.allows(s.Abs)
			s.e = s.most
		}
		before := h.above(s.Abs) | s.extra
		grant, rights := s.e|s.extra, jptool.AllCaps
		if !s.dir() {
			rights = fileCaps
		}
		before &= rights
		grant &= rights
		if s.node.Kind == Special {
			grant &= before
			s.e &= before
		}
		if grant&^h.above(s.Abs) != 0 {
			h.grants[s.Abs] = grant
			s.by = append(s.by, "landlock")
		}
		s.k = s.e | s.extra
		left := before &^ s.e
		switch {
		case left == 0 || h.governing(s.Abs) == nil:
		case s.SelfProtection:
			h.compare(s)
			h.lacking(s, fmt.Sprintf("that it is not changed (%s)", left),
				h.noPrivateTree()+"; it is compared after the call", h.remedyPrivate(), false)
		default:
			h.lacking(s, denied(left, s.Abs), "programs need it to start", h.remedyPrivate(), false)
		}
	}
}

// unpinned narrows the rules whose rights would move with an entry that cannot be kept
// in its place, and reports whether there were any.
func (h *holding) unpinned(limit map[string]jptool.Caps) bool {
	again := false
	for _, s := range h.spots {
		before := h.above(s.Abs)
		if s.bare || s.from != nil || s.top == "" || s.e&^before == 0 || h.grants[s.Abs] == 0 {
			continue
		}
		for x := s.Abs; x != s.top; x = path.Dir(x) {
			if h.pins[x] {
				limit[s.Abs] = s.e & before
				again = true
				break
			}
		}
	}
	return again
}

// idle reports whether a rule grants no more and no less than what lies around it, so that
// nothing depends on its place.
func (h *holding) idle(s *spot) bool {
	return s.Abs != s.top && s.e == h.allows(path.Dir(s.Abs)) && h.grants[s.Abs] == 0
}

// replaceable reports whether an entry, or a directory on the way to it, can be moved away
// and another put there.
func (h *holding) replaceable(p string) bool {
	for top := h.topOf(p); p != top; p = path.Dir(p) {
		if h.does(path.Dir(p)).Has(entryCaps) {
			return true
		}
	}
	return false
}

// fix notes the rights that would let an entry be moved that has to stay, and reports whether
// there are any that were not noted before. What only self-protection pins is compared
// after the call.
func (h *holding) fix(fixed map[string]jptool.Caps) bool {
	again := false
	h.ways(func(s *spot) bool { return s.SelfProtection || h.idle(s) }, func(x string, caps jptool.Caps) {
		dir := path.Dir(x)
		if more := caps &^ fixed[dir]; h.pins[x] && more != 0 {
			fixed[dir] |= more
			again = true
		}
	})
	return again
}

// sorted are the paths of a set, outer before inner.
func sorted[T any](set map[string]T) []string {
	var list []string
	for p := range set {
		list = append(list, p)
	}
	slices.SortFunc(list, OuterFirst)
	return list
}

// caps are capabilities as a rule writes them.
func caps(c jptool.Caps) string {
	return strings.Join(c.Names(), " = true, ") + " = true"
}
