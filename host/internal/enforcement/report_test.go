package enforcement

import (
	"slices"
	"testing"

	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// What a kernel or another package says in several lines is shown in several lines.
func TestWarningsKeepTheirLines(t *testing.T) {
	c := &sandbox.Report{
		NotEnforced: []fit.NotEnforced{{What: "it", Why: "it failed\nas the log says", Remedy: "do this\nor that"}},
		Narrowed:    []fit.Narrowing{{Rule: "r\n", Became: "nothing", Why: "no room\nthere", Remedy: "make some"}},
	}
	want := []string{
		"not enforced by the operating system: it (it failed)\n  as the log says\ndo this\nor that",
		`narrowed: r\n became nothing (no room)` + "\n  there\nmake some",
	}
	got := Warnings(c, "plan")
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q\nwant %q", got, want)
	}
}

// Of many rules that became narrower for one reason, the first is shown, and how to see them all.
func TestWarningsSumUp(t *testing.T) {
	narrowed := func(n int) *sandbox.Report {
		f := &sandbox.Report{Narrowed: []fit.Narrowing{{Rule: "other", Became: "less", Why: "so", Remedy: "do"}}}
		for i := range n {
			f.Narrowed = append(f.Narrowed, fit.Narrowing{Rule: string(rune('a' + i)), Became: "less", Why: "missing", Remedy: "make it"})
		}
		return f
	}
	if got := Warnings(narrowed(3), "plan"); len(got) != 4 || got[3] != "narrowed: c became less (missing)\nmake it" {
		t.Errorf("of three: %q", got)
	}
	want := []string{"narrowed: other became less (so)\ndo", "narrowed: 4 rules, of which the first: a became less (missing)\nall of them, and what to do: plan"}
	if got := Warnings(narrowed(4), "plan"); !slices.Equal(got, want) {
		t.Errorf("of four: %q, want %q", got, want)
	}
}
