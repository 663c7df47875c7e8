package jptool

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"

	"github.com/jptools/jptools/jptool/wspath"
)

// Policy is an AccessPolicy compiled for one workspace: every rule path canonical,
// ready to be asked. It is immutable and safe for concurrent use.
//
// Rules on paths inside the workspace and rules on approved targets outside of it are
// kept in two tries, both keyed by what a path resolves to: a link, also one below a
// mount, cannot dodge a rule. The capabilities of a path are those of the rule
// with the most components on it; of equal rules the last one counts.
type Policy struct {
	declared bool
	rules    []fsRule
	inside   *node
	outside  *node
	mounts   []mount
	staged   []stagedAt
	warnings []string

	// Net, Env and Commands are the other resource types of the policy.
	Net      *NetPolicy
	Env      *EnvPolicy
	Commands *CommandPolicy
}

// fsRule is a compiled rule.
type fsRule struct {
	path   string // workspace-relative as written, normalised
	caps   Caps
	origin string
	index  int // in the AccessPolicy
	// broken is what the rule would grant if the link that it is on or below led anywhere.
	broken Caps
}

// mount is an external rule whose link leads to its approved target.
type mount struct {
	path   string // workspace-relative path of the link
	target string // canonical absolute path
	rule   int
}

type stagedAt struct {
	at place
	fd int
}

// place is a canonical path: a slash path below the workspace root, or an absolute
// one outside of it.
type place struct {
	outside bool
	path    string
}

// compiler holds what compilePolicy needs on the way.
type compiler struct {
	root  string // canonical
	given string // root as the host wrote it
	dir   *wspath.Dir
	p     *Policy
	// places[i] is where rule i is keyed.
	places []place
	// ahead are second places of rules that grant nothing and are on a path that cannot be resolved:
	// where the resolution was heading.
	ahead []keyed
	// broken[i] becomes fsRule.broken.
	broken map[int]Caps
	// lost are external rules that were left with nothing.
	lost []lost
}

// keyed is a place of a rule.
type keyed struct {
	rule int
	at   place
}

// lost is an external rule whose link does not lead where it was approved: its path as
// written, and its own entry.
type lost struct {
	path string
	at   place
}

