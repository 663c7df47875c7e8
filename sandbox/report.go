package sandbox

import (
	"slices"

	"github.com/jptools/jptools/sandbox/fit"
)

// Report says what the operating system enforces of a call. It never says more than was reached.
type Report struct {
	// Mode is auto, required or off; empty if the call came to nothing before that was known.
	Mode string `json:"mode"`
	// Tier is how the call was enforced, none if nothing was started; ABI the version of Landlock in use.
	Tier        fit.Tier          `json:"tier"`
	ABI         int               `json:"abi"`
	Rules       []fit.Enforced    `json:"rules"`
	Narrowed    []fit.Narrowing   `json:"narrowed"`
	NotEnforced []fit.NotEnforced `json:"not_enforced"`
	// Changed is what was not as the rules want it after the call, or while it ran, by absolute paths.
	Changed []fit.Change `json:"changed,omitempty"`
	// Made are directories that were missing and were made for the call, as rules write them. Those that were still
	// empty when it ended are gone again.
	Made []string `json:"made,omitempty"`
}

// NewReport returns the report of a call that started nothing.
func NewReport(mode string) *Report {
	return &Report{
		Mode: mode, Tier: fit.TierNone,
		Rules: []fit.Enforced{}, Narrowed: []fit.Narrowing{}, NotEnforced: []fit.NotEnforced{},
	}
}

// Report returns what the call is enforced with.
func (a *Attempt) Report() *Report {
	return &Report{
		Mode: a.mode, Tier: a.Plan.Tier, ABI: a.Plan.ABI,
		Rules: a.Rules, Narrowed: a.Narrowed, NotEnforced: slices.Clone(a.NotEnforced), Made: a.MadeNames(),
	}
}

// MadeNames returns Made as rules write the paths.
func (a *Attempt) MadeNames() (names []string) {
	for _, p := range a.Made {
		if name, ok := a.policy.WirePath(p); ok {
			names = append(names, name)
		}
	}
	return names
}
