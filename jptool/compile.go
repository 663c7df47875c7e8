package jptool

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool/wspath"
)

// Compiler finds the places of the fs rules of one workspace (RFD 076 "Rule path canonicalization", RFD D43
// "Rule-path canonicalisation"). It is the only code that does: a tool compiles with it what is on the wire, a
// host what people declared.
//
// Compiling only ever takes away. An external rule whose link does not lead to an approved target denies, and so
// does a rule on a path that leads nowhere; no rule is dropped to a wider one.
type Compiler struct {
	// Site is the workspace; compiling finds its mounts. Written is the root as the host wrote it: an absolute rule
	// path below either form of the root is taken as relative.
	Site    Site
	Written string
	// Approve reports whether the link of an external rule may lead to p.Target, and why not. An error ends the
	// compilation. If Approve is nil, the rule's own ApprovedTarget decides.
	Approve func(p *Placed) (ok bool, why string, err error)
	// Follow decides about a rule that a symlink of the workspace leads to p.Place, and that would grant more there
	// than have, which the other rules grant. If it returns false, the rule is narrowed to have. An error ends the
	// compilation. If Follow is nil, no rule is narrowed: the author of the rules vouches for the links. What a rule
	// takes away, it takes away at the link's target in any case.
	Follow func(p *Placed, have Caps) (ok bool, err error)
	// Deny and Secrets are patterns of what is withheld, as in [AccessPolicy].
	Deny, Secrets []string
}

// Problem is a rule that cannot be used.
type Problem struct {
	Placed *Placed
	// Message continues "the rule on PATH"; Help says what to write instead.
	Message, Help string
}

// Error names the rule, what is wrong with it and what to do.
func (p *Problem) Error() string {
	return fmt.Sprintf("%s: it %s; %s", p.Placed.where(), p.Message, p.Help)
}

// Problems are all rules of a list that cannot be used. Then none may be.
type Problems []*Problem

// Error returns the first problem.
func (p Problems) Error() string { return p[0].Error() }

// where names a rule for messages.
func (p *Placed) where() string {
	if p.Rule.Origin != "" {
		return fmt.Sprintf("%s: rule on %q", p.Rule.Origin, p.Rule.Path)
	}
	return fmt.Sprintf("access.fs[%d] (path %q)", p.Index, p.Rule.Path)
}

// compilation is one run of a Compiler.
type compilation struct {
	*Compiler
	*Rules
	problems Problems
	lost     []*Placed // external rules that grant nothing now
	ahead    []Placed
	hops     []wspath.Hop
}

// FS places a list of rules; an empty list restricts nothing. The error is [Problems], or that of Approve or
// Follow.
func (c *Compiler) FS(list []FsRule) (*Rules, error) {
	r := NewRules(c.Site)
	r.Restricted = len(list) > 0
	k := &compilation{Compiler: c, Rules: r}
	var external, ordinary []*Placed
	r.Placed = make([]Placed, len(list))
	for i := range list {
		p := &r.Placed[i]
		*p = Placed{Rule: list[i], Index: i, Caps: list[i].Caps()}
		switch {
		case !k.parse(p):
		case list[i].External:
			external = append(external, p)
		default:
			ordinary = append(ordinary, p)
		}
	}
	// External rules first, outer before inner: they say which places outside exist.
	slices.SortStableFunc(external, func(a, b *Placed) int { return cmp.Compare(depth(a.rel.Slash()), depth(b.rel.Slash())) })
	for _, p := range external {
		if err := k.external(p); err != nil {
			return nil, err
		}
	}
	for _, p := range ordinary {
		k.ordinary(p)
	}
	k.pinHops(k.hops) // now that all mounts are known
	k.problems = append(k.problems, r.overlaps()...)
	if len(k.problems) > 0 {
		return nil, k.problems
	}
	if err := r.Withhold(k.Deny, k.Secrets); err != nil {
		return nil, err
	}
	if err := k.enterRules(); err != nil {
		return nil, err
	}
	// Last, so that they decide over rules that are written at the same place.
	for _, p := range k.ahead {
		r.Add(p)
	}
	k.nameWritten()
	for i, m := range r.Mounts {
		n := r.node(m.Link)
		n.pinned, n.mount = true, int32(i)
		if _, below := wspath.WithinAbs(m.Target, r.Root); below {
			r.outside.insert(r.Root).pinned = true // the workspace lies in the mount
		}
	}
	for i := range r.Placed {
		p := &r.Placed[i]
		if w, denied := r.denied(p); denied {
			p.Caps, p.Denied = 0, &w
		}
		p.Gone = p.Lost != "" && p.leads != nil && p.leads.Outside && r.Known(*p.leads) && (p.below || !p.leads.Same(p.Place))
	}
	return r, nil
}

