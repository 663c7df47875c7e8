package fit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// splitting is one round of taking from grants what rules below them take away.
type splitting struct {
	*fitting
	// whole are the places with grants to be split, outer before inner.
	whole []*zone
	// fixed is what must not be done with entries, by directory: one of them has to stay.
	fixed map[string]jptool.Caps
}

// split takes from each grant what rules below it take away, and what would let an entry be
// moved that has to stay (fixed, by directory), and gives the whole to the entries on which
// no such rule lies.
func (h *fitting) split(limit, fixed map[string]jptool.Caps) {
	sp := splitting{h, h.limited(limit), fixed}
	// Inner before outer: what an inner place loses is taken from the outer ones too.
	for _, s := range slices.Backward(sp.whole) {
		taken, by := sp.lost(s.Abs, s.e)
		if taken == 0 || !s.dir() {
			continue
		}
		var made []*zone
		tangled, complete := h.tangled(s), false
		if !tangled {
			made, complete = sp.spread(s, taken, s.Abs)
		}
		s.e &^= taken
		s.why = fmt.Sprintf("%s, and Landlock alone cannot enforce that: %s", by, h.noPrivateTree())
		s.remedy = h.remedyPrivate() + ", or grant the entries one by one"
		if tangled {
			s.why += "; several mounts reach it, and a grant on one of its entries would hold under one name only"
			s.remedy = h.remedyPrivate() + ", or keep one of the mounts"
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

// limited are the places that grant something of their own, with all of it but what is over their limit.
func (h *fitting) limited(limit map[string]jptool.Caps) (whole []*zone) {
	for _, s := range h.zones {
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
	return whole
}

// lost returns what of caps cannot be granted on all of a directory because rules below it take it away, and which
// rules do.
func (sp *splitting) lost(dir string, caps jptool.Caps) (taken jptool.Caps, why string) {
	for d, move := range sp.fixed {
		if Holds(dir, d) {
			taken |= caps & move
		}
	}
	var by []string
	var named jptool.Caps
	for _, p := range sp.whole {
		if p.Abs == dir || !Holds(dir, p.Abs) || p.node.Kind == Link || p.SelfProtection || caps&^p.e == 0 {
			continue
		}
		taken |= caps &^ p.e
		if own := caps &^ p.most; own != 0 { // else it lost that itself, to a rule that is named too
			by = append(by, fmt.Sprintf("%s takes away %s", first(sp.rule(p)), own))
			named |= own
		}
	}
	if taken != 0 {
		// The entries that are granted something of their own must stay in place.
		taken |= caps & entryCaps
	}
	if n := len(by) - few; n > 0 {
		by = append(by[:few], fmt.Sprintf("%d more rules do so too", n))
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

// few rules are named, of those that take something away.
const few = 3

func first(text, _ string) string { return text }

// spread makes grants for the entries in dir, which is s or lies below it, of what s loses and they do
// not. complete is false if not all of them are known.
func (sp *splitting) spread(s *zone, taken jptool.Caps, dir string) (made []*zone, complete bool) {
	list, known := sp.facts.Listings[dir]
	if !known {
		sp.want = append(sp.want, dir)
	}
	complete = known && !list.Incomplete
	for _, n := range list.Entries {
		if at := sp.at[n.Path]; at != nil && !at.bare || n.Kind != Dir && n.Kind != File {
			continue
		}
		below, _ := sp.lost(n.Path, s.e)
		caps := s.e &^ below
		if n.Kind == File {
			caps &= fileCaps
		}
		if caps&taken != 0 {
			made = append(made, &zone{Place: Place{Abs: n.Path, Outside: s.Outside, Caps: caps, Index: -1}, most: caps, e: caps, from: s})
		}
		if below != 0 {
			inner, all := sp.spread(s, taken, n.Path)
			made, complete = append(made, inner...), complete && all
		}
	}
	return made, complete
}

// tangled reports whether the place can be reached by several mounts, so that a rule on what
// is in it would hold under one name only.
func (h *fitting) tangled(s *zone) bool {
	n := 0
	for _, m := range h.mounts {
		if s.Outside && (Holds(m.Target, s.Abs) || Holds(s.Abs, m.Target)) {
			n++
		}
	}
	return n > 1
}
