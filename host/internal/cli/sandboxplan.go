package cli

import (
	"errors"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

// profile describes what would be started; nothing is made.
func (c *sandboxPlanCmd) profile(a *app) (*enforcement.Profile, *policy.Declared, error) {
	var d *policy.Declared
	var cmd *sandbox.Cmd
	var err error
	if c.Tool != "" && !c.stated() && !c.program {
		d, cmd, err = c.tool(a)
	} else {
		d, cmd, err = c.fromFlags(a)
	}
	if err != nil {
		return nil, nil, err
	}
	at, err := cmd.Preview()
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		a.out.warn(err.Error()) // and this is what it looks like
	} else if err != nil {
		return nil, nil, exit.With(exit.Usage, err)
	}
	return enforcement.NewProfile(at, cmd.Path, d.Access), d, nil
}

// fromFlags is what `sandbox exec` would start with the same flags.
func (c *sandboxPlanCmd) fromFlags(a *app) (*policy.Declared, *sandbox.Cmd, error) {
	argv := c.Command
	if c.Tool != "" {
		argv = append([]string{c.Tool}, argv...)
	}
	if len(argv) == 0 {
		argv = []string{"sh"}
	}
	g, err := c.compile(a)
	if err != nil {
		return nil, nil, err
	}
	o, err := g.options(a, c.tier())
	if err != nil {
		return nil, nil, err
	}
	o.Required = c.Required
	cmd, err := g.command(a, o, argv)
	return g.declared, cmd, err
}

// tool is what `run` would start.
func (c *sandboxPlanCmd) tool(a *app) (*policy.Declared, *sandbox.Cmd, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	t, err := a.tool(cfg, c.Tool)
	if err != nil {
		return nil, nil, exit.Errorf(exit.Usage, "%w\na program is written after --: jphost sandbox plan -- %s", err, show.Word(c.Tool))
	}
	if t.Source.Kind != config.SourceLocal {
		return nil, nil, exit.Errorf(exit.Usage, "%s has source %q, and only local tools are started here\nthey are listed by: jphost tools", show.Visible(t.Name), t.Source.Kind)
	}
	f, err := a.effective(cfg, t)
	if err != nil {
		return nil, nil, err
	}
	if f.missing != nil {
		return nil, nil, exit.Errorf(exit.Usage, "%s: command of %s: %w", t.Command.Origin, show.Visible(t.Name), f.missing)
	}
	o := f.options
	o.Required = o.Required || c.Required
	// This shows what the sandbox would do, whatever the configuration says.
	o.Off = false
	if t := c.tier(); t != "" && t != o.Tier {
		m, err := sandbox.Probe(a.ctx, t, nil, a.getenv)
		if err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
		o.Tier, o.Machine = t, &m
	}
	cmd, err := f.command(o)
	return f.declared, cmd, exit.With(exit.Usage, err)
}
