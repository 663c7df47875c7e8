package jptool

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
)

// Withheld says which pattern keeps everything at a place from being granted. The zero value withholds nothing.
type Withheld struct {
	// Pattern is the pattern as the policy has it.
	Pattern string
	// Index is its position in the list, Secret says which list: that of places of secrets, or `deny`.
	Index  int
	Secret bool
}

// glob is a pattern that withholds.
type glob struct {
	*ignore.Glob
	Withheld
	// abs: it is compared with absolute paths; written with two slashes at its beginning.
	abs bool
	// lifts: what it covers is no place of secrets; written with an exclamation mark at its beginning.
	lifts bool
}

// globs are the patterns of a policy. Nil are none.
type globs struct {
	all []glob
	// names are the indexes of the patterns on names, first the bytes that such names can begin with; paths are those
	// of patterns on paths, without the ones that cover just one path, which are in the tries.
	names, paths []int
	first        [256]bool
	// root is the pattern of `deny` that covers the workspace itself or a directory above it, from 1.
	root int32
}

// withholding is what the patterns say at a place: the indexes of the pattern of `deny` and of that of `secrets` that
// cover it or a directory above it, from 1; 0 for none.
type withholding struct{ deny, secret int32 }

func (h withholding) any() bool { return h != withholding{} }

// CheckGlob returns an error for what is no pattern of `deny` or `secrets`. It ends with what to write instead, if anything
// is known.
func CheckGlob(pattern string) error {
	_, err := newGlob(pattern)
	return err
}

// EscapeGlob returns a pattern, without a slash at its beginning, that covers this path only.
func EscapeGlob(path string) string { return ignore.Escape(path) }

func newGlob(pattern string) (glob, error) {
	text, abs := strings.CutPrefix(pattern, "//")
	if abs {
		text = "/" + text
	} else if pattern == "~" || strings.HasPrefix(pattern, "~/") {
		// Somebody who means the home directory must not get a pattern on a directory called "~".
		return glob{}, errors.New(`"~" is no home directory here; write its path with two slashes at the beginning, or \~ for the character`)
	}
	g, err := ignore.NewGlob(Fold(text))
	return glob{Glob: g, abs: abs}, err
}

// Withhold adds the patterns of a policy to its rules, whose mounts are known, once. The error carries CodeInvalidPolicy
// and names the pattern.
func (r *Rules) Withhold(deny, secrets []string) error {
	if len(deny)+len(secrets) == 0 {
		return nil
	}
	r.globs = &globs{}
	for i, pattern := range slices.Concat(deny, secrets) {
		w := Withheld{Pattern: pattern, Index: i}
		if i >= len(deny) {
			w.Index, w.Secret = i-len(deny), true
		}
		text, lifts := pattern, false
		if w.Secret {
			text, lifts = strings.CutPrefix(pattern, "!")
		}
		g, err := newGlob(text)
		if err != nil {
			return Errorf(CodeInvalidPolicy, "access.%s[%d]: pattern %q: %w", w.List(), w.Index, pattern, err)
		}
		g.Withheld, g.lifts = w, lifts
		r.addGlob(g)
	}
	// What takes away follows the link, also where another mount leads to the same place.
	for _, m := range r.Mounts {
		if h := r.At(m.Link).held; h.deny != 0 {
			r.node(Place{true, m.Target}).deny = h.deny
		}
	}
	return nil
}

// fromRoot is the absolute path of a pattern that covers only that.
func fromRoot(literal string) string {
	if runtime.GOOS == "windows" {
		return literal // it begins with the letter of a drive
	}
	return "/" + literal
}

func (r *Rules) addGlob(g glob) {
	s := r.globs
	s.all = append(s.all, g)
	n := len(s.all) - 1
	if g.abs && !g.Secret && s.root == 0 {
		// Whoever denies a directory by its absolute path denies a workspace in it, too. Other patterns, as those of
		// git, say nothing of what lies above the workspace.
		for dir := Fold(r.Root); ; dir = wspath.ParentOf(dir) {
			if name := strings.TrimPrefix(dir, "/"); name == "" {
				break
			} else if g.MatchPath(name) {
				s.root = int32(n + 1)
				break
			}
		}
	}
	switch literal := g.Literal(); {
	case g.OnName():
		s.names = append(s.names, n)
		for b := range s.first {
			s.first[b] = s.first[b] || g.First() == 0 || g.First() == byte(b)
		}
	case literal == "":
		s.paths = append(s.paths, n)
	case g.abs:
		r.mark(r.PlaceOf(fromRoot(literal)), n)
	default:
		r.mark(Place{Path: literal}, n)
		if p := r.Lexical(literal); p.Outside { // below a mount
			r.mark(p, n)
		}
	}
}

