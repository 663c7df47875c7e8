package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

type sandboxExecCmd struct {
	Command []string `arg:"" rest:"" help:"The program and its arguments."`
	grants
	Report         string `placeholder:"FILE" help:"Write what was enforced, and what could not be, as JSON to FILE."`
	Quiet          bool   `short:"q" help:"Say nothing about what cannot be enforced; with --report, nor about what was refused."`
	ExplainDenials bool   `help:"Say what was refused, and what would allow it. Slows the program down."`

	dashed  bool     // -- came before the program
	file    *os.File // of Report
	denials []enforcement.Denial
	seen    *enforcement.Observed
}

// AfterApply looks whether -- came before the program.
func (c *sandboxExecCmd) AfterApply(ctx *kong.Context) error {
	c.dashed = dashed(ctx, len(c.Command))
	return nil
}

func (c *sandboxExecCmd) Run(a *app) error {
	if err := explainable(c.ExplainDenials); err != nil {
		return err
	}
	if err := c.openReport(a); err != nil {
		return err
	}
	g, err := c.compile(a)
	if err != nil {
		return err
	}
	return c.exec(a, g)
}

// options are what programs are prepared with by the flags.
func (g *mergedFlags) options(a *app, tier fit.Tier) (sandbox.Options, error) {
	m, err := sandbox.Probe(a.ctx, tier, nil, a.getenv)
	return sandbox.Options{
		Machine: &m, Tier: tier, Environ: a.environ, Paths: g.extra, Names: g.names, Limits: g.limits, TempDir: a.tempBase(),
	}, exit.With(exit.Usage, err)
}

// command finds what a command line starts.
func (g *mergedFlags) command(a *app, o sandbox.Options, argv []string) (*sandbox.Cmd, error) {
	p, err := sandbox.PreparePolicy(a.ctx, g.declared.ForFit(), o)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	cmd := p.Command(a.ctx, argv[0], argv[1:]...)
	cmd.Dir = g.cwd
	if cmd.Path, cmd.Err = sandbox.LookPath(argv[0], g.cwd, a.getenv("PATH")); cmd.Err != nil {
		return nil, notStarted(argv[0], cmd.Err)
	}
	return cmd, nil
}

// notStarted is the error for a program that cannot be started, with the exit status of shells.
func notStarted(program string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &exit.Error{Code: 127, Err: fmt.Errorf("%s: there is no such program\ncheck its path; it is relative to the working directory", show.Visible(program))}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return &exit.Error{Code: 126, Err: fmt.Errorf("%s cannot be executed: %w\nif it is a program, make it executable: chmod +x %s", show.Visible(program), wspath.Bare(err), show.Word(program))}
	}
	return &exit.Error{Code: 127, Err: fmt.Errorf("%s: %w", show.Visible(program), err)}
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

func (g *grants) tier() fit.Tier { return fit.ForcedTier(g.Tier) }

// warn says which rules do not do what they look like, and which are not enforced.
func (c *sandboxExecCmd) warn(a *app, g *mergedFlags, at *sandbox.Attempt) {
	if c.Quiet {
		return
	}
	a.warnOf(g.declared)
	for _, text := range enforcement.Warnings(at.Report(), "jphost sandbox plan with the same flags and program, or --report FILE") {
		a.out.warn(text)
	}
}

// warnOf says which rules do not do what they look like, such as one with a pattern in its path.
func (a *app) warnOf(d *policy.Declared) {
	for _, w := range d.Warnings {
		a.out.warn(w.String())
	}
}

type sandboxPlanCmd struct {
	Tool    string   `arg:"" optional:"" help:"The tool; after -- or with flags that grant, the program."`
	Command []string `arg:"" optional:"" help:"The arguments of the program."`
	grants
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
	profile, declared, err := c.profile(a)
	if err != nil {
		return err
	}
	a.warnOf(declared)
	if a.out.json {
		return a.out.value(profile)
	}
	a.out.printf("%s", strings.TrimRight(profile.String(), "\n")+"\n")
	return nil
}
