package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/observe"
)

// apart has a second jphost run the command where this process has children already, which a shell left
// it with `exec jphost`. Whatever is below the process that starts the program counts as the program's:
// it hears signals, and is ended with it.
func apart(a *app) (done bool, err error) {
	if !observe.HasChildren() {
		return false, nil
	}
	return true, a.again(func(streams [3]*os.File) (int, error) {
		return observe.Again(append([]string{"jphost"}, a.args...), a.environ, streams, nil, func() {})
	})
}

// exec starts the program as a child of this process, with its streams and its terminal, and
// waits for the end of all of it.
func (c *sandboxExecCmd) exec(a *app, g *given, p enclose.Program) error {
	m, err := enclose.Machine(a.ctx, c.tier(), nil, a.getenv)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	s := enclose.Settings{Required: c.Required, Tier: c.tier(), Machine: m, Paths: g.extra, Names: g.names, Limits: g.limits, TempBase: a.tempBase()}
	workspace := findRoot(g.root, a.housed().home()) // before the program can make another one
	signals := pass()
	for attempt := 0; ; attempt++ {
		call, err := c.prepare(a, g, p, s)
		if err != nil {
			return err
		}
		c.warn(a, g, call) // of a further attempt what is new
		var status syscall.WaitStatus
		start := func() { status, err = c.start(a, call, g, p, signals) }
		if attempt == 0 {
			start()
		} else { // the thread of the first one may be behind a fence, where nothing can be mounted
			over := make(chan struct{})
			go func() {
				defer close(over)
				start()
			}()
			<-over
		}
		changes, end := call.End(context.WithoutCancel(a.ctx)) // all its processes are gone
		switch {
		case err != nil && confine.IsNamespaces(err) && s.Machine.Namespaces:
			s = s.WithoutNamespaces(err)
			continue
		case err != nil && confine.IsChanged(err) && attempt < 3:
			continue
		}
		if text := call.Touched(); text != "" && len(changes) == 0 && !c.Quiet {
			a.out.warn(text)
		}
		// A call that was ended may have changed something too.
		if err := errors.Join(err, end, changed(changes), a.hold(workspace, call, changes), c.report(a, call, changes)); err != nil {
			return err
		}
		c.hints(a, call, status)
		return programStatus(status, g.limits)
	}
}

// hints says after a failure what people who see it may not know.
func (c *sandboxExecCmd) hints(a *app, call *enclose.Call, status syscall.WaitStatus) {
	if c.Quiet || status.ExitStatus() == 0 {
		return
	}
	if flag := c.swallowed(); flag != "" {
		a.out.note(fmt.Sprintf("%s stood after the program, so it was the program's\nwrite the flags of jphost before it: jphost sandbox exec %s … -- %s", flag, flag, show.Word(c.Command[0])))
	}
	if !a.out.errTerminal {
		return
	}
	if !call.Plan.Net.Open {
		a.out.note("the program had no network; if it needs one: --net")
	}
	if !status.Signaled() && !c.ExplainDenials && call.CanObserve() == "" {
		a.hintDenials()
	}
}

// prepare makes a call that can be started: where nothing can be held, the program is not run.
func (c *sandboxExecCmd) prepare(a *app, g *given, p enclose.Program, s enclose.Settings) (*enclose.Call, error) {
	if base, err := state.OS(a.housed().getenv).Base(); err == nil {
		call.OwnDirectories(g.declared, base, a.housed().environ)
	}
	call, err := enclose.Prepare(a.ctx, g.declared, p, s)
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		return nil, errors.Join(c.report(a, call, nil), exit.Errorf(exit.Refused, "%w\nleave out --required to run with what can be held", err))
	}
	if err != nil {
		return nil, prepareError(err)
	}
	if call.Plan.Tier == fit.TierNone {
		_, end := call.End(a.ctx)
		why, remedy := s.Machine.Lacks("landlock")
		return nil, errors.Join(end, c.report(a, call, nil), exit.Errorf(exit.Refused, "%s was not run: nothing can be held here: %s\n%s\nor start it without jphost", show.Visible(p.Argv[0]), why, remedy))
	}
	return call, nil
}

// prepareError gives what stands in the way of a start its exit status.
func prepareError(err error) error {
	switch program, extra := (*baseline.ProgramError)(nil), (*baseline.ExtraError)(nil); {
	case errors.As(err, &program):
		return &exit.Error{Code: 126, Err: err} // as shells have it
	case errors.As(err, &extra):
		return exit.With(exit.Usage, err)
	}
	return exit.With(exit.Host, err)
}

// changed says what the program left otherwise than the rules want it.
func changed(changes []fit.Change) error {
	if len(changes) == 0 {
		return nil
	}
	text := "this is not as the rules want it:"
	for _, ch := range changes {
		text += "\n  " + show.Line(ch.String())
	}
	return exit.Errorf(exit.Refused, "%s\nnothing was put back; writing calls of tools in this workspace are held until a person has looked: jphost trust accept\nundo what should not be there; what the program is to do, grant: --grant path=PATH,write", text)
}

// hold has writing calls of tools in a workspace wait until a person has looked at the changes.
func (a *app) hold(root string, call *enclose.Call, changes []fit.Change) error {
	if len(changes) == 0 {
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
	for _, ch := range changes {
		hold := consent.Hold{Reason: ch.What, Tool: "sandbox exec", Was: call.Was(ch)}
		if name, inside := wspath.WithinAbs(ws.Root(), ch.Path); inside {
			hold.Path = cmp.Or(name, ".")
		} else {
			hold.Path, _ = call.Name(ch.Path)
			hold.At = ch.Path
		}
		holds = append(holds, hold)
	}
	return exit.With(exit.Host, consent.OpenHolds(dir).Add(context.WithoutCancel(a.ctx), holds...))
}

// programStatus ends jphost as the program ended, as shells do.
func programStatus(s syscall.WaitStatus, l fit.Limits) error {
	switch {
	case s.Signaled():
		code := exit.Code(128 + int(s.Signal()))
		switch {
		case s.Signal() == syscall.SIGXCPU && l.CPUSeconds > 0:
			return exit.Errorf(code, "the program used more than %d s of processor time and was ended\nraise --limit cpu_seconds", l.CPUSeconds)
		case s.Signal() == syscall.SIGXFSZ && l.FileSize > 0:
			return exit.Errorf(code, "the program wrote a file of more than %d bytes and was ended\nraise --limit file_size", l.FileSize)
		}
		return &exit.Error{Code: code}
	case s.ExitStatus() != 0:
		return &exit.Error{Code: exit.Code(s.ExitStatus())}
	}
	return nil
}