// mark notes a pattern that covers one place only.
func (r *Rules) mark(p Place, index int) {
	n := r.node(p)
	switch g := &r.globs.all[index]; {
	case g.lifts:
		n.named = true
	case g.Secret:
		n.secret = int32(index + 1)
	default:
		n.deny = int32(index + 1)
	}
}

// note adds what the patterns say of one entry to what holds in its directory. at is the path of the entry in its trie,
// and is looked at only if there are patterns on paths.
func (r *Rules) note(h *withholding, n *node, name string, at Place) {
	s := r.globs
	last := -1 // as in git the last pattern decides
	set := func(index int) {
		if s.all[index].Secret {
			last = max(last, index)
		} else if h.deny == 0 {
			h.deny = int32(index + 1)
		}
	}
	if s.first[name[0]] {
		for _, i := range s.names {
			if s.all[i].MatchName(name) {
				set(i)
			}
		}
	}
	for _, i := range s.paths {
		if r.covers(&s.all[i], at) {
			set(i)
		}
	}
	if last >= 0 && !s.all[last].lifts { // else what lies in a covered directory stays covered
		h.secret = int32(last + 1)
	}
	if n == nil {
		return
	}
	if n.deny != 0 && h.deny == 0 {
		h.deny = n.deny
	}
	if n.secret != 0 {
		h.secret = n.secret
	}
}

// covers compares a pattern on paths with exactly one place, by each name that mounts give it: the links of several may
// lead there, and who writes a pattern means the name that he sees.
func (r *Rules) covers(g *glob, at Place) bool {
	path := Fold(at.Path)
	switch {
	case g.abs:
		return g.MatchPath(strings.TrimPrefix(Fold(r.Abs(at)), "/"))
	case !at.Outside && g.MatchPath(path), at.Outside && g.Deep() && path != "/" && g.MatchPath(path[1:]):
		return true
	case len(r.Mounts) == 0:
		return false
	}
	abs := r.Abs(at)
	return slices.ContainsFunc(r.Mounts, func(m Mount) bool {
		rest, in := wspath.WithinAbs(m.Target, abs)
		return in && g.MatchPath(Fold(wspath.JoinSlash(m.Path, rest)))
	})
}

// withheldOf is what withholds, `deny` first: nothing lifts that.
func (r *Rules) withheldOf(h withholding) Withheld {
	if h.deny > 0 {
		return r.globs.all[h.deny-1].Withheld
	}
	if h.secret > 0 {
		return r.globs.all[h.secret-1].Withheld
	}
	return Withheld{}
}

// SecretAt returns the innermost pattern of `secrets` that covers a place or a directory above it, and what it covers,
// even if a rule names that.
func (r *Rules) SecretAt(p Place) (w Withheld, at Place, ok bool) {
	if r.globs == nil {
		return w, at, false
	}
	n, step := r.trie(p), Place{Outside: p.Outside}
	if p.Outside {
		step.Path = "/"
	}
	for name := range strings.SplitSeq(p.Path, "/") {
		if name == "" {
			continue
		}
		if n != nil {
			n = n.children[Fold(name)]
		}
		step = step.Join(name)
		var h withholding
		if r.note(&h, n, Fold(name), step); h.secret != 0 {
			w, at, ok = r.globs.all[h.secret-1].Withheld, step, true
		}
	}
	return w, at, ok
}

// Secret is [Rules.SecretAt] for the target, with the path of the covered place.
func (t *Target) Secret() (w Withheld, path string, ok bool) {
	w, at, ok := t.w.rules.SecretAt(t.place)
	return w, t.w.rules.display(at), ok
}

