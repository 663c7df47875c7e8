package enforcement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox/fit"
)

// Summary is a report in a few words. Its keys mean the same as those of the report.
type Summary struct {
	// Level is exact, narrowed (some rules grant less than they say), partial (the operating system does not enforce
	// something), or none (it enforces nothing, or nothing was started).
	Level string   `json:"level"`
	Mode  string   `json:"mode"`
	Tier  fit.Tier `json:"tier"`
	ABI   int      `json:"abi"`
	// Narrowed are the first of the rules that grant less.
	Narrowed []Narrowed `json:"narrowed"`
	// Notes say what is not enforced, and what is left out here.
	Notes    []string     `json:"notes"`
	Changed  []fit.Change `json:"changed,omitempty"`
	Made     []string     `json:"made,omitempty"`
	Observed *Observed    `json:"observed,omitempty"`
}

// Narrowed is a rule and what it became.
type Narrowed struct {
	Rule   string `json:"rule"`
	Became string `json:"became"`
}

// The levels of a Summary.
const (
	LevelExact    = "exact"
	LevelNarrowed = "narrowed"
	LevelPartial  = "partial"
	LevelNone     = "none"
)

// Summarize returns the summary of a report.
func Summarize(r *Report) *Summary {
	s := &Summary{
		Level: LevelExact, Mode: r.Mode, Tier: r.Tier, ABI: r.ABI, Narrowed: []Narrowed{}, Notes: []string{},
		Changed: r.Changed, Made: r.Made, Observed: r.Observed,
	}
	lost := slices.DeleteFunc(slices.Clone(r.NotEnforced), func(n fit.NotEnforced) bool { return n.Known })
	switch {
	case r.Tier == fit.TierNone:
		s.Level = LevelNone
	case len(lost) > 0:
		s.Level = LevelPartial
	case len(r.Narrowed) > 0:
		s.Level = LevelNarrowed
	}
	for _, n := range r.Narrowed[:min(len(r.Narrowed), few)] {
		s.Narrowed = append(s.Narrowed, Narrowed{n.Rule, n.Became})
	}
	for _, n := range lost[:min(len(lost), few)] {
		why, _, _ := strings.Cut(n.Why, "\n")
		s.Notes = append(s.Notes, "not enforced: "+words(n.Rule, n.What, why, ""))
	}
	if more := len(r.Narrowed) - few; more > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d more rules are narrowed", more))
	}
	if more := len(lost) - few; more > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%d more things are not enforced", more))
	}
	if n := len(r.Withheld); n > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("places withheld by patterns: %d", n))
	}
	return s
}

// String is the summary for people.
func (s *Summary) String() string {
	text := fmt.Sprintf("enforced by %s: %s", s.Tier, s.Level)
	for _, n := range s.Narrowed {
		text += "\n" + show.Line(n.Rule) + " became " + show.Line(n.Became)
	}
	for _, note := range s.Notes {
		text += "\n" + note
	}
	return text
}
