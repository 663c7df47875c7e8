package enforcement

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// lesser is a machine without what another one has: Landlock only up to abi, namespaces and filters only if they are true.
func lesser(m fit.Machine, abi int, namespaces, seccomp bool) fit.Machine {
	return machine.Lesser{ABI: abi, HasABI: true, NoNamespaces: !namespaces, NoSeccomp: !seccomp}.Apply(m)
}

func TestDiagnose(t *testing.T) {
	full := fit.Machine{Landlock: 7, Namespaces: true, Seccomp: true, Notify: true}
	const (
		none, landlock, namespace = fit.TierNone, fit.TierLandlock, fit.TierNamespace
	)
	has := func(list []string, word string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, word) })
	}
	for _, c := range []struct {
		name    string
		machine fit.Machine
		ok      bool
		// tiers of reading, writing and taking away.
		tiers []fit.Tier
		// enforced and not have words of what must be in each list.
		enforced, not []string
		changes       int
	}{
		{
			"all", full, true,
			[]fit.Tier{landlock, namespace, namespace},
			[]string{"files", "entries", "metadata", "no network", "TCP ports", "signals", "memory", "system calls"},
			[]string{"hosts", "access.commands"},
			0,
		},
		{
			"Debian 12", lesser(full, 2, true, true), false,
			[]fit.Tier{namespace, namespace, namespace},
			[]string{"files", "entries", "no network", "signals", "memory"},
			[]string{"TCP ports"},
			1,
		},
		{
			"Ubuntu 24.04", lesser(full, 4, false, true), false,
			[]fit.Tier{landlock, landlock, landlock},
			[]string{"files", "no network", "TCP ports"},
			[]string{"entries", "metadata", "signals"},
			2,
		},
		{
			"RHEL 9 without namespaces", lesser(full, 1, false, true), false,
			[]fit.Tier{landlock, landlock, landlock},
			[]string{"files", "no network"},
			[]string{"entries", "truncating", "TCP ports", "metadata", "signals"},
			2,
		},
		{
			"an old kernel", lesser(full, 0, true, true), false,
			[]fit.Tier{none, none, none},
			[]string{"environment"},
			[]string{"files", "metadata", "no network", "TCP ports", "memory", "signals", "system calls"},
			1,
		},
		{
			"without filters", lesser(full, 7, true, false), false,
			[]fit.Tier{namespace, namespace, namespace},
			[]string{"files", "no network"},
			[]string{"system calls"},
			1,
		},
		{
			"nothing",
			fit.Machine{Why: map[string]string{"landlock": "a\nb", "namespaces": "a\nb", "seccomp": "a\nb"}},
			false,
			[]fit.Tier{none, none, none},
			[]string{"environment"},
			[]string{"files"},
			1,
		},
	} {
		d := Diagnose(c.machine, machine.Details{}, nil, nil)
		var tiers []fit.Tier
		for _, k := range d.Calls {
			tiers = append(tiers, k.Tier)
		}
		if d.OK != c.ok || !slices.Equal(tiers, c.tiers) || len(d.Changes) != c.changes {
			t.Errorf("%s: ok %t, tiers %q, changes %+v", c.name, d.OK, tiers, d.Changes)
		}
		var enforced, not []string
		for _, e := range d.Enforced {
			if e.By == "" {
				t.Errorf("%s: %q is enforced by nothing", c.name, e.What)
			}
			enforced = append(enforced, e.What)
		}
		for _, n := range d.NotEnforced {
			not = append(not, n.What)
			if slices.Contains(enforced, n.What) {
				t.Errorf("%s: %q is both enforced and not", c.name, n.What)
			}
		}
		for _, w := range c.enforced {
			if !has(enforced, w) {
				t.Errorf("%s: %q is not among the enforced: %q", c.name, w, enforced)
			}
		}
		for _, w := range c.not {
			if !has(not, w) {
				t.Errorf("%s: %q is not among what is not enforced: %q", c.name, w, not)
			}
		}
		if !d.OK && len(d.Changes) == 0 {
			t.Errorf("%s: nothing to change", c.name)
		}
		for _, change := range d.Changes {
			if len(change.Do) == 0 {
				t.Errorf("%s: %+v does not say what to do", c.name, change)
			}
		}
	}
}

// Who follows the advice on the kernel finds nothing more to change in it.
func TestDoctorNamesTheKernelThatIsEnough(t *testing.T) {
	for _, c := range []struct {
		abi         int
		namespaces  bool
		why, remedy string
	}{
		{2, true, "version 2 cannot hold TCP ports, nor truncating", "use Linux 6.7 or newer"},
		{2, false, "version 2 cannot hold TCP ports, nor truncating, nor signals", "use Linux 6.12 or newer; 6.7 is enough with namespaces"},
		{3, true, "version 3 cannot hold TCP ports", "use Linux 6.7 or newer"},
		{4, false, "version 4 cannot hold signals", "use Linux 6.12 or newer; namespaces hold them too"},
		{4, true, "", ""},
		{6, false, "", ""},
	} {
		why, remedy := "", ""
		d := Diagnose(lesser(fit.Machine{Landlock: 7, Namespaces: true, Seccomp: true}, c.abi, c.namespaces, true), machine.Details{}, nil, nil)
		for _, change := range d.Changes {
			if change.Of == machine.Landlock {
				why, remedy = change.Why, strings.Join(change.Do, "\n")
			}
		}
		if why != c.why || remedy != c.remedy {
			t.Errorf("version %d, namespaces %t: %q, %q, want %q, %q", c.abi, c.namespaces, why, remedy, c.why, c.remedy)
		}
	}
}

// What may survive a call is told, and not counted among what holds.
func TestDoctorTellsWhatSurvives(t *testing.T) {
	const what = "every process of a call ends with it"
	for _, survives := range []error{nil, errors.New("some live on")} {
		d := Diagnose(fit.Machine{}, machine.Details{}, nil, survives)
		held := slices.ContainsFunc(d.Enforced, func(e Enforced) bool { return e.What == what })
		told := slices.ContainsFunc(d.NotEnforced, func(n Enforced) bool { return n.What == what && n.Why == "some live on" })
		if held != (survives == nil) || told == held {
			t.Errorf("%v: enforced %v, told %v", survives, held, told)
		}
	}
}
