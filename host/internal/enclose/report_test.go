package enclose

import (
	"testing"

	"github.com/jptools/jptools/host/internal/sandbox"
)

// What a kernel or another package says in several lines is shown in several lines.
func TestWarningsKeepTheirLines(t *testing.T) {
	c := &Call{Prepared: &sandbox.Prepared{Fitted: &sandbox.Fitted{
		NotEnforced: []sandbox.NotEnforced{{What: "it", Why: "it failed\nas the log says", Remedy: "do this\nor that"}},
		Narrowed:    []sandbox.Narrowing{{Rule: "r\n", Became: "nothing", Why: "no room\nthere", Remedy: "make some"}},
	}}}
	want := []string{
		"not enforced by the operating system: it (it failed)\n  as the log says\n  do this\n  or that",
		`narrowed: r\n became nothing (no room)` + "\n  there\n  make some",
	}
	got := c.Warnings()
	if len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
		t.Errorf("%q\nwant %q", got, want)
	}
}
