package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/machine"
)

type doctorCmd struct{}

func (c *doctorCmd) Run(a *app) error {
	limit, err := machine.ParseLimit(a.getenv(machine.LimitVariable))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	info := machine.Look()
	m := info.Machine
	var tried *machine.Attempt
	if m.Namespaces {
		attempt := sandbox.Try(a.ctx)
		tried, m = &attempt, info.Settle(attempt)
		if err := a.ctx.Err(); err != nil {
			return err
		}
	}
	d := diagnose(limit.Apply(m), machine.Describe(a.getenv), tried, sandbox.TreeControl())
	d.Simulated = limit.Simulated()
	if a.out.json {
		err = a.out.value(d)
	} else {
		a.diagnosis(d)
	}
	if err == nil && !d.OK {
		err = &exit.Error{Code: exit.Refused}
	}
	return err
}

// diagnosis prints it for people.
func (a *app) diagnosis(d *diagnosis) {
	head := a.out.heading
	s := d.System
	name := cmp.Or(map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}[s.OS], s.OS)
	system := strings.Join(filled(s.Distribution, strings.TrimSpace(name+" "+s.Kernel), s.Arch), ", ")
	a.out.printf("system      %s\n", show.Line(system))
	switch s.Container {
	case "":
	case "jphost":
		a.out.printf("inside of   a sandbox of jphost (seen by %s)\n", s.ContainerBy)
	default:
		a.out.printf("container   %s (seen by %s)\n", show.Line(s.Container), s.ContainerBy)
	}
	if s.AppArmor != "" {
		a.out.printf("apparmor    %s\n", show.Line(s.AppArmor))
	}
	if d.Simulated != "" {
		a.out.printf("simulated   %s, by %s\n", d.Simulated, machine.LimitVariable)
	}

	head("What there is")
	text := "no"
	if d.Machine.Landlock > 0 {
		text = fmt.Sprintf("version %d: %s", d.Machine.Landlock, strings.Join(d.Landlock, ", "))
	}
	a.out.printf("  landlock    %s\n  seccomp     %s\n  namespaces  %s\n", text, cond(d.Machine.Seccomp, "yes", "no"), cond(d.Machine.Namespaces, "yes (tried)", "no"))

	var calls, held, not [][]string
	for _, c := range d.Calls {
		calls = append(calls, []string{c.Calls, strings.Join(filled(c.By, c.But), ": ")})
	}
	for _, e := range d.Enforced {
		held = append(held, []string{e.What, e.By})
	}
	for _, n := range d.NotEnforced {
		not = append(not, []string{n.What, show.Line(n.Why)})
	}
	head("What enforces the rules of a call")
	a.out.table("  ", calls)
	head("What is enforced")
	a.out.table("  ", held)
	head("What is not enforced")
	a.out.table("  ", not)

	if len(d.Changes) > 0 {
		head("What to change")
	}
	for _, c := range d.Changes {
		a.out.printf("  %s: %s\n", c.Of, show.Line(c.Why))
		for _, line := range c.Do {
			a.out.printf("    %s\n", show.Line(line))
		}
	}
	if d.OK {
		a.out.printf("\nAll that jphost can enforce is available here.\n")
	} else {
		a.out.printf("\nNot all that jphost can enforce is available here.\n" +
			"sandbox.mode = \"required\" refuses calls whose rules cannot be enforced exactly.\n")
	}
}

// filled are the texts that are not empty.
func filled(texts ...string) []string {
	var list []string
	for _, t := range texts {
		if t != "" {
			list = append(list, t)
		}
	}
	return list
}
