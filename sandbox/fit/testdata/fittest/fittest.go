// Package fittest writes what fitting made of a policy, for tests.
package fittest

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// Rules is a policy, one rule a line.
func Rules(a *jptool.AccessPolicy) string {
	var b strings.Builder
	for i := range a.FS {
		fmt.Fprintf(&b, "%s", fit.FsText(&a.FS[i]))
		if t := a.FS[i].ApprovedTarget; t != nil {
			b.WriteString(" -> " + *t)
		}
		b.WriteString("\n")
	}
	if len(a.Pinned) > 0 {
		fmt.Fprintf(&b, "pinned %s\n", strings.Join(a.Pinned, " "))
	}
	for _, s := range a.Staged {
		fmt.Fprintf(&b, "staged %q %d\n", s.Path, s.FD)
	}
	return b.String()
}

// planText is the part of a plan that depends on the policy.
func planText(p *fit.Plan) string {
	var b strings.Builder
	fmt.Fprintf(&b, "tier %s", p.Tier)
	if p.Frozen {
		b.WriteString(" frozen")
	}
	b.WriteString("\n")
	for _, n := range p.Trees {
		fmt.Fprintf(&b, "tree %s\n", n.Path)
	}
	for _, g := range p.Grants {
		fmt.Fprintf(&b, "grant %s: %s\n", g.Path, g.Caps)
	}
	for _, c := range p.Covers {
		fmt.Fprintf(&b, "cover %s:%s\n", c.Path, flags(c))
	}
	for _, n := range p.Pins {
		fmt.Fprintf(&b, "pin %s\n", n.Path)
	}
	for _, s := range p.Staged {
		fmt.Fprintf(&b, "stage %s %d\n", s.Path, s.FD)
	}
	return b.String()
}

func flags(c fit.Cover) string {
	s := ""
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Hide, " hide"}, {c.Again, " again"}, {c.ReadOnly, " read-only"}, {c.NoExec, " noexec"}} {
		if f.on {
			s += f.name
		}
	}
	return s
}

// show is all that came of fitting.
func Show(f *fit.Fitted) string {
	var b strings.Builder
	b.WriteString("EFFECTIVE\n" + Rules(f.Access) + "PLAN\n" + planText(f.Plan))
	for _, n := range f.Narrowed {
		b.WriteString("NARROWED " + n.String() + "\n")
	}
	for _, n := range f.NotEnforced {
		fmt.Fprintf(&b, "NOT %s: %s (%s) known %v\n", n.Rule, n.What, n.Why, n.Known)
	}
	for _, c := range f.After {
		fmt.Fprintf(&b, "AFTER %s: %s\n", c.Path, c.Want)
	}
	for _, d := range f.Make {
		fmt.Fprintf(&b, "MAKE %s\n", d)
	}
	return b.String()
}