func depth(path string) int { return strings.Count(path, "/") }

func (k *compilation) problem(p *Placed, message, help string) {
	k.problems = append(k.problems, &Problem{p, message, help})
}

// parse reads the path and the approved target as they are written.
func (k *compilation) parse(p *Placed) bool {
	var err error
	p.rel, err = RulePath(p.Rule.Path, k.Root, k.Compiler.Written)
	switch {
	case errors.Is(err, wspath.ErrAbsolute):
		k.problem(p, "is absolute and not below the workspace", "write it relative to the workspace; for what lies outside, a rule with external = true on a link")
	case errors.Is(err, wspath.ErrEscape):
		k.problem(p, "leaves the workspace", "write a path below it; for what lies outside, a rule with external = true on a link")
	case err != nil:
		k.problem(p, "is "+err.Error(), "write a path that a file can have")
	}
	t := p.Rule.ApprovedTarget
	if err != nil || !p.Rule.External || t == nil {
		return err == nil
	}
	switch {
	case !filepath.IsAbs(*t) || filepath.Clean(*t) != *t:
		k.problem(p, "has an approved_target that is not a canonical absolute path", "write the path that the link resolves to")
	case !k.PlaceOf(filepath.ToSlash(*t)).Outside:
		k.problem(p, "has an approved_target inside the workspace", "approve only what lies outside")
	default:
		return true
	}
	return false
}

// resolve finds what the path of a rule leads to, and pins the symlinks on the way: the rule applies to what they
// lead to only while they stay.
func (k *compilation) resolve(p *Placed) (Resolved, error) {
	to, err := k.Resolve(p.rel, false)
	k.hops = append(k.hops, to.Hops...)
	p.hops = to.Hops
	if err == nil {
		p.leads, p.Missing = &to.Place, to.Missing()
	}
	return to, err
}

// external keys an external rule at its approved target, if its link leads there; otherwise nothing below its
// path is granted.
func (k *compilation) external(p *Placed) error {
	to, err := k.resolve(p)
	if err == nil && !to.Missing() && !to.Place.Outside {
		k.problem(p, "is external but lies in the workspace", "declare a rule on the link itself that leads outside, or remove external = true")
		return nil
	}
	var own Place
	own, p.Name = k.entry(p.rel)
	if p.Place = own; p.Caps == 0 {
		p.Hops = to.Hops
	}
	switch {
	case p.Caps == 0 && err != nil:
		k.heading(p, to)
	case p.Caps == 0 && to.Place.Outside:
		p.Place = to.Place // a rule that takes away needs no approval
	case p.Caps == 0:
	case err != nil || to.Missing():
		p.broken = p.Caps
		k.lose(p, "its link is missing or leads nowhere", "make the link, or remove the rule")
		if err != nil {
			k.heading(p, to)
		}
	default:
		p.Target = to.Place.Path
		ok, why, err := k.approve(p)
		if err != nil {
			return err
		}
		if !ok {
			k.lose(p, cmp.Or(why, "its target is not approved"), "")
			break
		}
		p.Place = to.Place
		k.mount(p, own)
	}
	return nil
}

