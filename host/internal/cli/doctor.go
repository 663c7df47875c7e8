package cli

import (
	"errors"
	"runtime"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/jptool/version"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/machine"
)

type doctorCmd struct{}

func (c *doctorCmd) Run(a *app) error {
	limit, err := machine.ParseLimit(a.Getenv(machine.LimitVariable))
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	info := machine.Look()
	m := info.Machine
	var tried *machine.Attempt
	if m.Namespaces {
		attempt := sandbox.Try(a.Ctx)
		tried, m = &attempt, info.Settle(attempt)
		if err := a.Ctx.Err(); err != nil {
			return err
		}
	}
	d := enforcement.Diagnose(limit.Apply(m), machine.Describe(a.Getenv), tried, sandbox.TreeControl())
	d.Simulated = limit.Simulated()
	if a.Out.JSON {
		err = a.Out.Value(d)
	} else {
		d.Print(a.Out)
	}
	return errors.Join(err, denied(!d.OK))
}

type versionCmd struct{}

func (c *versionCmd) Run(a *app) error {
	b := version.Read()
	if a.Out.JSON {
		return a.Out.Value(map[string]string{
			"version": b.Version, "revision": b.Revision, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		})
	}
	a.Out.Printf("%s", b.Line("jphost"))
	return nil
}
