package fit

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// byMounts enforces the policy with Landlock rules, and with mounts where rules cannot express it. If the result has
// neither covers nor pins, Landlock alone enforces it.
func (h *fitting) byMounts() {
	h.eachZone(h.cover)
	h.reveal()
	h.pinAll(func(*zone) bool { return false })
	h.entries()
	for _, s := range h.zones {
		if !s.bare && !s.missing() && !s.dir() && !h.isRoot(s.Abs) && (h.kept[s.Abs] || h.covers[s.Abs] != nil) {
			s.keepInPlace(s.e & entryCaps)
			if c := h.covers[s.Abs]; s.e == 0 && c != nil && c.Again && h.mounted(s.Abs).Hide {
				delete(h.covers, s.Abs) // its mount would show a file below a mask that nothing is granted on any more
				s.k = 0
			}
		}
	}
}

// eachZone visits the zones where something is that a rule can be enforced on, outer before inner, and fits the others.
func (h *fitting) eachZone(visit func(*zone)) {
	for _, s := range h.zones {
		switch {
		case s.top == "":
			// Such a rule can only deny.
			s.e = 0
			if left := h.above(s.Abs) | h.runtime[s.Abs]; left != 0 && !s.missing() {
				h.notDenied(s, left, "")
			}
		case s.missing():
			h.nothingThere(s)
		case s.node.Kind == Link:
			// A rule stays on a link only to deny what it leads to, which is nothing.
			s.e, s.k = s.most, s.most
		default:
			if s.bare {
				s.most = h.allows(s.Abs)
			}
			visit(s)
		}
	}
}

// allow lets Landlock grant something on a zone that it does not grant above it.
func (h *fitting) allow(s *zone, grant jptool.Caps) {
	if grant&^h.above(s.Abs) != 0 {
		h.grants[s.Abs] = grant
		s.by = append(s.by, "landlock")
	}
}

// notDenied notes a denial that is not enforced: of what is granted on a zone although its rule does not grant it.
func (h *fitting) notDenied(s *zone, left jptool.Caps, remedy string) {
	why := "programs need it to start, or a path that sandbox.paths or a flag grants holds it"
	if left&jptool.Write != 0 { // no program needs that to start
		why = "a path that sandbox.paths or a flag grants holds it"
	}
	// To execute a file that the program was started with is a documented difference.
	known := left == jptool.Execute && s.extra.Has(left) && !s.dir()
	what := fmt.Sprintf("that %s is denied on %q", left, h.name(s.Abs))
	if s.Withheld {
		h.leaks = append(h.leaks, NotEnforced{What: what, Why: why, Remedy: remedy})
	}
	h.lacking(s, what, why, remedy, known)
}

// reveal shows the links that rules and mounts lead through even below a mask: people use their names.
func (h *fitting) reveal() {
	links := slices.Clone(h.d.Pins) // other calls have the policy as well
	for _, m := range h.d.Mounts {
		if h.allows(m.Target) != 0 {
			links = append(links, m.Link)
		}
	}
	for _, p := range links {
		if h.d.denied(p) {
			continue
		}
		if n := h.facts.node(p); n.Kind == Link && h.covers[p] == nil && topOf(h.tops, p) != "" && h.mounted(p).Hide {
			h.covers[p] = &Cover{Node: n, Again: true}
		}
	}
}

// keepInPlace removes create and delete from the rule of a file: its entry must stay where it is.
func (s *zone) keepInPlace(caps jptool.Caps) {
	s.e &^= caps
	if caps != 0 && s.why == "" {
		s.why = "creating and deleting an entry is a right on its directory, and this one must stay where its rule is"
		s.remedy = "for creating and deleting it, write the rule on its directory"
	}
}

// cover fits one zone under the grants and mounts above it: by a Landlock rule if it grants more, by a mount if
// it grants less.
func (h *fitting) cover(s *zone) {
	var leaks jptool.Caps // what the machine's Landlock cannot deny on any file that a program can see
	if h.machine.Landlock < TruncateABI {
		leaks = jptool.Update
	}
	before, want := h.above(s.Abs)|h.around(s.Abs)|s.extra|leaks, s.most|s.extra
	if !s.dir() {
		before &= fileCaps
	}
	taken, keep := before&^want, want
	because := func(why, remedy string) {
		s.why, s.remedy = fmt.Sprintf("%s grants %s above it, and %s", h.grantor(s.Abs, taken), taken, why), remedy
	}
	switch {
	case taken == 0 || taken == jptool.Execute:
	case taken.Has(jptool.Read):
		keep = 0
		because("what may not be read can only be hidden altogether", "grant read here too, or do not grant it above")
	case taken&jptool.Write != 0:
		keep &= lookCaps
		if taken&jptool.Write&^h.above(s.Abs) == leaks && leaks != 0 {
			why, remedy := older(TruncateABI)
			s.why, s.remedy = why+" and lets files be cut off, and a mount can only take all writing together", remedy
			break
		}
		because("a mount can only take all writing together",
			fmt.Sprintf("grant %s here too, or only read and execute, or do not grant it above", taken))
	}
	grant := keep
	if !s.dir() {
		grant &= fileCaps
	}
	if s.node.Kind == Special {
		// Tools open no FIFO or device; there is nothing to grant.
		keep &= before &^ (leaks &^ h.above(s.Abs))
		grant = keep
	}
	s.e, s.k = keep&s.most, keep
	h.allow(s, grant)
	h.mount(s, keep, before|grant)
	if left := s.extra &^ s.most; left != 0 && h.governing(s.Abs) != nil {
		granted := strings.Join((s.extra | s.most).Names(), " = true, ")
		h.notDenied(s, left, fmt.Sprintf("grant it: { path = %q, %s = true }", h.name(s.Abs), granted))
	}
}

