package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/run"
	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/sandbox/observe"
)

// exec starts the program as a child of this process, with its streams and its terminal, and
// waits for the end of all of it.
func (c *sandboxExecCmd) exec(a *app, g *given, p enclose.Program) error {
	m, err := enclose.Machine(a.ctx, nil, a.getenv)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if err := c.openReport(); err != nil {
		return err
	}
	s := enclose.Settings{Required: c.Required, Tier: c.tier(), Machine: m, Paths: g.extra, Limits: g.limits, TempBase: a.tempBase()}
	for attempt := 0; ; attempt++ {
		call, err := enclose.Prepare(a.ctx, g.declared, p, s)
		if refused := (*sandbox.RefusedError)(nil); errors.As(err, &refused) {
			return errors.Join(c.report(a, call, nil), exit.Errorf(exit.Refused, "%w\nleave out --required to run with what can be held", err))
		}
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		if call.Plan.Tier == sandbox.TierNone {
			_, end := call.End(a.ctx)
			why, remedy := m.Lacks("landlock")
			return errors.Join(end, c.report(a, call, nil), exit.Errorf(exit.Refused, "%s was not run: nothing can be held here: %s\n%s\nor start it without jphost", ask.Visible(p.Argv[0]), why, remedy))
		}
		c.warn(a, call) // of a further attempt what is new
		status, err := c.start(a, call, g, p)
		changes, end := call.End(context.WithoutCancel(a.ctx))
		switch {
		case err != nil && confine.IsNamespaces(err) && s.Machine.Namespaces:
			s = s.WithoutNamespaces(err)
			continue
		case err != nil && confine.IsChanged(err) && attempt < 3:
			continue
		}
		// A call that was ended may have changed something too.
		if err := errors.Join(err, end, changed(changes), c.report(a, call, changes)); err != nil {
			return err
		}
		return programStatus(status)
	}
}

// changed says what the program left otherwise than the rules want it.
func changed(changes []sandbox.Change) error {
	if len(changes) == 0 {
		return nil
	}
	text := "after the program had ended, this was not as it was:"
	for _, ch := range changes {
		text += "\n  " + ask.VisibleLine(ch.String())
	}
	return exit.Errorf(exit.Refused, "%s\nthe rules withhold it; nothing was put back", text)
}

// start runs the program to its end, and ends what it leaves behind.
func (c *sandboxExecCmd) start(a *app, call *enclose.Call, g *given, p enclose.Program) (syscall.WaitStatus, error) {
	// What the program starts and leaves behind becomes a child of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, exit.With(exit.Host, err)
	}
	ctx, err := call.Guard(a.ctx)
	if err != nil {
		return 0, exit.With(exit.Host, err)
	}
	cwd, err := workingDirectory() // links on the way to it are not in a private tree
	if err != nil {
		return 0, exit.With(exit.Usage, err)
	}
	if err := a.out.flush(); err != nil {
		return 0, exit.With(exit.Host, err)
	}
	cmd := &exec.Cmd{
		Path: p.Path, Args: p.Argv, Env: call.Env(), Dir: cwd, Stdin: a.stdin, Stdout: a.out.stdout, Stderr: a.out.stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL},
	}
	link := observe.From(a.ctx)
	if why := call.CanObserve(); link != nil && why != "" {
		a.out.warn(explainDenials + ": " + why)
		link = nil
	}
	var gone <-chan struct{} // the observer
	if link != nil {
		if err := call.Observe(link); err != nil {
			return 0, exit.With(exit.Host, err)
		}
		cmd.ExtraFiles = []*os.File{link.File()}
		gone = link.Gone()
	}
	// The terminal sends these to the program too, which may go on: so does this process.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, os.Interrupt, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	// The program is killed when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	child, err := confine.New().Start(call.Plan, cmd)
	if err != nil {
		return 0, startError(p, cwd, g.root, err)
	}
	defer child.Close()
	over, crowd := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		done := ctx.Done()
		var count <-chan time.Time
		if call.Plan.Limits.Processes > 0 {
			ticker := time.NewTicker(launch.CountEvery)
			defer ticker.Stop()
			count = ticker.C
		}
		init := 0 // the sandbox's own, above the program
		if child.Init {
			init = child.Pid
		}
		for {
			select {
			case sig := <-signals:
				if sig == unix.SIGTERM || sig == unix.SIGHUP {
					launch.SignalDescendants(sig.(unix.Signal))
				}
			case <-done:
				done = nil
				if lost := (*enclose.LostError)(nil); errors.As(context.Cause(ctx), &lost) {
					launch.SignalDescendants(unix.SIGKILL)
				}
			case <-gone: // nobody answers the program any more
				gone = nil
				launch.SignalDescendants(unix.SIGKILL)
			case <-count:
				if int64(launch.CountDescendants(init)) > call.Plan.Limits.Processes {
					select {
					case crowd <- struct{}{}:
					default:
					}
					launch.SignalDescendants(unix.SIGKILL)
				}
			case <-over:
				return
			}
		}
	}()
	status, err := child.Wait()
	close(over)
	if err == nil {
		e := launch.ExitOf(status)
		c.ended = &run.Ended{Code: e.Code, Signal: e.Signal}
	}
	if !launch.EndDescendants() && err == nil {
		err = fmt.Errorf("processes that %s left behind could not be ended: they run as another user, or hang in the kernel", ask.Visible(p.Argv[0]))
	}
	if link != nil {
		c.refused(a, call, g, link)
	}
	if lost := (*enclose.LostError)(nil); err == nil && errors.As(context.Cause(ctx), &lost) {
		return status, exit.With(exit.Refused, lost)
	}
	if len(crowd) > 0 && err == nil {
		return status, exit.With(exit.Refused, &launch.StopError{Reason: launch.TooManyProcesses, Limit: int(call.Plan.Limits.Processes)})
	}
	return status, exit.With(exit.Host, err)
}

func startError(p enclose.Program, cwd, root string, err error) error {
	if confine.IsNamespaces(err) || confine.IsChanged(err) {
		return err
	}
	code := exit.Code(126) // as shells have it
	if errors.Is(err, unix.ENOENT) {
		code = 127
	}
	err = &launch.StartError{Program: p.Argv[0], Err: err}
	if strings.Contains(err.Error(), "entering "+cwd+": ") {
		err = fmt.Errorf("%w\nthe working directory is none that the program sees; start from the workspace: cd %s", err, ask.Word(root))
	}
	return &exit.Error{Code: code, Err: err}
}

// programStatus ends jphost as the program ended, as shells do.
func programStatus(s syscall.WaitStatus) error {
	switch {
	case s.Signaled():
		return &exit.Error{Code: exit.Code(128 + int(s.Signal()))}
	case s.ExitStatus() != 0:
		return &exit.Error{Code: exit.Code(s.ExitStatus())}
	}
	return nil
}

// refused says what the observer saw.
func (c *sandboxExecCmd) refused(a *app, call *enclose.Call, g *given, link *observe.Link) {
	advice := enclose.Advice{Flags: c.Policy == ""}
	if len(c.RO)+len(c.RW)+len(c.Grant) == 0 {
		advice.Before = "--rw . " // what holds without any
	}
	var err error
	if c.denials, c.seen, err = call.Refused(link, g.declared, advice); err != nil {
		a.out.warn(err.Error())
	} else if !c.Quiet {
		a.denials(c.denials, c.seen, false)
	}
}
