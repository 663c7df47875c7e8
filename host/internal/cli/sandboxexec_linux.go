package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// exec starts the program with the streams and the terminal of this process, and waits for the end of all of it.
func (c *sandboxExecCmd) exec(a *app, g *mergedFlags) error {
	cmd, err := c.program(a, g)
	if err != nil {
		return err
	}
	workspace := findRoot(g.root, a.housed().home()) // before the program can make another one
	signals := pass()
	cmd.BeforeStart = func(at *sandbox.Attempt) error {
		if at.Plan.Tier == fit.TierNone {
			why := at.NotEnforced[0]
			return exit.Errorf(exit.Refused, "%s was not run: nothing can be held here: %s\n%s\nor start it without jphost", show.Visible(c.Command[0]), why.Why, why.Remedy)
		}
		c.warn(a, g, at)
		if why := at.Explainable(); why != "" && c.ExplainDenials {
			a.out.warn(explainDenials + ": " + why)
		}
		if err := a.out.flush(); err != nil {
			return exit.With(exit.Host, err)
		}
		if at.Plan.Tier == fit.TierNamespace {
			signals.listen()
		}
		if len(signals.ends) > 0 { // there was no program that could hear it
			return exit.Errorf(exit.Interrupted, "interrupted before the program was started")
		}
		return nil
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(c.startError(g, err), c.report(a, cmd))
	}
	over := make(chan struct{})
	passing := make(chan struct{})
	go func() {
		defer close(passing)
		signals.pass(cmd, over)
	}()
	err = cmd.Wait()
	close(over)
	<-passing
	if seen := cmd.Refused(); seen != nil {
		c.refused(a, g, cmd)
	}
	if text := enforcement.Touched(cmd.State.Touched); text != "" && len(cmd.State.Changes) == 0 && !c.Quiet {
		a.out.warn(text)
	}
	// A call that was ended may have changed something too.
	if err := errors.Join(c.ended(err), a.hold(workspace, cmd), c.report(a, cmd)); err != nil {
		return err
	}
	c.hints(a, cmd)
	return programStatus(cmd.State, g.limits)
}

// program prepares the command that is to be started.
func (c *sandboxExecCmd) program(a *app, g *mergedFlags) (*sandbox.Cmd, error) {
	o, err := g.options(a, c.tier())
	if err != nil {
		return nil, err
	}
	o.Required, o.Helpers = c.Required, a.helpers
	if base, err := state.OS(a.housed().getenv).Base(); err == nil {
		call.OwnDirectories(g.declared, base, a.housed().environ)
	}
	cmd, err := g.command(a, o, c.Command)
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Explain = a.stdin, a.out.stdout, a.out.stderr, c.ExplainDenials
	return cmd, nil
}

// startError gives what stands in the way of a start its exit status.
func (c *sandboxExecCmd) startError(g *mergedFlags, err error) error {
	var refused *fit.RefusedError
	var start *sandbox.StartError
	var program *baseline.ProgramError
	var extra *baseline.ExtraError
	switch {
	case errors.As(err, &refused):
		return exit.Errorf(exit.Refused, "%w\nleave out --required to run with what can be held", err)
	case errors.As(err, &program):
		return &exit.Error{Code: 126, Err: err} // as shells have it
	case errors.As(err, &extra):
		return exit.With(exit.Usage, err)
	case !errors.As(err, &start):
	case start.NotGranted != "":
		return exit.Errorf(126, "%s needs %s to start, which is not granted: that a program names it is not enough outside of the system's directories\ngrant it yourself: --ro %s",
			show.Visible(start.Program), show.Visible(start.NotGranted), show.Word(start.NotGranted))
	case start.Directory():
		return &exit.Error{Code: 126, Err: fmt.Errorf("%w\nthe working directory is none that the program sees; start from the workspace: cd %s", err, show.Word(g.root))}
	case start.Refused() && errors.Is(err, unix.ENOENT):
		return &exit.Error{Code: 127, Err: err}
	case start.Refused():
		return &exit.Error{Code: 126, Err: err}
	}
	return exit.With(exit.Host, err)
}

