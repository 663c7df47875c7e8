package cli

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// diagnosis is what `jphost doctor --json` prints. Keys may be added.
type diagnosis struct {
	// OK: the namespace tier works with everything that it needs.
	OK     bool            `json:"ok"`
	System machine.Details `json:"system"`
	// Machine is what the policies of calls are fitted to.
	Machine fit.Machine `json:"machine"`
	// Simulated is what JPHOST_SANDBOX_LIMIT took away.
	Simulated string `json:"simulated,omitempty"`
	// Landlock lists what its version can enforce.
	Landlock []string `json:"landlock_holds"`
	// Attempt says how an attempt to create namespaces ended: `works`, or what failed. It is empty without an attempt.
	Attempt     string      `json:"attempt,omitempty"`
	Tiers       []fit.Tier  `json:"tiers"`
	Calls       []heldCalls `json:"calls"`
	Enforced    []enforced  `json:"enforced"`
	NotEnforced []enforced  `json:"not_enforced"`
	Changes     []change    `json:"changes"`
}

// heldCalls is a kind of calls and the tier that confines them.
type heldCalls struct {
	Calls string   `json:"calls"`
	Tier  fit.Tier `json:"tier"`
	By    string   `json:"by"`
	// But says what this tier cannot do for them.
	But string `json:"but,omitempty"`
}

// enforced is something that a policy speaks of, and by what it is enforced or why it is not.
type enforced struct {
	What string `json:"what"`
	By   string `json:"by,omitempty"`
	Why  string `json:"why,omitempty"`
}

// change is a change of the machine that would make more enforceable.
type change struct {
	Of  string   `json:"of"`
	Why string   `json:"why"`
	Do  []string `json:"do"`
}

// landlockSteps are the versions of Landlock that enforce something new of a policy.
var landlockSteps = []struct {
	abi  int
	what string
}{
	{1, "files"},
	{fit.MoveABI, "moving and linking across directories"},
	{fit.TruncateABI, "truncating"},
	{fit.NetABI, "TCP ports"},
	{fit.IoctlABI, "device commands"},
	{fit.ScopeABI, "signals"},
}

// fullABI is the first version with which all of a policy can be enforced, if there are namespaces.
const fullABI = fit.NetABI

// diagnose says what a machine can enforce. survives says which processes may outlive their call; nil means none. It is
// pure.
func diagnose(m fit.Machine, details machine.Details, tried *machine.Attempt, survives error) *diagnosis {
	d := &diagnosis{
		System: details, Machine: m, Landlock: []string{},
		Enforced: []enforced{}, NotEnforced: []enforced{}, Changes: []change{},
		OK: m.Landlock >= fullABI && m.Namespaces && m.Seccomp,
	}
	if tried != nil {
		d.Attempt = tried.String()
	}
	d.Tiers = append([]fit.Tier{}, m.Tiers()...)
	for _, s := range landlockSteps {
		if m.Landlock >= s.abi {
			d.Landlock = append(d.Landlock, s.what)
		}
	}
	d.calls(m)
	d.holds(m, survives)
	for _, key := range []string{machine.Landlock, machine.Seccomp, machine.Namespaces} {
		if why := m.Why[key]; why != "" {
			lines := strings.Split(why, "\n")
			// The same cause needs one change only.
			if n := len(d.Changes); n > 0 && d.Changes[n-1].Why == lines[0] {
				d.Changes[n-1].Of += ", " + key
				continue
			}
			d.Changes = append(d.Changes, change{key, lines[0], append([]string{}, lines[1:]...)})
		}
	}
	if lacks, remedy := tooOld(m); m.Landlock > 0 && lacks != "" {
		d.Changes = append(d.Changes, change{machine.Landlock, fmt.Sprintf("version %d cannot hold %s", m.Landlock, lacks), []string{remedy}})
	}
	return d
}

