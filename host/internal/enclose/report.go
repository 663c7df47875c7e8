package enclose

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// Report is what the operating system held of a call. It never says more than was reached.
type Report struct {
	// Mode is auto, required or off, and empty if the configuration could not be read; Tier
	// what was used, none if nothing was started; ABI the Landlock version in use.
	Mode        string            `json:"mode"`
	Tier        fit.Tier          `json:"tier"`
	ABI         int               `json:"abi"`
	Rules       []fit.Enforced    `json:"rules"`
	Narrowed    []fit.Narrowing   `json:"narrowed"`
	NotEnforced []fit.NotEnforced `json:"not_enforced"`
	// Changed is what was not as the rules want it after the call, or while it ran, by absolute paths.
	Changed []fit.Change `json:"changed,omitempty"`
	// Made are directories that were missing and were made for the call, workspace-relative. Those that
	// were still empty when it ended are gone again.
	Made []string `json:"made,omitempty"`
	// Observed is there with --explain-denials.
	Observed *Observed `json:"observed,omitempty"`
}

// None is the report where nothing is held: why, and what to do about it.
func None(mode, why, remedy string) *Report {
	return &Report{
		Mode: mode, Tier: fit.TierNone, Rules: []fit.Enforced{}, Narrowed: []fit.Narrowing{},
		NotEnforced: []fit.NotEnforced{{What: fit.Nothing, Why: why, Remedy: remedy}},
	}
}

// Unused is the report of a call that started nothing.
func Unused(mode string) *Report {
	return &Report{Mode: mode, Tier: fit.TierNone, Rules: []fit.Enforced{}, Narrowed: []fit.Narrowing{}, NotEnforced: []fit.NotEnforced{}}
}

// Report says what the call was held with.
func (c *Call) Report() *Report {
	p, mode := c.Fitted.Plan, "auto"
	if c.required {
		mode = "required"
	}
	return &Report{
		Mode: mode, Tier: p.Tier, ABI: p.ABI, Rules: c.Rules, Narrowed: c.Narrowed, NotEnforced: slices.Clone(c.NotEnforced),
		Made: Wire(c.declared, c.Made),
	}
}

// Wire are canonical absolute paths as a model may see them.
func Wire(d *policy.Declared, list []string) (names []string) {
	for _, p := range list {
		if name, ok := d.WirePath(p); ok {
			names = append(names, name)
		}
	}
	return names
}

// Warnings are what a person should be told once: what is not held although it was asked
// for, by its reason, and rules that became narrower; all says how to see more of these than
// can be said. The documented differences are not among them.
func (c *Call) Warnings(all string) []string {
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
	return append(list, c.narrowed(all)...)
}

// few rules that became narrower for one reason are said each; of more the first stands for all.
const few = 3

// narrowed says which rules became narrower, by their reasons.
func (c *Call) narrowed(all string) []string {
	var whys, list []string
	by := map[string][]*fit.Narrowing{}
	for i := range c.Narrowed {
		n := &c.Narrowed[i]
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

// Profile is the whole of what would be done, for people and scripts that look at it.
type Profile struct {
	*Report
	Program  string               `json:"program"`
	Declared *jptool.AccessPolicy `json:"declared"`
	// Effective is what the tool is told, and what the kernel holds of it.
	Effective *jptool.AccessPolicy `json:"effective"`
	// After is compared when the call has ended.
	After []fit.Check `json:"after"`
	Plan  *fit.Plan   `json:"plan"`
}

// Profile describes the call; d is the policy that it was prepared from.
func (c *Call) Profile(d *policy.Declared) *Profile {
	return &Profile{
		Report: c.Report(), Program: c.program.Path, Declared: d.Access, Effective: c.Access, After: c.After, Plan: c.Fitted.Plan,
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
		width := 0
		for _, row := range list {
			width = max(width, utf8.RuneCountInString(row[0]))
		}
		for _, row := range list {
			line("  %-*s  %s", width, row[0], row[1])
		}
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
