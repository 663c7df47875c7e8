package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// maxScanned bounds how many entries are looked at for what patterns withhold, maxWithheld how many of them may be found:
// each may need a mount. They are variables for tests.
var maxScanned, maxWithheld = 1_000_000, 2000

// Withheld is one place that a pattern of the policy withholds, found before the start.
type Withheld struct {
	// Path is as rules write it; absolute where no rule can name it.
	Path string `json:"path"`
	// By is the list that the pattern is in: deny or secrets.
	By string `json:"by"`
	// Pattern is as the policy has it.
	Pattern string `json:"pattern"`

	abs    string
	kind   Kind
	secret bool
	// unlisted: it is a directory that cannot be looked through, and no pattern covers it.
	unlisted bool
}

// Abs is the canonical absolute path.
func (w *Withheld) Abs() string { return w.abs }

// Kind says what was there.
func (w *Withheld) Kind() Kind { return w.kind }

// Scanned says how much was looked at for what patterns withhold.
type Scanned struct {
	Entries     int `json:"entries"`
	Directories int `json:"directories"`
}

// scan looks through all that is granted for what the patterns of the policy withhold: what exists, since nothing can be
// put over what does not. What is in a withheld directory is not looked at. The scan is of one moment.
type scan struct {
	d     *Policy
	o     *Options
	tops  []string
	found []Withheld
	Scanned
}

// withholds reports whether the policy has patterns to look for.
func (p *Policy) withholds() bool { return p.Evaluator != nil && p.Evaluator.Withholds() }

// denied reports whether a pattern of `deny` covers a path.
func (p *Policy) denied(abs string) bool {
	if !p.withholds() {
		return false
	}
	w := p.Evaluator.At(p.Site.PlaceOf(abs)).Withheld()
	return w.Pattern != "" && !w.Secret
}

// withhold returns d with the places that its patterns cover, as if each had a rule that grants nothing, and sets in o
// what of the options is withheld. The error says what could not be looked through: then nothing may be started.
func withhold(ctx context.Context, d *Policy, o *Options) (*Policy, *scan, error) {
	s := &scan{d: d, o: o}
	switch {
	case d.Access == nil:
		return d, s, nil
	case d.Evaluator == nil && len(d.Access.Deny)+len(d.Access.Secrets) > 0:
		return d, s, errors.New("the policy has patterns, and no evaluator that finds what they cover")
	case !d.withholds():
		return d, s, nil
	}
	s.dropDenied()
	s.tops = slices.Compact(slices.Sorted(slices.Values(append(roots(d, *o), s.given()...))))
	s.tops = slices.DeleteFunc(s.tops, func(p string) bool {
		return slices.ContainsFunc(s.tops, func(q string) bool { return q != p && Holds(q, p) })
	})
	if err := s.walk(ctx); err != nil {
		return d, s, err
	}
	slices.SortFunc(s.found, func(a, b Withheld) int { return cmp.Compare(a.abs, b.abs) })
	e, access := *d, *d.Access
	e.Places, e.Pins, e.Ways = slices.Clone(d.Places), slices.Clone(d.Pins), slices.Clone(d.Ways)
	access.Deny, access.Secrets = slices.Clone(access.Deny), slices.Clone(access.Secrets)
	e.Access = &access
	for i := 0; i < len(s.found); i++ {
		if err := s.follow(&e, s.found[i]); err != nil {
			return d, s, err
		}
	}
	for i := range s.found {
		w := &s.found[i]
		s.empty(&e, w)
		if w.unlisted {
			s.tell(&e, w.abs, false)
		}
		if w.kind == Link {
			e.Pins = append(e.Pins, w.abs)
		} else {
			s.place(&e, w.abs)
		}
	}
	for _, p := range d.Evaluator.Denied() { // also what is missing: that is watched for
		abs := d.Site.Abs(p)
		// Behind a link nothing can be put over a path, and nothing has to be if a pattern covers where it leads.
		if to, err := wspath.CanonicalizeAbs(wspath.ParentOf(abs), nil); err == nil && to.Abs != wspath.ParentOf(abs) && d.denied(path.Join(to.Abs, path.Base(abs))) {
			continue
		}
		s.place(&e, abs)
	}
	slices.SortFunc(e.Places, func(a, b Place) int { return cmp.Compare(a.Abs, b.Abs) })
	o.holding = slices.DeleteFunc(s.given(), func(p string) bool {
		return !slices.ContainsFunc(s.found, func(w Withheld) bool { return Holds(p, w.abs) })
	})
	return &e, s, nil
}

// given are the places that people grant besides the rules and that every program has not got anyway.
func (s *scan) given() []string {
	var list []string
	for _, p := range s.o.Given {
		common := slices.ContainsFunc(s.o.Runtime, func(g Grant) bool {
			return g.Path != p && Holds(g.Path, p) && g.Caps.Has(jptool.Read) && !slices.Contains(s.o.Given, g.Path)
		})
		if !common && slices.ContainsFunc(s.o.Runtime, func(g Grant) bool { return g.Path == p }) {
			list = append(list, p)
		}
	}
	return list
}

// dropDenied takes away what is granted besides the rules on a place that a pattern of `deny` covers.
func (s *scan) dropDenied() {
	s.o.Runtime = slices.DeleteFunc(slices.Clone(s.o.Runtime), func(g Grant) bool {
		w := s.at(g.Path).Withheld()
		if !slices.Contains(s.o.Given, g.Path) || w.Pattern == "" || w.Secret {
			return false
		}
		s.found = append(s.found, s.withheld(g.Path, g.Kind, w))
		return true
	})
}