// mount adds a mount on a zone if Landlock grants more there than keep, or if the mount above it leaves less.
func (h *fitting) mount(s *zone, keep, granted jptool.Caps) {
	on, surplus, write := h.mounted(s.Abs), granted&^keep, jptool.Write
	if !s.dir() {
		surplus, write = surplus&fileCaps, jptool.Update
	}
	c := Cover{Node: s.node, ReadOnly: surplus&jptool.Write != 0, NoExec: surplus.Has(jptool.Execute)}
	switch {
	case keep == 0 && granted == 0, keep == 0 && on.Hide:
		return
	case keep == 0:
		c = Cover{Node: s.node, Hide: true}
		s.by = append(s.by, "mask")
	case on.Hide || on.ReadOnly && keep&write != 0 || on.NoExec && keep.Has(jptool.Execute):
		c.Again = true
	case c.ReadOnly && !on.ReadOnly || c.NoExec && !on.NoExec:
		c.ReadOnly, c.NoExec = c.ReadOnly || on.ReadOnly, c.NoExec || on.NoExec
	default:
		return
	}
	if c.ReadOnly {
		s.by = append(s.by, "read-only mount")
	}
	if c.NoExec {
		s.by = append(s.by, "noexec mount")
	}
	h.covers[s.Abs] = &c
}

// freeze mounts read-only what no rule lets be written, and again what lies below it and may
// be: Landlock has no right for modes, owners, times and attributes, mounts have.
func (h *fitting) freeze() {
	for _, s := range h.zones {
		write := jptool.Write
		switch {
		case s.top == "" || s.missing() || s.node.Kind != Dir && s.node.Kind != File:
			continue
		case !s.dir():
			write = jptool.Update
		}
		on, c := h.mounted(s.Abs), h.covers[s.Abs]
		switch {
		case c != nil && c.Hide, c == nil && on.Hide:
		case s.k&write == 0 && c != nil:
			c.ReadOnly = true
		case s.k&write != 0 && c != nil:
			c.Again = c.Again || on.ReadOnly
		case s.k&write == 0 && !on.ReadOnly:
			h.covers[s.Abs] = &Cover{Node: s.node, ReadOnly: true, NoExec: on.NoExec}
		case s.k&write != 0 && on.ReadOnly:
			h.covers[s.Abs] = &Cover{Node: s.node, Again: true, NoExec: on.NoExec && !s.k.Has(jptool.Execute)}
		}
	}
	for x := range h.pins {
		if h.covers[x] != nil {
			delete(h.pins, x)
		}
	}
}

// nothingThere fits a rule on a path that does not exist: a grant becomes what is granted above it; what takes
// away is watched for and checked after the call.
func (h *fitting) nothingThere(s *zone) {
	parent := path.Dir(s.Abs)
	above := h.allows(parent)
	if s.Unnamed {
		above = h.does(parent) // no rule grants anything there, a flag or sandbox.paths does
	}
	s.e = s.most & above
	var failed error
	if s.most != above {
		failed = h.toMake(s)
	}
	s.why, s.remedy = h.whyMissing(s, failed)
	switch {
	case s.e != above && h.nearest(s.Abs).Kind == Dir:
		// Also where the program itself can create nothing: somebody else can, and the program would read it.
		s.e &^= jptool.Create
		h.after = append(h.after, Check{Path: s.Abs, Want: StillMissing})
		s.by = append(s.by, "watched")
		h.lacking(s, "that nothing is created there", watchedFor, "", true)
	case !h.creatable(s.Abs):
	case s.most != 0 || s.Caps != 0:
		h.after = append(h.after, Check{Path: s.Abs, Want: NoLink})
	}
	s.k = s.e
	switch s.e {
	case 0:
		s.why += ", and nothing of what it grants is granted above it"
	case above:
		s.why += ", so that what holds above it holds"
	default:
		s.why += ", so that only what is granted above it as well holds"
	}
}

// watchedFor is why nothing keeps a path missing.
const watchedFor = "nothing is there to mount anything on; the call is ended when something appears"