// ended returns what is wrong with how the call ended, apart from the exit status of the program.
func (c *sandboxExecCmd) ended(err error) error {
	var errs []error
	if changed := (*sandbox.ChangedError)(nil); errors.As(err, &changed) {
		errs = append(errs, exit.Errorf(exit.Refused, "%s\nnothing was put back; writing calls of tools in this workspace are held until a person has looked: jphost trust accept\nundo what should not be there; what the program is to do, grant: --grant path=PATH,write", show.Text(changed.Error())))
	}
	lost, limit, control := (*sandbox.LostError)(nil), (*sandbox.LimitError)(nil), (*sandbox.ControlError)(nil)
	switch {
	case errors.As(err, &lost):
		errs = append([]error{exit.With(exit.Refused, lost)}, errs...)
	case errors.As(err, &limit):
		errs = append([]error{exit.Errorf(exit.Refused, "the program had more than %d processes and was ended\nlet it do less at a time, or raise --limit processes", limit.Processes)}, errs...)
	case errors.As(err, &control):
		errs = append([]error{exit.With(exit.Host, control)}, errs...)
	}
	return errors.Join(errs...)
}

// hints says after a failure what people who see it may not know.
func (c *sandboxExecCmd) hints(a *app, cmd *sandbox.Cmd) {
	if c.Quiet || cmd.State.Success() {
		return
	}
	if flag := c.swallowed(); flag != "" {
		a.out.note(fmt.Sprintf("%s stood after the program, so it was the program's\nwrite the flags of jphost before it: jphost sandbox exec %s … -- %s", flag, flag, show.Word(c.Command[0])))
	}
	if !a.out.errTerminal {
		return
	}
	if !cmd.Attempt.Plan.Net.Open {
		a.out.note("the program had no network; if it needs one: --net")
	}
	if cmd.State.Signal == 0 && !c.ExplainDenials && cmd.Attempt.Explainable() == "" {
		a.hintDenials()
	}
}

// refused says what the program was refused.
func (c *sandboxExecCmd) refused(a *app, g *mergedFlags, cmd *sandbox.Cmd) {
	x := enforcement.Explanation{Declared: g.declared, Attempt: cmd.Attempt, Home: a.getenv("HOME"), Advice: enforcement.Advice{Flags: c.Policy == ""}}
	if len(c.RO)+len(c.RW)+len(c.Grant) == 0 {
		x.Advice.Before = "--rw . " // what holds without any
	}
	if c.denials, c.seen = x.Explain(cmd.Refused()); !c.Quiet || c.Report == "" {
		a.denials(c.denials, c.seen, false)
	}
}

// hold has writing calls of tools in a workspace wait until a person has looked at the changes.
func (a *app) hold(root string, cmd *sandbox.Cmd) error {
	if len(cmd.State.Changes) == 0 {
		return nil
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	dir, err := state.OS(a.housed().getenv).Workspace(ws)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	var holds []consent.Hold
	for _, ch := range cmd.State.Changes {
		hold := consent.Hold{Reason: ch.What, Tool: "sandbox exec", Was: cmd.Attempt.Was(ch)}
		if name, inside := wspath.WithinAbs(ws.Root(), ch.Path); inside {
			hold.Path = cmp.Or(name, ".")
		} else {
			hold.Path, _ = cmd.Attempt.Name(ch.Path)
			hold.At = ch.Path
		}
		holds = append(holds, hold)
	}
	return exit.With(exit.Host, consent.OpenHolds(dir).Add(context.WithoutCancel(a.ctx), holds...))
}

// programStatus ends jphost as the program ended, as shells do.
func programStatus(s *sandbox.State, l fit.Limits) error {
	switch {
	case s.Signal != 0:
		code := exit.Code(128 + int(s.Signal))
		switch {
		case s.Signal == syscall.SIGXCPU && l.CPUSeconds > 0:
			return exit.Errorf(code, "the program used more than %d s of processor time and was ended\nraise --limit cpu_seconds", l.CPUSeconds)
		case s.Signal == syscall.SIGXFSZ && l.FileSize > 0:
			return exit.Errorf(code, "the program wrote a file of more than %d bytes and was ended\nraise --limit file_size", l.FileSize)
		}
		return &exit.Error{Code: code}
	case s.Code != 0:
		return &exit.Error{Code: exit.Code(s.Code)}
	}
	return nil
}
