package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// fsCompiler finds the place of every fs rule (RFD 076 "Rule path canonicalization", RFD
// D43 "Rule-path canonicalisation").
type fsCompiler struct {
	*model
	// given is the workspace as the wire's sender wrote it, for absolute paths.
	given    string
	declared []declaredRule
	problems config.Errors
	lookup   func(consent.Binding) (consent.Result, error)
	// refuseLinks makes a rule that gains through a link an error; see [fsCompiler.throughLinks].
	refuseLinks bool
	// lost are the external rules that were dropped.
	lost []lostRule
	// ahead are rules that grant nothing once more, where the resolution of their paths was heading.
	ahead []fsRule
}

// declaredRule is a rule on its way.
type declaredRule struct {
	fsRule
	index  int
	origin config.Origin
	rel    wspath.Rel
	// bad: it has a problem; dropped: it grants nothing because a link is not approved.
	bad, dropped bool
	// wired: it came from the wire, which names the approved target itself.
	wired    bool
	approved *string
}

// lostRule is an external rule that was dropped: its path as written and without links,
// and its target, "" when there is none.
type lostRule struct{ written, path, target string }

func (c *fsCompiler) add(at config.Origin, r jptool.FsRule, dir bool) {
	rule := declaredRule{origin: at}
	rule.layer, rule.people = at.Layer, true
	rule.rule.Origin, rule.rule.Layer, rule.rule.Key = at.String(), at.Layer.String(), at.Key
	c.append(rule, r, dir)
}

func (c *fsCompiler) addWire(i int, r jptool.FsRule) {
	key := fmt.Sprintf("access.fs[%d]", i)
	rule := declaredRule{origin: config.Origin{Key: key}, wired: true, approved: r.ApprovedTarget}
	rule.rule.Origin, rule.rule.Key = Wire, key
	c.append(rule, r, len(r.Path) > 1 && strings.HasSuffix(r.Path, "/"))
}

func (c *fsCompiler) append(rule declaredRule, r jptool.FsRule, dir bool) {
	rule.index, rule.external = len(c.declared), r.External
	rule.rule.Written, rule.rule.Dir = dotted(r.Path), dir
	rule.rule.Caps, rule.rule.Stated = r.Caps(), r.Caps()
	rel, err := parseRule(r.Path, c.root, c.given)
	rule.rel = rel
	switch {
	case errors.Is(err, wspath.ErrAbsolute):
		c.problem(&rule, "is absolute and not below the workspace", "write it relative to the workspace; for what lies outside, a rule with external = true on a link")
	case errors.Is(err, wspath.ErrEscape):
		c.problem(&rule, "leaves the workspace", "write a path below it; for what lies outside, a rule with external = true on a link")
	case err != nil:
		c.problem(&rule, "is "+err.Error(), "write a path that a file can have")
	}
	c.declared = append(c.declared, rule)
}

func (c *fsCompiler) problem(r *declaredRule, message, help string) {
	r.bad = true
	c.problems = append(c.problems, &config.Problem{
		Origin: r.origin, Message: fmt.Sprintf("the rule on %q %s", r.rule.Written, message), Help: help,
	})
}

// compile places all rules and reports everything that is wrong with any of them.
func (c *fsCompiler) compile() error {
	order := make([]*declaredRule, len(c.declared))
	for i := range c.declared {
		order[i] = &c.declared[i]
	}
	// External rules first, outer before inner: they say which places outside exist.
	slices.SortStableFunc(order, func(a, b *declaredRule) int {
		if a.external != b.external {
			return cmp.Compare(rank(b.external), rank(a.external))
		}
		return cmp.Compare(strings.Count(a.rel.Slash(), "/"), strings.Count(b.rel.Slash(), "/"))
	})
	for _, r := range order {
		if r.bad || !r.external {
			continue
		}
		if err := c.external(r); err != nil {
			return err
		}
	}
	c.dropLost()
	for _, r := range order {
		if !r.bad && !r.external && !r.dropped {
			c.ordinary(r)
		}
	}
	c.overlaps()
	if err := c.throughLinks(); err != nil {
		return err
	}
	if len(c.problems) > 0 {
		return c.problems
	}
	for _, r := range c.declared {
		c.fs = append(c.fs, r.fsRule)
	}
	c.fs = append(c.fs, c.ahead...)
	return nil
}