func (k *compilation) approve(p *Placed) (ok bool, why string, err error) {
	switch t := p.Rule.ApprovedTarget; {
	case k.Approve != nil:
		return k.Approve(p)
	case t == nil:
		return false, "its target is not approved", nil
	case filepath.ToSlash(*t) != p.Target:
		return false, "its link no longer leads to its approved target", nil
	}
	return true, "", nil
}

// mount notes where an approved link leads; of several rules on one link the last counts.
func (k *compilation) mount(p *Placed, link Place) {
	for i := range k.Mounts {
		if m := &k.Mounts[i]; m.Path == p.Name {
			m.Rule = max(m.Rule, p.Index)
			return
		}
	}
	k.Mounts = append(k.Mounts, Mount{Path: p.Name, Link: link, Target: p.Target, Rule: p.Index})
}

// lose makes a rule deny: without it, its path could be left to a wider rule.
func (k *compilation) lose(p *Placed, why, help string) {
	p.Caps, p.Lost, p.Help = 0, why, help
	if p.Rule.External {
		k.lost = append(k.lost, p)
	}
}

// ordinary keys a rule without external: at what it resolves to inside the workspace or below an approved
// target. What resolves elsewhere, or nowhere, can still be denied, at its own path.
func (k *compilation) ordinary(p *Placed) {
	to, err := k.resolve(p)
	if err == nil && !k.Known(to.Place) {
		err = errOutside
	}
	if l := k.lostAbove(p, to, err); l != nil {
		// It was meant for what that one was approved for.
		p.Place, p.Name, p.below = l.Place, k.Entry(p.rel), true
		k.lose(p, fmt.Sprintf("it lies below %q, which grants nothing", l.rel.String()), "")
		return
	}
	p.Hops = k.beside(to.Hops)
	dangling, notDir := errors.Is(err, wspath.ErrDangling), errors.Is(err, syscall.ENOTDIR)
	switch {
	case err == nil:
		p.Place, p.Name, p.Linked = to.Place, k.Name(to.Place), len(p.Hops) > 0
	case p.Caps == 0:
		k.deny(p, to)
	case dangling && !to.onLink():
		// A tool's own calls can bring this about and the next case: it must not make every later call fail.
		p.broken = p.Caps
		k.lose(p, "a link on the way leads to nothing", "make what it leads to, or remove the rule")
		k.deny(p, to)
	case notDir && !to.onLink():
		p.broken = p.Caps
		k.lose(p, "something on the way is no directory", "repair the path, or remove the rule")
		k.deny(p, to)
	case errors.Is(err, errOutside):
		k.problem(p, "leads outside the workspace", "if that is meant, add external = true to a rule on the link itself")
	case dangling:
		k.problem(p, "is on a link that leads nowhere", "repair the link, or remove the rule")
	default:
		k.problem(p, "cannot be resolved ("+err.Error()+")", "remove the rule, or repair the path")
	}
}

// deny keys a rule that grants nothing on a path that cannot be resolved: at its own entry, and where the
// resolution was heading.
func (k *compilation) deny(p *Placed, to Resolved) {
	p.Place, p.Name = k.entry(p.rel)
	k.heading(p, to)
}

// heading keys a rule that denies a second time, where the resolution of its path was heading. With one key
// only, removing the directory that a link leads to, and making it again, would lift the rule in between.
func (k *compilation) heading(p *Placed, to Resolved) {
	if !k.Known(to.Place) || to.Place.Same(p.Place) {
		return
	}
	second := *p
	second.Place, second.Name, second.Ahead, second.leads = to.Place, k.Name(to.Place), true, nil
	k.ahead = append(k.ahead, second)
}

// beside returns the links that are not those of mounts, whose targets were approved.
func (k *compilation) beside(hops []wspath.Hop) []wspath.Hop {
	return slices.DeleteFunc(slices.Clone(hops), func(h wspath.Hop) bool {
		link := k.PlaceOf(h.Entry)
		return slices.ContainsFunc(k.Mounts, func(m Mount) bool { return m.Link.Same(link) })
	})
}

