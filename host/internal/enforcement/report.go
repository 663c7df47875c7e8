// Package enforcement says for people, in the words of the host's configuration and flags, what the sandbox enforces of a
// call, and what it refused.
package enforcement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
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
		"; their content is as it was\nwith namespaces they would be mounted read-only (jphost doctor)"
}

// Withheld says which places of secrets were there and are withheld; "" for none.
func Withheld(list []fit.Withheld) string {
	var names []string
	for _, w := range list {
		if w.By == "secrets" {
			names = append(names, show.Visible(w.Path))
		}
	}
	if len(names) == 0 {
		return ""
	}
	first := names[0]
	if more := len(names) - few; more > 0 {
		names = append(names[:few], fmt.Sprintf("%d more", more))
	}
	return "withheld, since they are places of secrets: " + strings.Join(names, ", ") + "\nif the program needs one, name it: --ro " + show.Word(first)
}

// few is up to how many rules that became narrower for one reason are shown; of more, the first stands for all.
const few = 3

// Warnings returns what a person should be told once: what is not enforced although it was asked for, and rules that
// became narrower, both by their reasons. The documented differences are not among them. If there is more than can be
// shown, all says how to see it.
func Warnings(c *sandbox.Report, all string) (list []string) {
	lost := slices.DeleteFunc(slices.Clone(c.NotEnforced), func(n fit.NotEnforced) bool { return n.Known })
	for _, same := range grouped(lost, func(n fit.NotEnforced) [2]string { return [2]string{n.Why, n.Remedy} }) {
		text := "not enforced by the operating system"
		first := same[0]
		if len(same) == 1 {
			list = append(list, text+": "+words(first.Rule, first.What, first.Why, first.Remedy))
			continue
		}
		text += words("", "", first.Why, "") + ":"
		for _, n := range same {
			text += "\n  " + words(n.Rule, n.What, "", "")
		}
		list = append(list, text+words("", "", "", first.Remedy))
	}
	for _, same := range grouped(c.Narrowed, func(n fit.Narrowing) string { return n.Why }) {
		if len(same) > few {
			same[0].Remedy = "all of them, and what to do: " + all
			list = append(list, fmt.Sprintf("narrowed: %d rules, of which the first: %s", len(same), became(same[0])))
			continue
		}
		for _, n := range same {
			list = append(list, "narrowed: "+became(n))
		}
	}
	return list
}

// grouped puts those of a list together that have the same key, in the order of the first ones.
func grouped[T any, K comparable](list []T, key func(T) K) (groups [][]T) {
	at := map[K]int{}
	for _, one := range list {
		i, known := at[key(one)]
		if !known {
			i = len(groups)
			at[key(one)] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], one)
	}
	return groups
}

func became(n fit.Narrowing) string {
	return show.Line(n.Rule) + " became " + words(n.Became, "", n.Why, n.Remedy)
}

