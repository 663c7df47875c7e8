package cli

import (
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
)

// prepare prepares what would be started. It makes nothing.
func (c *sandboxPlanCmd) prepare(a *app) (*enclose.Call, *policy.Declared, error) {
	var d *policy.Declared
	var p enclose.Program
	var s enclose.Settings
	var err error
	if c.Tool != "" && !c.stated() && !c.program {
		d, p, s, err = c.tool(a)
	} else {
		d, p, s, err = c.given(a)
	}
	if err != nil {
		return nil, nil, err
	}
	s.Required = s.Required || c.Required
	if t := c.tier(); t != "" && t != s.Tier {
		s.Tier = t
		if s.Machine, err = enclose.Machine(a.ctx, t, nil, a.getenv); err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
	}
	s.TempBase, s.Dry = a.tempBase(), true
	call, refused, err := prepared(a.ctx, d, p, s)
	if refused != nil {
		a.out.warn(refused.Error()) // and this is what it would look like
	}
	return call, d, exit.With(exit.Usage, err)
}

// given is what `sandbox exec` would start with the same flags.
func (c *sandboxPlanCmd) given(a *app) (*policy.Declared, enclose.Program, enclose.Settings, error) {
	argv := c.Command
	if c.Tool != "" {
		argv = append([]string{c.Tool}, argv...)
	}
	if len(argv) == 0 {
		argv = []string{"sh"}
	}
	g, err := c.compile(a)
	if err != nil {
		return nil, enclose.Program{}, enclose.Settings{}, err
	}
	p, err := a.program(g, argv)
	if err != nil {
		return nil, p, enclose.Settings{}, err
	}
	m, err := enclose.Machine(a.ctx, c.tier(), nil, a.getenv)
	return g.declared, p, enclose.Settings{Machine: m, Paths: g.extra, Names: g.names, Limits: g.limits}, exit.With(exit.Usage, err)
}

// tool is what `run` would start.
func (c *sandboxPlanCmd) tool(a *app) (d *policy.Declared, p enclose.Program, s enclose.Settings, err error) {
	cfg, err := a.config()
	if err != nil {
		return nil, p, s, err
	}
	t, err := a.tool(cfg, c.Tool)
	if err != nil {
		return nil, p, s, exit.Errorf(exit.Usage, "%w\na program is written after --: jphost sandbox plan -- %s", err, show.Word(c.Tool))
	}
	if t.Source.Kind != config.SourceLocal {
		return nil, p, s, exit.Errorf(exit.Usage, "%s has source %q, and only local tools are started here\nthey are listed by: jphost tools", show.Visible(t.Name), t.Source.Kind)
	}
	f, err := a.effective(cfg, t)
	if err != nil {
		return nil, p, s, err
	}
	if f.missing != nil {
		f.declared.Close()
		return nil, p, s, exit.Errorf(exit.Usage, "%s: command of %s: %w", t.Command.Origin, show.Visible(t.Name), f.missing)
	}
	return f.declared, f.program, f.settings, nil
}
