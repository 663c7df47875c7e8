package fit

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// Options say how to fit, and what the program needs besides its policy.
type Options struct {
	// Required refuses a call that cannot be held exactly (sandbox.mode = "required").
	Required bool
	// Tier forces TierLandlock or TierNamespace; "" takes the cheapest one that will do.
	Tier Tier
	// Runtime is what the program needs to start; its nodes exist. Devices are nodes
	// below /dev.
	Runtime []Grant
	Devices []string
	// Given are the paths of those of Runtime that people grant besides the rules.
	Given []string
	// Temp is the private directory of the call as the caller would make it; the
	// namespace tier has one of its own.
	Temp   string
	Limits Limits
	// FirstFD is the number of the first descriptor that is handed down for staged
	// files, at least 3. Descriptors below it belong to the caller.
	FirstFD int
	// Arguments are the texts among the arguments of the call: a directory that is missing is made
	// where one of them names something below it. [Prepare] finds out what they name, canonical and
	// absolute: Named, which is what Fit goes by.
	Arguments []string
	Named     []string
	// Checks: the program checks the policy itself. It is started even if there is too much to look through for what
	// patterns withhold.
	Checks bool
	// Dry: nothing is made. What would be made is taken to be there.
	Dry bool
	// NoMake are directories that are left missing, with the error of making them.
	NoMake map[string]error
	// supposed are directories that a dry run takes to be there.
	supposed []Node
	// holding are those of Given in which patterns withhold something.
	holding []string
}

// Fitted is what becomes of a declared policy on one machine. Access grants
// nothing that was not declared, and Plan holds it, but for what NotEnforced names.
type Fitted struct {
	// Access is the effective policy, for the tool.
	Access *jptool.AccessPolicy `json:"access"`
	Plan   *Plan                `json:"plan"`
	// Rules says of each rule what holds it.
	Rules       []Enforced    `json:"rules"`
	Narrowed    []Narrowing   `json:"narrowed"`
	NotEnforced []NotEnforced `json:"not_enforced"`
	// Unavailable is what the call does without although no rule takes it away.
	Unavailable []Unavailable `json:"unavailable"`
	// After is to be checked when the call has ended: [Snapshot] before, Verify after.
	After []Check `json:"after"`
	// Make are directories to make before the call, outer before inner (see [Prepare]).
	// Until they are there, Access and Plan take them for missing.
	Make []string `json:"make,omitempty"`
	// Withheld are the places that the patterns of the policy withhold, and Scanned is what was looked at to find them.
	Withheld []Withheld `json:"withheld,omitempty"`
	Scanned  Scanned    `json:"scanned,omitzero"`
	// Want are directories whose listing would allow more ([Facts.List]).
	Want []string `json:"-"`
}

// OwnCheck is what holds a rule that the operating system does not hold.
const OwnCheck = "the tool's own check"

// Enforced says what holds a rule.
type Enforced struct {
	Rule       string `json:"rule"`
	Origin     string `json:"origin,omitempty"`
	EnforcedBy string `json:"enforced_by"`
}

// Narrowing is a rule that grants less than it says, because less is all that can be held.
type Narrowing struct {
	Rule   string `json:"rule"`
	Origin string `json:"origin,omitempty"`
	Became string `json:"became"`
	Why    string `json:"why"`
	Remedy string `json:"remedy"`
	// Index is that of the rule in the list of the declared policy, -1 for the default of the
	// workspace. Missing: nothing is there that the rule could be enforced on.
	Index   int  `json:"-"`
	Missing bool `json:"-"`
}

// String is the narrowing for people, with its remedy on a second line.
func (n *Narrowing) String() string {
	return fmt.Sprintf("%s became %s: %s\n  %s", n.Rule, n.Became, n.Why, n.Remedy)
}

// NotEnforced is something that the operating system does not hold; the tool's own checks
// still obey it.
type NotEnforced struct {
	// Rule is empty for what concerns the whole call.
	Rule   string `json:"rule,omitempty"`
	Origin string `json:"origin,omitempty"`
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
	// Known: one of the documented differences, which do not count as inexact.
	Known bool `json:"known_difference,omitempty"`
}

// Exact reports whether everything is held but for the documented differences.
func (f *Fitted) Exact() bool { return len(f.inexact()) == 0 }

// inexact is what is not held and counts.
func (f *Fitted) inexact() []NotEnforced {
	return slices.DeleteFunc(slices.Clone(f.NotEnforced), func(n NotEnforced) bool { return n.Known })
}

