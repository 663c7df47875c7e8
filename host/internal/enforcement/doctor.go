package enforcement

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// Diagnosis is what `jphost doctor --json` prints. Keys may be added.
type Diagnosis struct {
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
	Attempt     string          `json:"attempt,omitempty"`
	Tiers       []fit.Tier      `json:"tiers"`
	Calls       []ConfinedCalls `json:"calls"`
	Enforced    []Enforced      `json:"enforced"`
	NotEnforced []Enforced      `json:"not_enforced"`
	Changes     []Change        `json:"changes"`
}

// ConfinedCalls is a kind of calls and the tier that confines them.
type ConfinedCalls struct {
	Calls string   `json:"calls"`
	Tier  fit.Tier `json:"tier"`
	By    string   `json:"by"`
	// But says what this tier cannot do for them.
	But string `json:"but,omitempty"`
}

// Enforced is something that a policy speaks of, and by what it is enforced or why it is not.
type Enforced struct {
	What string `json:"what"`
	By   string `json:"by,omitempty"`
	Why  string `json:"why,omitempty"`
}

// Change is a change of the machine that would make more enforceable.
type Change struct {
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

// Diagnose says what a machine can enforce. survives says which processes may outlive their call; nil means none. It is
// pure.
func Diagnose(m fit.Machine, details machine.Details, tried *machine.Attempt, survives error) *Diagnosis {
	d := &Diagnosis{
		System: details, Machine: m, Landlock: []string{}, Tiers: append([]fit.Tier{}, m.Tiers()...), Calls: calls(m),
		Enforced: []Enforced{}, NotEnforced: []Enforced{}, Changes: []Change{},
		OK: m.Landlock >= fullABI && m.Namespaces && m.Seccomp,
	}
	if tried != nil {
		d.Attempt = tried.String()
	}
	for _, s := range landlockSteps {
		if m.Landlock >= s.abi {
			d.Landlock = append(d.Landlock, s.what)
		}
	}
	d.enforced(m, survives)
	for _, key := range []string{machine.Landlock, machine.Seccomp, machine.Namespaces, machine.Notify} {
		lines := strings.Split(m.Why[key], "\n")
		n := len(d.Changes)
		switch why := lines[0]; {
		case why == "":
		case n > 0 && d.Changes[n-1].Why == why: // the same cause needs one change only
			d.Changes[n-1].Of += ", " + key
		default:
			d.Changes = append(d.Changes, Change{key, why, append([]string{}, lines[1:]...)})
		}
	}
	if lacks, remedy := tooOld(m); m.Landlock > 0 && lacks != "" {
		d.Changes = append(d.Changes, Change{machine.Landlock, fmt.Sprintf("version %d cannot hold %s", m.Landlock, lacks), []string{remedy}})
	}
	return d
}

// tooOld says what the machine's Landlock is too old for, and what to do; both are empty if it is new enough.
func tooOld(m fit.Machine) (lacks, remedy string) {
	lacks = join(", nor ",
		when(m.Landlock < fit.NetABI, "TCP ports"),
		when(m.Landlock < fit.TruncateABI, "truncating"),
		when(m.Landlock < fit.ScopeABI && !m.Namespaces, "signals"))
	switch {
	case m.Namespaces:
		return lacks, "use Linux 6.7 or newer"
	case m.Landlock < fit.NetABI:
		return lacks, "use Linux 6.12 or newer; 6.7 is enough with namespaces"
	}
	return lacks, "use Linux 6.12 or newer; namespaces hold them too"
}

// calls says which tier confines which calls.
func calls(m fit.Machine) []ConfinedCalls {
	adding := ConfinedCalls{"programs that may write nothing", fit.TierLandlock, "landlock", ""}
	pinned := ConfinedCalls{"programs that may write", fit.TierNamespace, "namespaces", ""}
	taking := ConfinedCalls{"rules that take away from a wider one", fit.TierNamespace, "namespaces", ""}
	switch {
	case m.Landlock == 0:
		for _, c := range []*ConfinedCalls{&adding, &pinned, &taking} {
			c.Tier, c.By, c.But = fit.TierNone, "nothing", "only the tools' own checks hold"
		}
	case !m.Namespaces:
		pinned.Tier, pinned.By, pinned.But = fit.TierLandlock, "landlock", "protected paths (.jp, .git/config, …) are only compared after the call"
		taking.Tier, taking.By, taking.But = fit.TierLandlock, "landlock", "the wider rule shrinks to the entries that exist and are not affected"
	case !m.Alone():
		adding.Tier, adding.By = fit.TierNamespace, "namespaces"
	}
	return []ConfinedCalls{adding, pinned, taking}
}

// enforced says for each thing that a policy speaks of what enforces it, or why nothing does.
func (d *Diagnosis) enforced(m fit.Machine, survives error) {
	landlock := m.Landlock > 0
	private := landlock && m.Namespaces
	filter := landlock && m.Seccomp
	lost := ""
	if survives != nil {
		lost = survives.Error()
	}
	// Without a means, why says why nothing enforces it; without a reason that is no loss.
	thing := func(what, why string, means ...string) {
		if by := join(", ", means...); by != "" {
			d.Enforced = append(d.Enforced, Enforced{What: what, By: by})
		} else if why != "" {
			d.NotEnforced = append(d.NotEnforced, Enforced{What: what, Why: why})
		}
	}
	thing("files and directories: read, create, update, delete, execute", "there is no Landlock",
		when(landlock, "landlock"), when(private, "a private tree"))
	thing("truncating files that may not be updated",
		when(landlock && m.Landlock < fit.TruncateABI && !private, "needs Landlock 3 (Linux 6.2) or namespaces"))
	thing("entries that rules depend on stay in their place", when(landlock, "needs namespaces; compared after the call"),
		when(private, "mounts"))
	thing("metadata of what is not writable: modes, owners, times", "",
		when(private, "read-only mounts"), when(filter, "seccomp where nothing is writable"))
	thing("metadata elsewhere, where something may be written", when(!private, "needs namespaces"))
	thing("no network", "needs Landlock, and seccomp or namespaces",
		when(filter, "seccomp"), when(private, "a network of its own"))
	thing("a loopback and local sockets of the call's own, and no others",
		"needs namespaces and announced calls; without, no sockets can be made",
		when(private && filter && m.Notify, "namespaces and announced calls, where the network is closed"))
	thing("TCP ports", "needs Landlock 4 (Linux 6.7)", when(m.Landlock >= fit.NetABI, "landlock"))
	thing("hosts and paths of access.net", "the kernel sees addresses only; tools check them")
	thing("memory and variables of other processes", "needs Landlock",
		when(landlock, "landlock"), when(filter, "seccomp"), when(private, "a process space of its own"))
	thing("signals to other processes", "needs Landlock 6 (Linux 6.12) or namespaces",
		when(m.Landlock >= fit.ScopeABI, "landlock"), when(private, "a process space of its own"))
	thing("system calls that lead around all this", "needs seccomp and Landlock", when(filter, "seccomp"))
	thing("environment, time, output", "", "jphost")
	thing("every process of a call ends with it", lost, when(survives == nil, "jphost"))
	thing("access.commands: which programs, with which arguments", "the kernel does not see commands")
}

// Print prints the diagnosis for people.
func (d *Diagnosis) Print(out *term.Output) {
	s := d.System
	name := cmp.Or(map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}[s.OS], s.OS)
	out.Printf("system      %s\n", show.Line(join(", ", s.Distribution, strings.TrimSpace(name+" "+s.Kernel), s.Arch)))
	switch s.Container {
	case "":
	case "jphost":
		out.Printf("inside of   a sandbox of jphost (seen by %s)\n", s.ContainerBy)
	default:
		out.Printf("container   %s (seen by %s)\n", show.Line(s.Container), s.ContainerBy)
	}
	if s.AppArmor != "" {
		out.Printf("apparmor    %s\n", show.Line(s.AppArmor))
	}
	if d.Simulated != "" {
		out.Printf("simulated   %s, by %s\n", d.Simulated, machine.LimitVariable)
	}

	landlock := "no"
	if d.Machine.Landlock > 0 {
		landlock = fmt.Sprintf("version %d: %s", d.Machine.Landlock, strings.Join(d.Landlock, ", "))
	}
	out.Heading("What there is")
	out.Table("  ", [][]string{
		{"landlock", landlock},
		{"seccomp", cmp.Or(when(d.Machine.Notify, "yes, with announced calls"), when(d.Machine.Seccomp, "yes"), "no")},
		{"namespaces", cmp.Or(when(d.Machine.Namespaces, "yes (tried)"), "no")},
	})
	out.Heading("What enforces the rules of a call")
	out.Table("  ", rows(d.Calls, func(c ConfinedCalls) []string { return []string{c.Calls, join(": ", c.By, c.But)} }))
	out.Heading("What is enforced")
	out.Table("  ", rows(d.Enforced, func(e Enforced) []string { return []string{e.What, e.By} }))
	out.Heading("What is not enforced")
	out.Table("  ", rows(d.NotEnforced, func(e Enforced) []string { return []string{e.What, show.Line(e.Why)} }))

	if len(d.Changes) > 0 {
		out.Heading("What to change")
	}
	for _, c := range d.Changes {
		out.Printf("  %s: %s\n", c.Of, show.Line(c.Why))
		for _, line := range c.Do {
			out.Printf("    %s\n", show.Line(line))
		}
	}
	if d.OK {
		out.Printf("\nAll that jphost can enforce is available here.\n")
	} else {
		out.Printf("\nNot all that jphost can enforce is available here.\n" +
			"sandbox.mode = \"required\" refuses calls whose rules cannot be enforced exactly.\n")
	}
}

// when is a text if something is so, else "".
func when(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// join joins the texts that are not empty.
func join(separator string, texts ...string) string {
	texts = slices.DeleteFunc(texts, func(text string) bool { return text == "" })
	return strings.Join(texts, separator)
}