// Lift takes a place, and what lies in it, out of the places of secrets: somebody named it by other means than a rule.
func (r *Rules) Lift(p Place) { r.node(p).named = true }

// Named reports whether a rule is exactly at a place, or somebody named that by other means.
func (r *Rules) Named(p Place) bool {
	_, n := r.trie(p).find(p.Path)
	return n != nil && (n.rule >= 0 || n.named)
}

// Denied returns the places that a pattern of `deny` covers alone, whether or not something is there.
func (r *Rules) Denied() (list []Place) {
	if r.globs == nil {
		return nil
	}
	for i := range r.globs.all {
		g := &r.globs.all[i]
		switch literal := g.Literal(); {
		case g.Secret || g.OnName() || literal == "":
		case g.abs:
			list = append(list, r.PlaceOf(fromRoot(literal)))
		default:
			list = append(list, r.Lexical(literal))
		}
	}
	return list
}

// Withholds reports whether the rules have patterns at all.
func (r *Rules) Withholds() bool { return r.globs != nil }

// Withheld says which pattern withholds everything at c. Then Caps are none.
func (c Cursor) Withheld() Withheld { return c.r.withheldOf(c.held) }

// Untouched reports that no pattern covers an entry of this name in the directory at c, and no rule is on it or below it.
// False may mean either.
func (c Cursor) Untouched(name []byte) bool {
	s := c.r.globs
	return s == nil || (c.n == nil || len(c.n.children) == 0) && len(s.paths) == 0 && !s.first[Fold(string(name[:1]))[0]]
}

// AsNamed is c as if a rule named the place: then it is no place of secrets.
func (c Cursor) AsNamed() Cursor {
	c.held.secret = 0
	return c
}

// Covered returns what the rules grant at c, whatever the patterns say.
func (c Cursor) Covered() Caps { return c.r.capsOf(c.rule, c.n, withholding{}) }

// Judges reports whether patterns may withhold something below c that no rule names.
func (c Cursor) Judges() bool { return c.r.globs != nil }

// viaWithheld returns the first place on the way to a target that a pattern withholds: the path as it is written, or
// one that a symlink led to. The target itself is judged where it is.
func (w *Workspace) viaWithheld(rel wspath.Rel, r *Resolved) (Place, bool) {
	if w.rules.globs == nil || len(r.Hops) == 0 {
		return Place{}, false
	}
	way := []Place{w.rules.Lexical(rel.Slash())}
	for _, hop := range r.Hops {
		// Below the link of a mount, what counts is the place in the mount.
		if p := w.rules.PlaceOf(hop.Path); w.rules.Known(p) {
			way = append(way, w.rules.Lexical(w.rules.Name(p)))
		}
	}
	for _, p := range way {
		if w.rules.At(p).held.any() {
			return p, true
		}
	}
	return Place{}, false
}

// denied returns the pattern of `deny` that covers the path of a rule in any form, as the path of a target is judged.
func (r *Rules) denied(p *Placed) (Withheld, bool) {
	if r.globs == nil {
		return Withheld{}, false
	}
	way := []Place{r.Lexical(p.rel.Slash()), p.Place}
	for _, hop := range p.hops {
		way = append(way, r.PlaceOf(hop.Path))
	}
	for _, at := range way {
		if c := r.At(at); c.held.deny != 0 {
			return r.withheldOf(c.held), true
		}
	}
	return Withheld{}, false
}

// List names the list that the pattern is in, as the wire does: deny or secrets.
func (w Withheld) List() string {
	if w.Secret {
		return "secrets"
	}
	return "deny"
}

// shown is the pattern for a model, "" for one of an absolute path, which a model is not told.
func (w Withheld) shown() string {
	if strings.HasPrefix(w.Pattern, "//") {
		return ""
	}
	return w.Pattern
}

// String says in a sentence what withholds a place.
func (w Withheld) String() string {
	pattern := ""
	if p := w.shown(); p != "" {
		pattern = fmt.Sprintf(" (%q)", p)
	}
	if w.Secret {
		return "it is a place of secrets" + pattern + ", and no rule names it"
	}
	return "`deny`" + pattern + " withholds it, whatever the rules grant"
}