// RefusedError says that a call may not run because the sandbox must hold it and cannot.
type RefusedError struct {
	Tier    Tier
	Reasons []NotEnforced
	// Always: it does not matter whether the sandbox is required, since what is withheld must be.
	Always bool
}

// Error lists what is not held, indented, and below it what to change on the machine or in the policy.
func (e *RefusedError) Error() string {
	text := "the sandbox is required and cannot hold this call exactly"
	if e.Always {
		text = "what has to be withheld from this call cannot be withheld"
	}
	var remedies []string
	for _, r := range e.Reasons {
		if text += "\n  "; r.Rule != "" {
			text += r.Rule + ": "
		}
		text += r.What + " (" + r.Why + ")"
		if r.Remedy != "" && !slices.Contains(remedies, r.Remedy) {
			remedies = append(remedies, r.Remedy)
		}
	}
	return strings.Join(append([]string{text}, remedies...), "\n")
}

// ErrNoPolicy: where there is a sandbox, every call has a policy.
var ErrNoPolicy = errors.New("there is no access policy to hold; declare one, or run without the sandbox")

// Lacks says why the machine does not have something ("landlock", "namespaces" or "seccomp"), and
// what to change.
func (m Machine) Lacks(key string) (why, remedy string) {
	why, remedy, _ = strings.Cut(m.Why[key], "\n")
	if strings.Contains(remedy, "\n") {
		remedy = "" // too much for one line
	}
	doctor := "jphost doctor says what to change"
	if key == "namespaces" {
		doctor = "make user namespaces available to jphost (jphost doctor says how)"
	}
	return cmp.Or(why, "this machine does not have it"), cmp.Or(remedy, doctor)
}

// Tiers lists the tiers that the machine has, cheapest first.
func (m Machine) Tiers() []Tier {
	switch {
	case m.Landlock == 0:
		return nil // rights inside a private tree are Landlock's too
	case !m.Namespaces:
		return []Tier{TierLandlock}
	}
	return []Tier{TierLandlock, TierNamespace}
}

// Fit decides what of a declared policy can be held exactly on a machine, and how.
// It is pure. The result is complete also with a *RefusedError, which means that the
// call must not run; after any other error there is none.
func Fit(d *Policy, facts *Facts, m Machine, o Options) (*Fitted, error) {
	if d.Access == nil {
		return nil, ErrNoPolicy
	}
	if facts.node(d.Site.Root).Kind != Dir {
		return nil, fmt.Errorf("the workspace %q is no directory", d.Site.Root)
	}
	h, tier := newInput(d, facts, m, o).choose()
	f := h.fitted(tier)
	if len(h.leaks) > 0 {
		return f, &RefusedError{Tier: tier, Reasons: h.leaks, Always: true}
	}
	if reasons := f.inexact(); o.Required && len(reasons) > 0 {
		return f, &RefusedError{Tier: tier, Reasons: reasons}
	}
	return f, nil
}

// choose fits for the cheapest tier that is exact and holds metadata, or the one that is forced. Landlock
// has no right for modes, owners, times and attributes: where nothing may be written the system call filter
// refuses to change them altogether, else only a private tree keeps those of everything else.
func (in *input) choose() (*fitting, Tier) {
	h := in.fitting()
	if in.machine.Landlock == 0 {
		h.unenforced()
		return h, TierNone
	}
	h.byMounts()
	switch plain := len(h.covers) == 0 && len(h.pins) == 0; {
	case in.noTree == "" && (!plain || h.writes() || !in.machine.Alone() || in.options.Tier == TierNamespace):
		h.freeze()
		in.besideTmp(h)
		h.keepWays()
		return h, TierNamespace
	case !plain:
		h = in.byGrants()
	}
	h.keepWays()
	return h, TierLandlock
}

// writes reports whether something may be written anywhere. The private directory of the call does not
// count, nor does what is handed down: neither is a grant.
func (h *fitting) writes() bool {
	for _, granted := range []map[string]jptool.Caps{h.grants, h.runtime} {
		for _, caps := range granted {
			if caps&jptool.Write != 0 {
				return true
			}
		}
	}
	return false
}

// Alone reports whether Landlock and the filter hold, without namespaces, all that no rule
// speaks of: other processes, what is outside of the trees, and a closed network.
func (m Machine) Alone() bool { return m.Landlock >= ScopeABI && m.Seccomp }

// tierRemedy is for a forced tier, by the configuration or by a flag.
const tierRemedy = `set sandbox.tier = "auto", or leave out --tier`