func (s *scan) at(abs string) jptool.Cursor { return s.d.Evaluator.At(s.d.Site.PlaceOf(abs)) }

// withheld is a place that a pattern withholds.
func (s *scan) withheld(abs string, kind Kind, w jptool.Withheld) Withheld {
	return Withheld{Path: s.name(abs), By: w.List(), Pattern: w.Pattern, abs: abs, kind: kind, secret: w.Secret}
}

// follow withholds what a withheld symlink leads to, in the effective policy too: what takes away follows every link.
// One that leads to a directory above itself withholds nothing there, since everything has a path of its own as well.
func (s *scan) follow(e *Policy, w Withheld) error {
	if w.kind != Link {
		return nil
	}
	to, err := wspath.CanonicalizeAbs(w.abs, nil)
	if err != nil || to.Missing || topOf(s.tops, to.Abs) == "" || Holds(to.Abs, w.abs) {
		return nil
	}
	if w.secret && s.d.Evaluator.Named(s.d.Site.PlaceOf(to.Abs)) {
		return nil
	}
	// A rule may name what is in a place of secrets. Then that does not withhold it from everybody.
	if slices.ContainsFunc(s.found, func(o Withheld) bool { return Holds(o.abs, to.Abs) && (w.secret || !o.secret) }) {
		return nil
	}
	n, err := Look(to.Abs)
	if err != nil {
		return fmt.Errorf("%s: %w", to.Abs, err)
	}
	for _, hop := range to.Hops { // what it withholds depends on them
		e.Ways = append(e.Ways, Way{Hop: hop})
	}
	s.found = append(s.found, s.withheld(to.Abs, n.Kind, jptool.Withheld{Pattern: w.Pattern, Secret: w.secret}))
	s.tell(e, to.Abs, w.secret)
	return nil
}

// tell adds a pattern to the effective policy that covers one place only, so that the tool's own check knows of it.
func (s *scan) tell(e *Policy, abs string, secret bool) {
	pattern := "//" + jptool.EscapeGlob(strings.TrimPrefix(abs, "/"))
	if place := s.d.Site.PlaceOf(abs); !place.Outside && place.Path != "" {
		pattern = "/" + jptool.EscapeGlob(place.Path)
	}
	if secret {
		e.Access.Secrets = append(e.Access.Secrets, pattern)
	} else {
		e.Access.Deny = append(e.Access.Deny, pattern)
	}
}

// empty takes away what places in a withheld one grant: rules there that were not known to be denied, because only a link
// leads to them, and what protects the host's own, which is no rule that names anything.
func (s *scan) empty(e *Policy, w *Withheld) {
	for i := range e.Places {
		if p := &e.Places[i]; w.kind != Link && Holds(w.abs, p.Abs) && (!w.secret || p.Index < 0) {
			p.Caps = 0
		}
	}
}

// place marks a place as withheld, and adds it if no rule is there. A rule there grants nothing by now.
func (s *scan) place(e *Policy, abs string) {
	if topOf(s.tops, abs) == "" {
		return
	}
	if i := slices.IndexFunc(e.Places, func(p Place) bool { return p.Abs == abs }); i >= 0 {
		e.Places[i].Withheld = true
		return
	}
	_, known := s.d.Site.WirePath(abs)
	e.Places = append(e.Places, Place{Abs: abs, Outside: s.d.Site.PlaceOf(abs).Outside, Index: -1, Withheld: true, Unnamed: !known})
}

// tooMuch is why nothing may be started where too much would have to be looked at.
func tooMuch(what string) error {
	return &RefusedError{Always: true, Reasons: []NotEnforced{{
		What:   "that what `deny` and the places of secrets cover is withheld",
		Why:    what,
		Remedy: "grant only the directories that the program needs (access.fs; --ro, --rw), or withhold large ones that it does not need: deny = [\"node_modules/\"], --deny node_modules/",
	}}}
}

// name is a path as rules write it, or absolute where none can.
func (s *scan) name(abs string) string {
	name, known := s.d.Site.WirePath(abs)
	if !known {
		name = filepath.FromSlash(abs)
	}
	return cmp.Or(name, ".")
}

// job is a directory to look through, and where it is among the rules. held: it is withheld itself, and something in it
// that somebody named is not.
type job struct {
	path string
	at   jptool.Cursor
	held bool
}

// entry decides about one entry of a directory: whether it is found to be withheld, and whether it is to be looked
// through, if it is a directory.
func (s *scan) entry(dir job, name string, kind Kind) (j job, found *Withheld, through bool) {
	if j.path = path.Join(dir.path, name); j.path == s.d.Site.Root {
		return j, nil, false // in the target of a mount, or the like; it has rules of its own and is looked through by itself
	}
	j.at = dir.at.Child(name)
	w := j.at.Withheld()
	if w.Pattern != "" && w.Secret && slices.Contains(s.o.Given, j.path) { // named by other means than a rule
		j.at, w = j.at.AsNamed(), jptool.Withheld{}
	}
	if w.Pattern == "" {
		return j, nil, true
	}
	j.held = true
	if !dir.held {
		found = new(s.withheld(j.path, kind, w))
	}
	return j, found, w.Secret && (j.at.Leads() || slices.ContainsFunc(s.o.Given, func(p string) bool { return Holds(j.path, p) }))
}