// toMake notes that the directory of a missing place is to be made for the call, with its missing
// parents, if its rule asks for that: by a slash at the end of its path, or by granting create where an
// argument names something below it. No other rule need grant the parents, since the path of this one
// is written. The error says why they cannot be made.
func (h *fitting) toMake(s *zone) error {
	named := slices.ContainsFunc(h.options.Named, func(q string) bool { return q != s.Abs && Holds(s.Abs, q) })
	if s.top == "" || s.most == 0 || !s.Dir && !(s.most.Has(jptool.Create) && named) {
		return nil
	}
	if s.Guarded && s.most&jptool.Write == 0 {
		// Only the user's own rules write here; others must not make a repository or a workspace of a directory.
		return errors.New("it is protected, and is not made for a call")
	}
	var dirs []string
	for p := s.Abs; ; p = path.Dir(p) {
		if err := h.options.NoMake[p]; err != nil {
			return err
		}
		if n := h.facts.node(p); n.Kind == Dir {
			break
		} else if n.Kind != Missing || p == s.top {
			return fmt.Errorf("%q is no directory", h.name(p))
		}
		dirs = append(dirs, p)
	}
	for _, p := range slices.Backward(dirs) {
		if !slices.Contains(h.make, p) {
			h.make = append(h.make, p)
		}
	}
	return nil
}

// whyMissing says why a rule on a missing path grants less than it says, and what to do.
func (h *fitting) whyMissing(s *zone, failed error) (why, remedy string) {
	name := h.name(s.Abs)
	file, dir := fmt.Sprintf("as a file, create it before the call (touch %s)", name), fmt.Sprintf("as a directory, write its path %q", name+"/")
	switch {
	case failed != nil:
		return fmt.Sprintf("nothing is there, and the directory cannot be made (%v)", failed), "create it before the call"
	case s.Dir:
		return "nothing is there", "create it before the call"
	case !s.most.Has(jptool.Create):
		return "nothing is there that it could be enforced on", file + "; " + dir
	case slices.Contains(h.options.Named, s.Abs):
		return "nothing is there, and to create a file is a right on its directory, on which this rule is not",
			file + fmt.Sprintf(", or grant create on %q", h.name(path.Dir(s.Abs)))
	}
	return "nothing is there that it could be enforced on, and no argument of the call names anything below it",
		file + "; " + dir + ", or name something below it in an argument of the call"
}

// creatable reports whether the tool may make the first of the missing components of a path.
func (h *fitting) creatable(p string) bool {
	n := h.nearest(p)
	return n.Kind == Dir && h.does(n.Path).Has(jptool.Create)
}

// nearest is what exists nearest above a missing place.
func (h *fitting) nearest(p string) Node {
	for _, x := range h.onWay(p) {
		if n := h.facts.node(path.Dir(x)); n.Kind != Missing {
			return n
		}
	}
	return Node{}
}

// pinAll pins the entries that must not be moved: those of zones, of the links that rules lead through, and of
// the directories on the way to them, if their directory grants delete. skip excludes zones.
func (h *fitting) pinAll(skip func(*zone) bool) {
	h.eachMovable(skip, func(x string, _ jptool.Caps) {
		h.kept[x] = true
		if h.covers[x] == nil {
			h.pins[x] = true
		}
	})
	for _, p := range h.d.Pins {
		if h.facts.node(p).Kind == Missing && h.creatable(p) {
			h.after = append(h.after, Check{Path: p, Want: StillMissing})
			h.lacking(nil, fmt.Sprintf("that nothing is created at %q, which is pinned", h.name(p)),
				watchedFor, "", true)
		}
	}
}

// eachMovable visits the entries that could be moved away and must not be, with the rights on their
// directories that would do it.
func (h *fitting) eachMovable(skip func(*zone) bool, visit func(string, jptool.Caps)) {
	for _, s := range h.zones {
		if s.from == nil && (!s.bare || h.grants[s.Abs] != 0) && !skip(s) {
			h.eachOnWay(s.Abs, !s.dir() && h.grants[s.Abs] != 0, visit)
		}
	}
	for _, m := range h.d.Mounts {
		h.eachOnWay(m.Link, false, visit)
	}
	for _, p := range h.d.Pins {
		h.eachOnWay(p, false, visit)
	}
}

// eachOnWay visits an entry and the directories on the way to it. A file that is granted more
// than its directory must not get a second name either.
func (h *fitting) eachOnWay(p string, file bool, visit func(string, jptool.Caps)) {
	for _, x := range h.onWay(p) {
		if h.facts.node(x).Kind == Missing {
			continue
		}
		move := jptool.Delete
		if file && x == p {
			move |= jptool.Create
		}
		if move &= h.does(path.Dir(x)); move != 0 {
			visit(x, move)
		}
	}
}

// onWay are an entry and the directories on the way to it in its tree, inner first; none outside of all trees.
func (h *fitting) onWay(p string) (list []string) {
	for top := topOf(h.tops, p); top != "" && p != top; p = path.Dir(p) {
		list = append(list, p)
	}
	return list
}

// entries pins what its own rule grants create or delete on and its directory does not: nobody can enforce those
// rights on one entry.
func (h *fitting) entries() {
	for _, s := range h.zones {
		if s.bare || s.missing() || s.top == "" || h.isRoot(s.Abs) {
			continue
		}
		if more := s.e & entryCaps &^ h.allows(path.Dir(s.Abs)); more != 0 {
			h.kept[s.Abs] = true
			if !s.dir() {
				s.keepInPlace(more)
			}
		}
	}
}
