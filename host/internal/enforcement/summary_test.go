package enforcement

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// A summary never says more than was reached, and stays short whatever there is to be said.
func TestSummary(t *testing.T) {
	narrowed := func(n int) (list []fit.Narrowing) {
		for range n {
			list = append(list, fit.Narrowing{Rule: "r", Became: "b", Why: "w", Remedy: "m"})
		}
		return list
	}
	lost := func(n int, known bool) (list []fit.NotEnforced) {
		for range n {
			list = append(list, fit.NotEnforced{What: "it", Why: "old\nand more", Remedy: "m", Known: known})
		}
		return list
	}
	for _, c := range []struct {
		tier     fit.Tier
		narrowed []fit.Narrowing
		lost     []fit.NotEnforced
		level    string
		notes    string
	}{
		{fit.TierLandlock, nil, nil, LevelExact, ""},
		{fit.TierLandlock, nil, lost(2, true), LevelExact, ""},
		{fit.TierNamespace, narrowed(1), nil, LevelNarrowed, ""},
		{fit.TierNamespace, narrowed(1), lost(1, false), LevelPartial, "not enforced: it (old)"},
		{fit.TierNone, nil, lost(1, false), LevelNone, "not enforced: it (old)"},
		{fit.TierLandlock, narrowed(9), lost(5, false), LevelPartial, "not enforced: it (old)|not enforced: it (old)|not enforced: it (old)|6 more rules are narrowed|2 more things are not enforced"},
	} {
		s := Summarize(&Report{Report: &sandbox.Report{Tier: c.tier, Narrowed: c.narrowed, NotEnforced: c.lost}})
		if s.Level != c.level || strings.Join(s.Notes, "|") != c.notes || len(s.Narrowed) != min(len(c.narrowed), 3) {
			t.Errorf("%s, %d narrowed, %d lost: %+v", c.tier, len(c.narrowed), len(c.lost), s)
		}
		if data, err := json.Marshal(s); err != nil || strings.Contains(string(data), "null") {
			t.Errorf("%s %v", data, err)
		}
	}
}