// words is one line of what is so and why, with further lines of the reason indented below it, and those of the remedy last.
func words(rule, what, why, remedy string) string {
	text := join(": ", show.Line(rule), show.Line(what))
	// What somebody else's error says after its first line is more than fits between brackets.
	why, more, _ := strings.Cut(why, "\n")
	if why != "" {
		text += " (" + show.Line(why) + ")"
	}
	if more != "" {
		text += "\n  " + show.Indented(more, "  ")
	}
	if remedy != "" {
		text += "\n" + show.Text(remedy)
	}
	return text
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

// Print prints all of the profile for people.
func (p *Profile) Print(out *term.Output) {
	out.Printf("tier      %s (Landlock %d)\nprogram   %s\n", p.Tier, p.ABI, show.Visible(p.Program))
	section := func(title string, rows [][]string) {
		if len(rows) > 0 {
			out.Printf("\n%s\n", title)
			out.Table("  ", rows)
		}
	}
	indented := func(text string) []string {
		return []string{strings.ReplaceAll(strings.ReplaceAll(text, "\n  ", "\n"), "\n", "\n    ")}
	}
	section("rules", rows(p.Rules, func(r fit.Enforced) []string {
		return []string{show.Line(r.Rule), show.Line(r.EnforcedBy)}
	}))
	section("narrowed", rows(p.Narrowed, func(n fit.Narrowing) []string { return indented(became(n)) }))
	section("not enforced by the operating system", rows(p.NotEnforced, func(n fit.NotEnforced) []string {
		return indented(words(n.Rule, n.What, n.Why, n.Remedy))
	}))
	section("withheld", rows(p.Withheld, func(w fit.Withheld) []string {
		return []string{show.Visible(w.Path), w.By + ": " + show.Line(w.Pattern)}
	}))
	section("directories made for the call", rows(p.Made, func(name string) []string {
		return []string{show.Visible(name)}
	}))
	section("trees", rows(p.Plan.Trees, func(n fit.Node) []string { return []string{show.Visible(n.Path)} }))
	granted := rows(p.Plan.Grants, func(g fit.Grant) []string { return []string{show.Visible(g.Path), g.Caps.String()} })
	section("grants", append(granted, rows(p.Plan.Runtime, func(g fit.Grant) []string {
		return []string{show.Visible(g.Path), cmp.Or(when(g.Kind == fit.Link, "the link"), g.Caps.String()) + " (runtime)"}
	})...))
	covers := rows(p.Plan.Covers, func(c fit.Cover) []string {
		what := join(", ", when(c.Hide, "hidden"), when(c.Again, "shown again"), when(c.ReadOnly, "read-only"), when(c.NoExec, "no execution"))
		return []string{show.Visible(c.Path), what}
	})
	section("mounts", append(covers, rows(p.Plan.Pins, func(n fit.Node) []string {
		return []string{show.Visible(n.Path), "kept in place"}
	})...))
	section("compared after the call", rows(p.After, func(c fit.Check) []string {
		return []string{show.Visible(c.Path), fmt.Sprint(c.Want)}
	}))
	section("not available", rows(p.Unavailable, func(u fit.Unavailable) []string {
		return indented(words("", strings.Join(u.What, ", "), u.Why, u.Remedy))
	}))
	out.Printf("\nnetwork            %s\n", network(p.Plan))
	if p.Plan.Temp != "" {
		out.Printf("private directory  %s\n", join(", ", show.Visible(p.Plan.Temp), when(p.Plan.Scratch != "", show.Visible(p.Plan.Scratch))))
	}
}

// network says in words what of a network the call has.
func network(p *fit.Plan) string {
	text := "none"
	switch {
	case p.Net.Open:
		text = "that of the host"
	case p.Net.Own:
		text = "its own, with a loopback"
	}
	return text + when(p.Local, ", and local sockets of its own")
}

// rows makes a row of a table from each of a list.
func rows[T any](list []T, row func(T) []string) (table [][]string) {
	for _, one := range list {
		table = append(table, row(one))
	}
	return table
}

// PrintRules prints each filesystem rule as it is declared and as it is enforced, and what is not enforced.
func (p *Profile) PrintRules(out *term.Output) {
	if p.Effective == nil {
		return
	}
	rows, less := [][]string{{"declared", "effective"}}, false
	for i := range p.Effective.FS {
		row := []string{"", show.Line(fit.FsText(&p.Effective.FS[i]))}
		if i < len(p.Declared.FS) {
			if row[0] = show.Line(fit.FsText(&p.Declared.FS[i])); row[0] == row[1] {
				row[1] = "the same"
			}
		}
		less = less || row[1] != "the same"
		rows = append(rows, row)
	}
	if less {
		out.Table("  ", rows)
	} else {
		out.Printf("  all rules as declared\n")
	}
	for _, path := range p.Effective.Pinned {
		out.Printf("  kept in place: %s\n", show.Visible(path))
	}
	for i := range p.Narrowed {
		out.Printf("  narrowed: %s\n", show.Indented(p.Narrowed[i].String(), "  "))
	}
	for _, n := range p.NotEnforced {
		if !n.Known {
			why, _, _ := strings.Cut(n.Why, "\n")
			out.Printf("  not enforced: %s\n", show.Line(strings.TrimPrefix(n.Rule+": ", ": ")+n.What+" ("+why+")"))
		}
	}
}