// compilePolicy compiles access for the workspace at the canonical path root, held as
// dir. givenRoot is the root as the host wrote it: absolute rule paths below either are
// taken as relative. A nil access gives the policy that is unrestricted inside the
// workspace.
//
// It implements RFD 076 "Rule path canonicalization" and RFD D43 "Rule-path
// canonicalisation", except that no rule is ever dropped to something wider: an external
// rule without an approved target that is still the link's target denies instead, as
// does a deny on a link that leads nowhere. Errors carry CodeInvalidPolicy and name
// the rule.
func compilePolicy(access *AccessPolicy, dir *wspath.Dir, root, givenRoot string) (*Policy, error) {
	p := &Policy{inside: newNode(), outside: newNode()}
	if access == nil {
		access = &AccessPolicy{}
	}
	p.declared = len(access.FS) > 0
	c := &compiler{root: root, given: filepath.ToSlash(filepath.Clean(givenRoot)), dir: dir, p: p}
	if err := c.rules(slices.Clone(access.FS)); err != nil {
		return nil, err
	}
	if err := c.pins(access.Pinned); err != nil {
		return nil, err
	}
	for i, s := range access.Staged {
		rel, err := c.parse(s.Path)
		if err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
		at, _, err := c.locate(rel, false)
		if err != nil {
			return nil, Errorf(CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
		p.staged = append(p.staged, stagedAt{at, s.FD})
	}
	var err error
	if p.Net, err = CompileNet(access.Net); err != nil {
		return nil, err
	}
	if p.Env, err = CompileEnv(access.Env); err != nil {
		return nil, err
	}
	if p.Commands, err = CompileCommands(access.Commands); err != nil {
		return nil, err
	}
	return p, nil
}

// Warnings lists what was narrowed while compiling, for people.
func (p *Policy) Warnings() []string { return p.warnings }

// Declared reports whether filesystem access is restricted by rules at all.
func (p *Policy) Declared() bool { return p.declared }

// parse takes a rule path; an absolute one must lie below the root.
func (c *compiler) parse(path string) (wspath.Rel, error) {
	if filepath.IsAbs(path) {
		clean := filepath.ToSlash(filepath.Clean(path))
		rest, ok := wspath.WithinAbs(c.root, clean)
		if !ok {
			rest, ok = wspath.WithinAbs(c.given, clean)
		}
		if !ok {
			return wspath.Rel{}, errors.New("it is absolute and not below the workspace; rule paths are relative to it")
		}
		path = rest
	}
	return wspath.Parse(path)
}

// own is the place of the entry that a rule path names, whatever it links to: where a
// rule stays whose target cannot be had.
func (c *compiler) own(rel wspath.Rel) place {
	if at, _, err := c.locate(rel, true); err == nil {
		return at
	}
	return c.p.lexicalPlace(rel.Slash())
}

// locate resolves a path to its place, and pins the symlinks on the way: the rule holds
// for what they lead to only while they stay.
func (c *compiler) locate(rel wspath.Rel, entry bool) (place, bool, error) {
	r, err := c.resolve(rel, entry)
	return r.at, r.kind == KindMissing, err
}

func (c *compiler) resolve(rel wspath.Rel, entry bool) (resolved, error) {
	r, err := resolve(c.dir, c.root, rel, entry)
	for _, hop := range r.hops {
		if at := placeOf(c.root, hop.Entry); !at.outside || c.p.mountOf(at.path) != nil {
			c.p.trie(at).insert(at.path).pinned = true
		}
	}
	return r, err
}

// broken reports whether a path leads over a link to something missing, or over a file as if
// that were a directory. A tool's own calls can bring either about.
func broken(err error) bool {
	return errors.Is(err, wspath.ErrDangling) || errors.Is(err, syscall.ENOTDIR)
}

// denyBroken keys a rule that grants nothing on a path that cannot be resolved: at its own entry, and where
// the resolution was heading. With one key only, removing the directory that a link leads to, and making it
// again, would lift the rule in between.
func (c *compiler) denyBroken(i int, rel wspath.Rel, heading place) {
	c.places[i] = c.own(rel)
	if !heading.outside || c.p.mountOf(heading.path) != nil {
		c.ahead = append(c.ahead, keyed{i, heading})
	}
}

func placeOf(root, abs string) place {
	if rest, ok := wspath.WithinAbs(root, abs); ok {
		return place{path: rest}
	}
	return place{outside: true, path: abs}
}

func (c *compiler) rules(list []FsRule) error {
	rels := make([]wspath.Rel, len(list))
	c.places = make([]place, len(list))
	c.broken = map[int]Caps{}
	order := make([]int, len(list))
	for i := range list {
		rel, err := c.parse(list[i].Path)
		if err != nil {
			return c.fail(i, &list[i], "%w", err)
		}
		rels[i], order[i] = rel, i
	}
	// External rules first, outer before inner: they say which places outside exist.
	slices.SortStableFunc(order, func(a, b int) int {
		if list[a].External != list[b].External {
			if list[a].External {
				return -1
			}
			return 1
		}
		return strings.Count(rels[a].Slash(), "/") - strings.Count(rels[b].Slash(), "/")
	})
	for _, i := range order {
		compile := c.ordinary
		if list[i].External {
			compile = c.external
		}
		if err := compile(i, &list[i], rels[i]); err != nil {
			return err
		}
	}
	// In the order written, so that of equal rules the last one stays.
	for i := range list {
		c.p.rules = append(c.p.rules, fsRule{path: rels[i].Slash(), caps: list[i].Caps(), origin: list[i].Origin, index: i, broken: c.broken[i]})
		c.p.trie(c.places[i]).insert(c.places[i].path).rule = int32(i)
	}
	for _, k := range c.ahead {
		c.p.trie(k.at).insert(k.at.path).rule = int32(k.rule)
	}
	return c.mounts(list)
}

func (c *compiler) fail(i int, r *FsRule, format string, args ...any) error {
	where := fmt.Sprintf("access.fs[%d] (path %q)", i, r.Path)
	if r.Origin != "" {
		where = fmt.Sprintf("%s: rule on %q", r.Origin, r.Path)
	}
	return Errorf(CodeInvalidPolicy, where+": "+format, args...)
}

func (c *compiler) warn(i int, r *FsRule, format string, args ...any) {
	where := fmt.Sprintf("access.fs[%d] (path %q): ", i, r.Path)
	c.p.warnings = append(c.p.warnings, where+fmt.Sprintf(format, args...))
}

// ordinary keys a rule without external: at what it resolves to inside the workspace or below an
// approved target. What resolves elsewhere, or nowhere, can still be denied, at its own path.
// A grant below a lost rule was meant for what that was approved for, and is lost too. So is a grant below a link
// that leads nowhere any more; on such a link it is an error.
func (c *compiler) ordinary(i int, r *FsRule, rel wspath.Rel) error {
	to, err := c.resolve(rel, false)
	at := to.at
	if err == nil && at.outside && c.p.mountOf(at.path) == nil {
		err = errOutside
	}
	l := c.lostAbove(rel)
	switch {
	case r.Caps() != 0 && l != nil:
		r.deny()
		c.warn(i, r, "it lies below %q, which grants nothing", l.path)
		c.places[i] = l.at
	case err == nil:
		c.places[i] = at
	case r.Caps() == 0:
		c.denyBroken(i, rel, at)
	case broken(err) && !to.onLink():
		c.broken[i] = r.Caps()
		r.deny()
		if errors.Is(err, wspath.ErrDangling) {
			c.warn(i, r, "a link on the way leads to nothing; nothing on it is granted")
		} else {
			c.warn(i, r, "something on the way is no directory; nothing on it is granted")
		}
		c.denyBroken(i, rel, at)
	case err == errOutside:
		return c.fail(i, r, "it resolves outside the workspace; if that is meant, make it a rule with external = true on the link itself")
	default:
		return c.fail(i, r, "it cannot be resolved (%w); remove the rule or repair the link", err)
	}
	return nil
}

// lostAbove is the lost rule that a path lies on or below, as it is written.
func (c *compiler) lostAbove(rel wspath.Rel) *lost {
	for i := range c.lost {
		l := &c.lost[i]
		_, written := wspath.Within(foldKey(l.path), foldKey(rel.Slash()))
		_, own := wspath.Within(foldKey(l.at.path), foldKey(rel.Slash()))
		if written || own && !l.at.outside {
			return l
		}
	}
	return nil
}

// external keys an external rule at its approved target, if its link still leads there;
// otherwise nothing below its path is granted.
func (c *compiler) external(i int, r *FsRule, rel wspath.Rel) error {
	if r.ApprovedTarget != nil {
		t := *r.ApprovedTarget
		if !filepath.IsAbs(t) || filepath.Clean(t) != t {
			return c.fail(i, r, "its approved_target is not a canonical absolute path")
		}
		if !placeOf(c.root, filepath.ToSlash(t)).outside {
			return c.fail(i, r, "approved_target is inside the workspace")
		}
	}
	at, missing, err := c.locate(rel, false)
	if err == nil && !missing && !at.outside {
		return c.fail(i, r, "it is external but resolves inside the workspace; declare a rule on the link that leads outside")
	}
	c.places[i] = c.own(rel)
	lose := func(why string) {
		r.deny()
		c.warn(i, r, "%s; nothing below it is granted", why)
		c.lost = append(c.lost, lost{rel.Slash(), c.places[i]})
	}
	switch {
	case err == nil && at.outside && r.Caps() == 0:
		c.places[i] = at
	case r.Caps() == 0:
		if err != nil {
			c.denyBroken(i, rel, at)
		}
	case err != nil || missing || !at.outside:
		c.broken[i] = r.Caps()
		lose("the link is missing or broken")
	case r.ApprovedTarget == nil:
		lose("its target is not approved")
	case at.path != filepath.ToSlash(*r.ApprovedTarget):
		lose("the link no longer leads to its approved target")
	default:
		c.places[i] = at
		c.p.mounts = append(c.p.mounts, mount{path: rel.Slash(), target: at.path, rule: i})
	}
	return nil
}

// deny takes every capability from the rule.
func (r *FsRule) deny() {
	r.Read, r.Write, r.Create, r.Update, r.Delete, r.Execute = nil, nil, nil, nil, nil, nil
}

// mounts checks approved targets against each other and marks the links.
func (c *compiler) mounts(list []FsRule) error {
	// Of several rules on one link the last one counts, also for what may overlap.
	last := map[string]int{}
	for _, m := range c.p.mounts {
		last[m.path] = max(last[m.path], m.rule)
	}
	c.p.mounts = slices.DeleteFunc(c.p.mounts, func(m mount) bool { return m.rule != last[m.path] })
	for i, a := range c.p.mounts {
		for _, b := range c.p.mounts[i+1:] {
			if err := c.overlap(list, a, b); err != nil {
				return err
			}
			if err := c.overlap(list, b, a); err != nil {
				return err
			}
		}
	}
	for i, m := range c.p.mounts {
		rel, err := wspath.Parse(m.path)
		if err != nil {
			return err
		}
		at := c.own(rel)
		n := c.p.trie(at).insert(at.path)
		n.pinned = true
		n.mount = int32(i)
		if _, below := wspath.WithinAbs(m.target, c.root); below {
			// The workspace lies in the mount: it stays where it is.
			c.p.outside.insert(c.root).pinned = true
		}
	}
	return nil
}

// overlap refuses two mounts that reach the same files with different rights: which
// rights hold would depend on the name. A rule below a mount is not a second mount.
func (c *compiler) overlap(list []FsRule, outer, inner mount) error {
	below, ok := wspath.WithinAbs(outer.target, inner.target)
	if !ok || list[outer.rule].Caps() == list[inner.rule].Caps() {
		return nil
	}
	if wspath.JoinSlash(outer.path, below) == inner.path {
		return nil
	}
	return c.fail(inner.rule, &list[inner.rule], "its target overlaps with that of %q, which grants something else; give both the same rights or remove one", outer.path)
}

// mountOf returns the mount with the deepest target that holds the absolute path.
func (p *Policy) mountOf(abs string) *mount {
	var best *mount
	for i := range p.mounts {
		m := &p.mounts[i]
		if _, ok := wspath.WithinAbs(m.target, abs); ok && (best == nil || len(m.target) > len(best.target)) {
			best = m
		}
	}
	return best
}

func (c *compiler) pins(list []string) error {
	for i, path := range list {
		rel, err := c.parse(path)
		if err != nil {
			return Errorf(CodeInvalidPolicy, "access.pinned[%d]: path %q: %w", i, path, err)
		}
		at := c.own(rel)
		c.p.trie(at).insert(at.path).pinned = true
	}
	return nil
}

func (p *Policy) trie(at place) *node {
	if at.outside {
		return p.outside
	}
	return p.inside
}

// display names a place as the model may see it; never by an absolute path outside.
func (p *Policy) display(at place) string {
	if !at.outside {
		if at.path == "" {
			return "."
		}
		return at.path
	}
	if m := p.mountOf(at.path); m != nil {
		rest, _ := wspath.WithinAbs(m.target, at.path)
		return wspath.JoinSlash(m.path, rest)
	}
	return "(outside the workspace)"
}

// grant describes an effective rule for messages and for `data`.
type grant struct {
	Path string   `json:"path"`
	Caps []string `json:"capabilities"`
	caps Caps
}

// grants lists the effective rules that grant something, sorted by path.
func (p *Policy) grants() []grant {
	var list []grant
	for _, root := range []*node{p.inside, p.outside} {
		root.each(func(n *node) {
			if n.rule >= 0 && p.rules[n.rule].caps != 0 {
				r := &p.rules[n.rule]
				path := r.path
				if path == "" {
					path = "."
				}
				list = append(list, grant{path, r.caps.Names(), r.caps})
			}
		})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Path < list[j].Path })
	return list
}