// tooOld says what the machine's Landlock is too old for, and what to do; both are empty if it is new enough.
func tooOld(m fit.Machine) (lacks, remedy string) {
	lacks = strings.Join(filled(
		cond(m.Landlock < fit.NetABI, "TCP ports", ""),
		cond(m.Landlock < fit.TruncateABI, "truncating", ""),
		cond(m.Landlock < fit.ScopeABI && !m.Namespaces, "signals", ""),
	), ", nor ")
	switch {
	case m.Namespaces:
		return lacks, "use Linux 6.7 or newer"
	case m.Landlock < fit.NetABI:
		return lacks, "use Linux 6.12 or newer; 6.7 is enough with namespaces"
	}
	return lacks, "use Linux 6.12 or newer; namespaces hold them too"
}

func (d *diagnosis) calls(m fit.Machine) {
	adding := heldCalls{"programs that may write nothing", fit.TierLandlock, "landlock", ""}
	pinned := heldCalls{"programs that may write", fit.TierNamespace, "namespaces", ""}
	taking := heldCalls{"rules that take away from a wider one", fit.TierNamespace, "namespaces", ""}
	all := []*heldCalls{&adding, &pinned, &taking}
	switch {
	case m.Landlock == 0:
		for _, c := range all {
			c.Tier, c.By, c.But = fit.TierNone, "nothing", "only the tools' own checks hold"
		}
	case !m.Namespaces:
		pinned.Tier, pinned.By, pinned.But = fit.TierLandlock, "landlock", "protected paths (.jp, .git/config, …) are only compared after the call"
		taking.Tier, taking.By, taking.But = fit.TierLandlock, "landlock", "the wider rule shrinks to the entries that exist and are not affected"
	case !m.Alone():
		adding.Tier, adding.By = fit.TierNamespace, "namespaces"
	}
	for _, c := range all {
		d.Calls = append(d.Calls, *c)
	}
}

// holds says for each thing that a policy speaks of what enforces it, or why nothing does.
func (d *diagnosis) holds(m fit.Machine, survives error) {
	when := func(is bool, text string) string { return cond(is, text, "") }
	by := func(mechanisms ...string) string { return strings.Join(filled(mechanisms...), ", ") }
	landlock := m.Landlock > 0
	private := landlock && m.Namespaces
	filter := landlock && m.Seccomp
	lost := ""
	if survives != nil {
		lost = survives.Error()
	}
	// Without By, Why says why nothing enforces it; without a reason that is no loss.
	for _, thing := range []enforced{
		{
			"files and directories: read, create, update, delete, execute",
			by(when(landlock, "landlock"), when(private, "a private tree")), "there is no Landlock",
		},
		{
			"truncating files that may not be updated", "",
			when(landlock && m.Landlock < fit.TruncateABI && !private, "needs Landlock 3 (Linux 6.2) or namespaces"),
		},
		{
			"entries that rules depend on stay in their place",
			when(private, "mounts"), when(landlock, "needs namespaces; compared after the call"),
		},
		{
			"metadata of what is not writable: modes, owners, times",
			by(when(private, "read-only mounts"), when(filter, "seccomp where nothing is writable")), "",
		},
		{"metadata elsewhere, where something may be written", "", when(!private, "needs namespaces")},
		{
			"no network",
			by(when(filter, "seccomp"), when(private, "a network of its own")), "needs Landlock, and seccomp or namespaces",
		},
		{"TCP ports", when(m.Landlock >= fit.NetABI, "landlock"), "needs Landlock 4 (Linux 6.7)"},
		{"hosts and paths of access.net", "", "the kernel sees addresses only; tools check them"},
		{
			"memory and variables of other processes",
			by(when(landlock, "landlock"), when(filter, "seccomp"), when(private, "a process space of its own")), "needs Landlock",
		},
		{
			"signals to other processes",
			by(when(m.Landlock >= fit.ScopeABI, "landlock"), when(private, "a process space of its own")),
			"needs Landlock 6 (Linux 6.12) or namespaces",
		},
		{"system calls that lead around all this", when(filter, "seccomp"), "needs seccomp and Landlock"},
		{"environment, time, output", "jphost", ""},
		{"every process of a call ends with it", when(survives == nil, "jphost"), lost},
		{"access.commands: which programs, with which arguments", "", "the kernel does not see commands"},
	} {
		if thing.By != "" {
			thing.Why = ""
			d.Enforced = append(d.Enforced, thing)
		} else if thing.Why != "" {
			d.NotEnforced = append(d.NotEnforced, thing)
		}
	}
}

func cond(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}
