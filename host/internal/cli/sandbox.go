package cli

import (
	"errors"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

type sandboxExecCmd struct {
	Command []string `arg:"" rest:"" help:"The program and its arguments."`
	grants.Exec
	dashed bool // -- came before the program
}

// AfterApply looks whether -- came before the program.
func (c *sandboxExecCmd) AfterApply(ctx *kong.Context) error {
	c.dashed = dashed(ctx, len(c.Command))
	return nil
}

func (c *sandboxExecCmd) Run(a *app) error {
	if err := a.unconfigured(); err != nil {
		return err
	}
	return c.Start(a.Process, c.Command, c.swallowed)
}

// unconfigured refuses flags that choose a configuration, for commands that read none.
func (a *app) unconfigured() error {
	if len(a.global.Cfg) > 0 || a.global.Conversation != "" {
		return exit.Errorf(exit.Usage, "--cfg and --conversation mean nothing here: no configuration is read\nsay what is granted with the flags of this command")
	}
	return nil
}

// swallowed is a flag of this command among the arguments of the program, which nobody marked as the program's by a
// -- before it; "" if there is none.
func (c *sandboxExecCmd) swallowed() string {
	if c.dashed {
		return ""
	}
	l, _ := read([]string{"sandbox", "exec", "--help"}) // a line that knows the flags
	for _, word := range c.Command[1:] {
		name, _, _ := strings.Cut(word, "=")
		if f := l.flag(name); f != nil && name == "--"+f.Name && !f.Hidden && f.Name != "help" {
			return name
		}
	}
	return ""
}

type sandboxPlanCmd struct {
	Tool    string   `arg:"" optional:"" help:"The tool; after -- or with flags that grant, the program."`
	Command []string `arg:"" optional:"" help:"The arguments of the program."`
	grants.Flags
	program bool // -- came before the first word, so Tool is a program
}

// AfterApply looks whether -- came before the first word.
func (c *sandboxPlanCmd) AfterApply(ctx *kong.Context) error {
	for _, p := range ctx.Path {
		if p.Positional != nil && p.Positional.Name == "tool" {
			c.program = dashed(ctx, len(p.Remainder())+1)
		}
	}
	return nil
}

func (c *sandboxPlanCmd) Run(a *app) error {
	d, cmd, err := c.prepare(a)
	if err != nil {
		return err
	}
	at, err := cmd.Preview()
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		a.Out.Warn(err.Error()) // and this is what it looks like
	} else if err != nil {
		return exit.With(exit.Usage, err)
	}
	for _, w := range d.Warnings {
		a.Out.Warn(w.String())
	}
	profile := enforcement.NewProfile(at, cmd.Path, d.Access)
	if a.Out.JSON {
		return a.Out.Value(profile)
	}
	profile.Print(a.Out)
	return nil
}

// prepare prepares what would be started: a tool as in `run`, or a program as in `sandbox exec`.
func (c *sandboxPlanCmd) prepare(a *app) (*policy.Declared, *sandbox.Cmd, error) {
	if c.Tool != "" && !c.Stated() && !c.program {
		return c.tool(a)
	}
	if err := a.unconfigured(); err != nil {
		return nil, nil, err
	}
	argv := c.Command
	if c.Tool != "" {
		argv = append([]string{c.Tool}, argv...)
	}
	if len(argv) == 0 {
		argv = []string{"sh"}
	}
	return c.Plan(a.Process, argv)
}

// tool prepares what `run` would start.
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
	if tier := fit.ForcedTier(c.Tier); tier != "" && tier != o.Tier {
		m, err := sandbox.Probe(a.Ctx, tier, nil, a.Getenv)
		if err != nil {
			return nil, nil, exit.With(exit.Usage, err)
		}
		o.Tier, o.Machine = tier, &m
	}
	cmd, err := f.command(o)
	return f.declared, cmd, exit.With(exit.Usage, err)
}
