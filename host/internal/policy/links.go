package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
)

// leads reports whether one of these links is another than that of a mount, whose target was approved.
func (c *fsCompiler) leads(links []place) bool {
	return slices.ContainsFunc(links, func(l place) bool {
		return !slices.ContainsFunc(c.mounts, func(m mounted) bool { return m.path == c.wire(l) })
	})
}

// throughLinks narrows each rule that a symlink leads to its place: it grants there only what holds
// there without it, unless a person approved the target.
//
// A repository, or a tool in an earlier call, can make any path of the workspace a link. Without this, a rule on
// `build` would become a rule on whatever `build` leads to, such as `.git/hooks`. A rule that takes
// something away follows the link always.
//
// A policy that comes over the wire is taken as it is: who wrote it has resolved its paths, or vouches for the
// links. A person who names a policy file on a command line vouches for no link (refuseLinks).
func (c *fsCompiler) throughLinks() error {
	var linked []*declaredRule
	settled := make([]bool, len(c.declared))
	for i := range c.declared {
		r := &c.declared[i]
		usable := !r.bad && !r.gone
		if usable && r.linked && !r.dropped {
			linked = append(linked, r)
		} else {
			settled[i] = usable
		}
	}
	// The outer ones first: what such a rule takes away counts for one that lies deeper.
	slices.SortStableFunc(linked, func(a, b *declaredRule) int { return cmp.Compare(depth(a.at), depth(b.at)) })
	for _, r := range linked {
		have := c.capsAt(r.at, settled)
		gain := r.rule.Caps &^ have
		if c.needs != nil {
			gain &= *c.needs // what the tool never uses needs no approval
		}
		if gain != 0 {
			approved, err := c.approvedLink(r, have)
			if err != nil {
				return err
			}
			if !approved {
				r.rule.Caps &= have
				r.rule.Dir = false // nothing is made there either
			}
		}
		settled[r.index] = true
	}
	return nil
}

func depth(at place) int { return strings.Count(at.path, "/") }

// capsAt is what the settled rules grant at a place: those of the deepest, of equals the last.
func (c *fsCompiler) capsAt(at place, settled []bool) jptool.Caps {
	best := -1
	for i := range c.declared {
		r := &c.declared[i]
		if settled[i] && r.at.holds(at) && (best < 0 || len(fold(r.at.path)) >= len(fold(c.declared[best].at.path))) {
			best = i
		}
	}
	if best < 0 {
		return 0
	}
	return c.declared[best].rule.Caps
}

// approvedLink reports whether a person approved that the rule holds at its link's target. Where
// it is not approved, a person is told. The error is that of a person who cancelled.
func (c *fsCompiler) approvedLink(r *declaredRule, have jptool.Caps) (bool, error) {
	if r.wired {
		if c.refuseLinks {
			c.problem(r, fmt.Sprintf("leads through a symlink to %q, where it would grant what does not hold there without it", dotted(r.path)),
				"name the target in the rule, or remove the link")
		}
		return !c.refuseLinks, nil
	}
	path := r.rel.Slash()
	res, err := c.lookup(consent.Binding{RulePath: path, Target: c.abs(r.at)})
	if errors.Is(err, term.ErrCancelled) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false, err
	}
	if err == nil && res.Approved {
		return true, nil
	}
	command := "jphost approvals approve " + shellWord(path)
	message := fmt.Sprintf("leads through a symlink to %q, and that target is not approved: it grants there %s", dotted(r.path), onlyCaps(have&r.rule.Caps))
	if err != nil {
		message += " (its approval cannot be looked up: " + err.Error() + ")"
	}
	r.note("narrowed: its path leads through a link whose target is not approved")
	c.dropped = append(c.dropped, Dropped{Path: r.rule.Written, Origin: r.rule.Origin, Reason: message, Command: command})
	r.fsRule.lost = len(c.dropped)
	c.warnings = append(c.warnings, Warning{
		Origin: r.rule.Origin, Message: fmt.Sprintf("the rule on %q %s", r.rule.Written, message),
		Help: "write the target in the rule, or approve it with: " + command,
	})
	return false, nil
}