// lostAbove returns the lost external rule that a granting rule lies below, or nil. It lies below by its name,
// wherever the link leads now, or because it resolves into the target of the lost rule and no mount contains that.
func (k *compilation) lostAbove(p *Placed, to Resolved, err error) *Placed {
	if p.Caps == 0 {
		return nil
	}
	elsewhere := err != nil || !k.Known(to.Place)
	path := Fold(p.rel.Slash())
	for _, l := range k.lost {
		_, written := wspath.Within(Fold(l.rel.Slash()), path)
		_, named := wspath.Within(Fold(l.Name), path)
		if written || named || elsewhere && l.Target != "" && (Place{true, l.Target}).Contains(to.Place) {
			return l
		}
	}
	return nil
}

// overlaps finds mounts that reach the same files with different rights: what is granted would depend on the
// name. A rule below a mount is not a second mount.
func (r *Rules) overlaps() (list Problems) {
	for _, outer := range r.Mounts {
		for _, inner := range r.Mounts {
			below, ok := wspath.WithinAbs(outer.Target, inner.Target)
			a, b := &r.Placed[outer.Rule], &r.Placed[inner.Rule]
			switch {
			case !ok || below == "" && outer.Rule >= inner.Rule: // not nested, or reported already
				continue
			case a.Caps == b.Caps || a.Caps == 0 || b.Caps == 0: // what grants nothing is no mount
				continue
			case wspath.JoinSlash(outer.Path, below) == inner.Path:
				continue
			}
			where := ""
			if a.Rule.Origin != "" {
				where = " (" + a.Rule.Origin + ")"
			}
			list = append(list, &Problem{
				b, fmt.Sprintf("reaches the same files as the one on %q%s with other rights", a.rel.String(), where),
				"give both the same rights, or remove one",
			})
		}
	}
	return list
}

// Check returns the error that a tool would return for rules whose Caps were narrowed after they were placed.
func (r *Rules) Check() error {
	if list := r.overlaps(); len(list) > 0 {
		return list
	}
	return nil
}

// enterRules enters all rules into the trie. A rule that a symlink leads to its place is narrowed to what the other
// rules grant there, unless Follow allows more.
//
// A repository, or a tool in an earlier call, can make any path of the workspace a link. Without this, a rule on
// `build` would become a rule on whatever `build` leads to, such as `.git/hooks`.
func (k *compilation) enterRules() error {
	var linked []int
	for i := range k.Placed {
		if p := &k.Placed[i]; p.Linked && k.Follow != nil {
			linked = append(linked, i)
		} else {
			k.key(i)
		}
	}
	// The outer rules first: what such a rule takes away limits a rule that is deeper.
	slices.SortStableFunc(linked, func(a, b int) int { return cmp.Compare(depth(k.Placed[a].Place.Path), depth(k.Placed[b].Place.Path)) })
	for _, i := range linked {
		p := &k.Placed[i]
		have := Caps(0)
		if c := k.At(p.Place); c.placed() != nil && !c.held.any() {
			have = c.placed().Caps
		}
		if p.Caps&^have != 0 {
			ok, err := k.Follow(p, have)
			if err != nil {
				return err
			}
			if !ok {
				p.Caps &= have
			}
		}
		k.key(i)
	}
	return nil
}

// nameWritten lets a rule that a link leads to its place name the path as it is written, too: it is judged as well. No
// rule names anything through a link that nobody vouched for, since that is narrowed to what is granted there anyway.
func (k *compilation) nameWritten() {
	if k.globs == nil {
		return
	}
	for i := range k.Placed {
		p := &k.Placed[i]
		if at := k.Lexical(p.rel.Slash()); p.Lost == "" && !at.Same(p.Place) {
			k.Lift(at)
		}
	}
}