// denyBroken places a rule that grants nothing on a path that cannot be resolved: at its own entry, and
// where the resolution was heading. With one place only, removing the directory that a link leads to, and making
// it again, would lift the rule in between.
func (c *fsCompiler) denyBroken(r *declaredRule, to resolved) {
	r.at, r.path = c.entry(r.rel)
	if !c.known(to.at) || to.at.same(r.at) {
		return
	}
	second := r.fsRule
	second.at, second.path, second.external, second.target = to.at, c.wire(to.at), false, nil
	second.note("a link on the way leads to nothing; this is where it was heading")
	c.ahead = append(c.ahead, second)
}

// broken reports whether a path leads over a link to something missing, or over a file as if
// that were a directory. A tool's own calls can bring either about.
func broken(err error) bool {
	return errors.Is(err, wspath.ErrDangling) || errors.Is(err, syscall.ENOTDIR)
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// external places an external rule. What grants nothing needs no approval and stays.
func (c *fsCompiler) external(r *declaredRule) error {
	to, err := c.content(r.rel)
	if err == nil && !to.missing && !to.at.outside {
		c.problem(r, "is external but lies in the workspace", "declare a rule on the link itself that leads outside, or remove external = true")
		return nil
	}
	if r.approved != nil {
		if clean := filepath.Clean(*r.approved); !filepath.IsAbs(clean) || clean != *r.approved {
			c.problem(r, "has an approved_target that is not a canonical absolute path", "write the path that the link resolves to")
			return nil
		} else if !c.placeOf(filepath.ToSlash(clean)).outside {
			c.problem(r, "has an approved_target inside the workspace", "approve only what lies outside")
			return nil
		}
	}
	own, path := c.entry(r.rel)
	r.at, r.path = own, path
	if r.rule.Caps == 0 {
		switch {
		case err == nil && to.at.outside:
			r.at = to.at
		case err != nil:
			c.denyBroken(r, to)
		}
		c.pin(to.links)
		return nil
	}
	lost := lostRule{written: r.rel.Slash(), path: path}
	if err != nil || to.missing {
		c.drop(r, lost, "its link is missing or leads nowhere", "", "make the link, or remove the rule")
		return nil
	}
	lost.target = to.abs
	var res consent.Result
	if r.wired {
		res.Approved = r.approved != nil && filepath.ToSlash(*r.approved) == to.abs
		res.Reason = "its link does not lead to an approved target"
	} else {
		res, err = c.lookup(consent.Binding{RulePath: path, Target: to.abs})
	}
	command := "jphost approvals approve " + shellWord(path)
	switch {
	case errors.Is(err, term.ErrCancelled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return err
	case err != nil:
		c.drop(r, lost, "its approval cannot be looked up: "+err.Error(), command, "approve it with: "+command)
	case !res.Approved && r.wired:
		c.drop(r, lost, res.Reason, "", "")
	case !res.Approved:
		reason, _, _ := strings.Cut(res.Reason, "\n")
		c.drop(r, lost, reason, command, "approve it with: "+command)
	default:
		target := filepath.FromSlash(to.abs)
		r.at, r.target = to.at, &target
		c.mount(r, path, to.abs)
		c.pin(to.links)
	}
	return nil
}

// mount remembers where an approved link leads; of several rules on one link the last counts.
func (c *fsCompiler) mount(r *declaredRule, path, target string) {
	for i := range c.mounts {
		if m := &c.mounts[i]; m.path == path {
			m.rule = max(m.rule, r.index)
			return
		}
	}
	c.mounts = append(c.mounts, mounted{path, target, r.index})
}

func (c *fsCompiler) pin(links []place) { c.pins = append(c.pins, links...) }

// drop makes a rule deny: dropping it altogether could leave its path to a wider rule.
func (c *fsCompiler) drop(r *declaredRule, lost lostRule, reason, command, help string) {
	c.lost = append(c.lost, lost)
	r.deny(reason)
	c.dropped = append(c.dropped, Dropped{Path: r.rule.Written, Origin: r.rule.Origin, Reason: reason, Command: command})
	r.fsRule.lost = len(c.dropped)
	c.warning(r, reason, help)
}

func (r *declaredRule) deny(reason string) {
	r.rule.Caps, r.external, r.dropped = 0, false, true
	r.note("dropped: " + reason)
}

func (c *fsCompiler) warning(r *declaredRule, reason, help string) {
	w := Warning{Origin: r.rule.Origin, Message: fmt.Sprintf("the rule on %q grants nothing: %s", r.rule.Written, reason), Help: help}
	c.warnings = append(c.warnings, w)
}

// dropLost drops what lies below dropped rules, now that all mounts are known, and finds
// the place of both. Where such a link leads into a mount that is approved, a rule would
// be taken for one on that mount: there the link is only kept in place.
func (c *fsCompiler) dropLost() {
	for i := range c.declared {
		r := &c.declared[i]
		if r.bad {
			continue
		}
		to, err := c.content(r.rel)
		lost := c.lostAbove(r, to, err)
		if lost != nil {
			r.at, r.path = c.entry(r.rel)
			reason := fmt.Sprintf("it lies below %q, which grants nothing", dotted(lost.written))
			r.deny(reason)
			c.warning(r, reason, "")
		}
		if !r.dropped {
			continue
		}
		c.pin(to.links)
		if err == nil && to.at.outside && c.known(to.at) && (!r.at.outside || lost != nil) {
			r.gone = true
			if !r.at.outside {
				c.pin([]place{r.at})
			}
		}
	}
}

// lostAbove is the dropped rule that an ordinary grant lies below: by name, wherever the link leads
// now, since the grant was meant for another place; or by what it leads to, where nothing else
// says what holds there.
func (c *fsCompiler) lostAbove(r *declaredRule, to resolved, err error) *lostRule {
	if r.external || r.rule.Caps == 0 {
		return nil
	}
	elsewhere := err != nil || to.at.outside && !c.known(to.at) || !to.at.outside && len(to.links) == 0
	for i := range c.lost {
		l := &c.lost[i]
		_, written := wspath.Within(fold(l.written), fold(r.rel.Slash()))
		_, path := wspath.Within(fold(l.path), fold(r.rel.Slash()))
		if written || path || elsewhere && l.target != "" && (place{true, l.target}).holds(to.at) {
			return l
		}
	}
	return nil
}

// ordinary places a rule without external: at what it resolves to inside the workspace or
// below a mount. What resolves elsewhere, or nowhere, can still be denied, at its own
// path.
func (c *fsCompiler) ordinary(r *declaredRule) {
	to, err := c.content(r.rel)
	if err == nil && !c.known(to.at) {
		err = errOutside
	}
	c.pin(to.links)
	switch {
	case err == nil:
		r.at, r.path, r.linked = to.at, c.wire(to.at), c.leads(to.links)
		if to.missing {
			c.literal(r)
		}
	case r.rule.Caps == 0:
		c.denyBroken(r, to)
	case broken(err) && !to.onLink:
		reason, help := "a link on the way leads to nothing", "make what it leads to, or remove the rule"
		if !errors.Is(err, wspath.ErrDangling) {
			reason, help = "something on the way is no directory", "repair the path, or remove the rule"
		}
		r.deny(reason)
		c.warning(r, reason, help)
		c.denyBroken(r, to)
	case errors.Is(err, errOutside):
		c.problem(r, "leads outside the workspace", "if that is meant, add external = true to a rule on the link itself")
	case errors.Is(err, wspath.ErrDangling):
		c.problem(r, "is on a link that leads nowhere", "repair the link, or remove the rule")
	default:
		c.problem(r, "cannot be resolved ("+err.Error()+")", "remove the rule, or repair the path")
	}
}

// literal warns of a path that is written as if it were read by a shell, when nothing has
// that name: RFD 076 takes rule paths literally, so a deny on a pattern protects nothing.
func (c *fsCompiler) literal(r *declaredRule) {
	w := Warning{Origin: r.rule.Origin, Message: fmt.Sprintf("the rule on %q is for a file of exactly this name, and there is none", r.rule.Written)}
	switch written := r.rel.Slash(); {
	case strings.ContainsAny(written, "*?["):
		w.Help = "paths of rules have no patterns: name the directory, which covers all that is in it, or one file"
	case written == "~" || strings.HasPrefix(written, "~/"):
		w.Help = "~ is no home directory here: for what lies outside, write a rule with external = true on a link"
	default:
		return
	}
	c.warnings = append(c.warnings, w)
}

// overlaps refuses two mounts that reach the same files with different rights: what
// holds would depend on the name.
func (c *fsCompiler) overlaps() {
	for _, outer := range c.mounts {
		for _, inner := range c.mounts {
			below, ok := wspath.WithinAbs(outer.target, inner.target)
			a, b := &c.declared[outer.rule], &c.declared[inner.rule]
			if !ok || below == "" && outer.rule >= inner.rule || a.rule.Caps == b.rule.Caps || wspath.JoinSlash(outer.path, below) == inner.path {
				continue
			}
			c.problem(b, fmt.Sprintf("reaches the same files as the one on %q (%s) with other rights", a.rule.Written, a.rule.Origin),
				"give both the same rights, or remove one")
		}
	}
}

func slashed(path string) string { return filepath.ToSlash(filepath.Clean(path)) }
