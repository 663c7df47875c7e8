package fit

import (
	"fmt"
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
func (h *fitting) byGrants() {
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
			h.noPrivateTree()+"; it is compared after the call", h.remedyPrivate(), false)
	}
	clear(h.pins)
}

// place grants what Landlock is to grant, and finds what it grants besides.
func (h *fitting) place() {
	for _, s := range h.zones {
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
			h.lacking(s, denied(left, h.name(s.Abs)), otherwise(left), h.remedyPrivate(), s.itself(left))
		}
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

// idle reports whether a rule grants exactly what its directory grants, so that nothing depends on where its entry
// is.
func (h *fitting) idle(s *zone) bool {
	return s.Abs != s.top && s.e == h.allows(path.Dir(s.Abs)) && h.grants[s.Abs] == 0
}

// replaceable reports whether an entry, or a directory on the way to it, can be moved away
// and another put there.
func (h *fitting) replaceable(p string) bool {
	for top := topOf(h.tops, p); p != top; p = path.Dir(p) {
		if h.does(path.Dir(p)).Has(entryCaps) {
			return true
		}
	}
	return false
}

// fix notes the rights by which a pinned entry could be moved, and reports whether some are new. What only
// self-protection pins is compared after the call instead.
func (h *fitting) fix(fixed map[string]jptool.Caps) bool {
	again := false
	h.eachMovable(func(s *zone) bool { return s.SelfProtection || h.idle(s) }, func(x string, caps jptool.Caps) {
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
