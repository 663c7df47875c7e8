// Package enforcement says for people, in the words of the host's configuration and flags, what the sandbox enforces of a
// call, and what it refused.
package enforcement

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// Report is what the operating system enforced of a call, and what it was seen to refuse.
type Report struct {
	*sandbox.Report
	// Observed is set by --explain-denials.
	Observed *Observed `json:"observed,omitempty"`
}

// Unused returns the report of a call that started nothing.
func Unused(mode string) *Report { return &Report{Report: sandbox.NewReport(mode)} }

// Touched says what may have been changed and put back while a call ran; "" for nothing.
func Touched(names []string) string {
	if len(names) == 0 {
		return ""
	}
	var list []string
	for _, name := range names {
		list = append(list, show.Visible(name))
	}
	if more := len(list) - 5; more > 0 {
		list = append(list[:5], fmt.Sprintf("%d more", more))
	}
	return "while the call ran these were touched, or changed and put back: " + strings.Join(list, ", ") +
		"\ntheir content is as it was; with namespaces they would be mounted read-only (jphost doctor)"
}

// Warnings returns what a person should be told once: what is not enforced although it was asked for, by its reason, and
// rules that became narrower. The documented differences are not among them. If there is more than can be shown,
// all says how to see it.
func Warnings(c *sandbox.Report, all string) []string {
	type reason struct{ why, remedy string }
	var order []reason
	said := map[reason][]string{}
	for i := range c.NotEnforced {
		n := &c.NotEnforced[i]
		if n.Known {
			continue
		}
		r := reason{n.Why, n.Remedy}
		if said[r] == nil {
			order = append(order, r)
		}
		said[r] = append(said[r], words(n.Rule, n.What, "", ""))
	}
	var list []string
	for _, r := range order {
		const text = "not enforced by the operating system"
		if what := said[r]; len(what) == 1 {
			list = append(list, text+": "+what[0]+words("", "", r.why, r.remedy))
		} else {
			list = append(list, text+words("", "", r.why, "")+":\n  "+strings.Join(what, "\n  ")+words("", "", "", r.remedy))
		}
	}
	return append(list, narrowed(c.Narrowed, all)...)
}

// few is up to how many rules that became narrower for one reason are shown; of more, the first stands for all.
const few = 3

// narrowed says which rules became narrower, by their reasons.
func narrowed(narrowings []fit.Narrowing, all string) []string {
	var whys, list []string
	by := map[string][]*fit.Narrowing{}
	for i := range narrowings {
		n := &narrowings[i]
		if by[n.Why] == nil {
			whys = append(whys, n.Why)
		}
		by[n.Why] = append(by[n.Why], n)
	}
	for _, why := range whys {
		same := by[why]
		if len(same) <= few {
			for _, n := range same {
				list = append(list, "narrowed: "+became(n)+words("", "", n.Why, n.Remedy))
			}
			continue
		}
		list = append(list, fmt.Sprintf("narrowed: %d rules, of which the first: %s%s", len(same), became(same[0]), words("", "", why, "all of them, and what to do: "+all)))
	}
	return list
}

func became(n *fit.Narrowing) string {
	return fmt.Sprintf("%s became %s", show.Line(n.Rule), show.Line(n.Became))
}

func words(rule, what, why, remedy string) string {
	var b strings.Builder
	b.WriteString(show.Line(rule))
	if rule != "" && what != "" {
		b.WriteString(": ")
	}
	b.WriteString(show.Line(what))
	// What somebody else's error says after its first line is more than fits between brackets.
	why, more, _ := strings.Cut(why, "\n")
	if why != "" {
		b.WriteString(" (" + show.Line(why) + ")")
	}
	for _, text := range []string{more, remedy} {
		if text != "" {
			b.WriteString("\n  " + strings.ReplaceAll(show.Text(text), "\n", "\n  "))
		}
	}
	return b.String()
}

// Profile is all of what would be done, for people and for scripts that look at it.
type Profile struct {
	*Report
	Program  string               `json:"program"`
	Declared *jptool.AccessPolicy `json:"declared"`
	// Effective is the policy that the tool is sent, and that the kernel enforces.
	Effective *jptool.AccessPolicy `json:"effective"`
	// After is compared when the call has ended.
	After []fit.Check `json:"after"`
	Plan  *fit.Plan   `json:"plan"`
}

// NewProfile describes what a start of a program would be enforced with.
func NewProfile(a *sandbox.Attempt, program string, declared *jptool.AccessPolicy) *Profile {
	return &Profile{
		Report: &Report{Report: a.Report()}, Program: program, Declared: declared, Effective: a.Access, After: a.After, Plan: a.Plan,
	}
}

// String is the profile for a terminal.
func (p *Profile) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("tier      %s (Landlock %d)", p.Tier, p.ABI)
	line("program   %s", show.Visible(p.Program))
	part := func(title string, n int) {
		if n > 0 {
			line("\n%s", title)
		}
	}
	rows := func(title string, list [][2]string) {
		part(title, len(list))
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		for _, row := range list {
			fmt.Fprintf(w, "  %s\t%s\n", row[0], row[1])
		}
		_ = w.Flush() // to memory
	}
	var list [][2]string
	for _, r := range p.Rules {
		list = append(list, [2]string{show.Line(r.Rule), show.Line(r.EnforcedBy)})
	}
	rows("rules", list)
	part("narrowed", len(p.Narrowed))
	for _, n := range p.Narrowed {
		line("  %s", strings.ReplaceAll(fmt.Sprintf("%s became %s", show.Line(n.Rule), words(n.Became, "", n.Why, n.Remedy)), "\n", "\n  "))
	}
	part("not enforced by the operating system", len(p.NotEnforced))
	for _, n := range p.NotEnforced {
		line("  %s", strings.ReplaceAll(words(n.Rule, n.What, n.Why, n.Remedy), "\n", "\n  "))
	}
	part("directories made for the call", len(p.Made))
	for _, name := range p.Made {
		line("  %s", show.Visible(name))
	}
	part("trees", len(p.Plan.Trees))
	for _, n := range p.Plan.Trees {
		line("  %s", show.Visible(n.Path))
	}
	list = nil
	for _, g := range p.Plan.Grants {
		list = append(list, [2]string{show.Visible(g.Path), g.Caps.String()})
	}
	for _, g := range p.Plan.Runtime {
		what := g.Caps.String()
		if g.Kind == fit.Link {
			what = "the link"
		}
		list = append(list, [2]string{show.Visible(g.Path), what + " (runtime)"})
	}
	rows("grants", list)
	list = nil
	for _, c := range p.Plan.Covers {
		list = append(list, [2]string{show.Visible(c.Path), cover(c)})
	}
	for _, n := range p.Plan.Pins {
		list = append(list, [2]string{show.Visible(n.Path), "kept in place"})
	}
	rows("mounts", list)
	list = nil
	for _, c := range p.After {
		list = append(list, [2]string{show.Visible(c.Path), fmt.Sprint(c.Want)})
	}
	rows("compared after the call", list)
	if p.Plan.Temp != "" {
		line("\nprivate directory  %s", show.Visible(p.Plan.Temp))
	}
	return b.String()
}

func cover(c fit.Cover) string {
	var list []string
	for _, f := range []struct {
		on   bool
		word string
	}{{c.Hide, "hidden"}, {c.Again, "shown again"}, {c.ReadOnly, "read-only"}, {c.NoExec, "no execution"}} {
		if f.on {
			list = append(list, f.word)
		}
	}
	return strings.Join(list, ", ")
}
