package fit_test

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// rulesText is a policy, one rule a line.
func rulesText(a *jptool.AccessPolicy) string {
	var b strings.Builder
	for i := range a.FS {
		b.WriteString(fit.FsText(&a.FS[i]))
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

// fittedText is all that came of fitting.
func fittedText(f *fit.Fitted) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	p := f.Plan
	flag := func(on bool, name string) string {
		if on {
			return " " + name
		}
		return ""
	}
	line("EFFECTIVE\n%sPLAN\ntier %s%s", rulesText(f.Access), p.Tier, flag(p.Frozen, "frozen"))
	for _, n := range p.Trees {
		line("tree %s", n.Path)
	}
	for _, g := range p.Grants {
		line("grant %s: %s", g.Path, g.Caps)
	}
	for _, c := range p.Covers {
		line("cover %s:%s%s%s%s", c.Path,
			flag(c.Hide, "hide"), flag(c.Again, "again"), flag(c.ReadOnly, "read-only"), flag(c.NoExec, "noexec"))
	}
	for _, n := range p.Pins {
		line("pin %s", n.Path)
	}
	for _, s := range p.Staged {
		line("stage %s %d", s.Path, s.FD)
	}
	for _, n := range f.Narrowed {
		line("NARROWED %s", n.String())
	}
	for _, n := range f.NotEnforced {
		line("NOT %s: %s (%s) known %v", n.Rule, n.What, n.Why, n.Known)
	}
	for _, c := range f.After {
		line("AFTER %s: %s", c.Path, c.Want)
	}
	for _, d := range f.Make {
		line("MAKE %s", d)
	}
	return b.String()
}
