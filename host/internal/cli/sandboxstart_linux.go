package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/observe"
)

// start runs the program to its end, and ends what it leaves behind.
func (c *sandboxExecCmd) start(a *app, held *enclose.Call, g *given, p enclose.Program, signals *passed) (syscall.WaitStatus, error) {
	// What the program starts and leaves behind becomes a child of this process.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, exit.With(exit.Host, err)
	}
	ctx := held.Guard(a.ctx)
	if err := a.out.flush(); err != nil {
		return 0, exit.With(exit.Host, err)
	}
	cmd := &exec.Cmd{
		Path: p.Path, Args: p.Argv, Env: held.Env(), Dir: g.cwd, Stdin: a.stdin, Stdout: a.out.stdout, Stderr: a.out.stderr,
		SysProcAttr: &syscall.SysProcAttr{Pdeathsig: unix.SIGKILL},
	}
	link, err := c.observer(a, held, cmd)
	if err != nil {
		return 0, exit.With(exit.Host, err)
	}
	// The program is killed when the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	fence, err := confine.NewFence(held.Plan)
	if err != nil {
		return 0, exit.With(exit.Host, err)
	}
	if len(signals.ends) > 0 { // there was no program that could hear it
		return 0, exit.Errorf(exit.Interrupted, "interrupted before the program was started")
	}
	if held.Plan.Tier == fit.TierNamespace {
		signals.listen()
	}
	child, err := confine.New().Start(held.Plan, cmd)
	if err != nil {
		return 0, startError(held, p, g, err)
	}
	defer child.Close()
	o := oversee(ctx, held, child, link, signals)
	status, err := child.Wait()
	o.end()
	if err == nil {
		e := launch.ExitOf(status)
		c.ended = &call.Ended{Code: e.Code, Signal: e.Signal}
	}
	if !launch.EndDescendants(fence.Signal) && err == nil {
		err = fmt.Errorf("processes that %s left behind could not be ended: they run as another user, or hang in the kernel", show.Visible(p.Argv[0]))
	}
	if link != nil {
		c.refused(a, held, g, link)
	}
	if err == nil {
		if err := o.ended(); err != nil {
			return status, exit.With(exit.Refused, err)
		}
	}
	return status, exit.With(exit.Host, err)
}

// observer has the observer look at the start that follows, and hands its end down. It returns
// nil where nothing is to be observed, or cannot be, which it says.
func (c *sandboxExecCmd) observer(a *app, held *enclose.Call, cmd *exec.Cmd) (*observe.Link, error) {
	link := observe.From(a.ctx)
	if link == nil {
		return nil, nil
	}
	if why := held.CanObserve(); why != "" {
		a.out.warn(explainDenials + ": " + why)
		return nil, nil
	}
	cmd.ExtraFiles = []*os.File{link.File()}
	return link, held.Observe(link)
}

// overseer passes signals on to a program while it runs, and ends it when something says so.
type overseer struct {
	ctx     context.Context // ends when the held has to
	limit   int64           // of processes; 0 is none
	init    int             // the sandbox's own process above the program, or 0
	signals *passed
	gone    <-chan struct{} // the observer
	over    chan struct{}   // the program
	crowd   chan struct{}   // holds something when there were more processes than the limit
}

// oversee begins to; link is nil without an observer.
func oversee(ctx context.Context, held *enclose.Call, child *confine.Process, link *observe.Link, signals *passed) *overseer {
	o := &overseer{
		ctx: ctx, limit: held.Plan.Limits.Processes, signals: signals,
		over: make(chan struct{}), crowd: make(chan struct{}, 1),
	}
	if child.Init {
		o.init = child.Pid
	}
	if link != nil {
		o.gone = link.Gone()
	}
	go o.run()
	return o
}

func (o *overseer) run() {
	done, gone := o.ctx.Done(), o.gone
	var count <-chan time.Time
	if o.limit > 0 {
		ticker := time.NewTicker(launch.CountEvery)
		defer ticker.Stop()
		count = ticker.C
	}
	for {
		select {
		case sig := <-o.signals.ends:
			o.pass(sig.(unix.Signal))
		case sig := <-o.signals.typed:
			o.pass(sig.(unix.Signal))
		case <-done:
			done = nil
			if o.lost() != nil {
				launch.KillChild(o.init) // everything with it, and sooner
				launch.SignalDescendants(unix.SIGKILL)
			}
		case <-gone: // nobody answers the program any more
			gone = nil
			launch.SignalDescendants(unix.SIGKILL)
		case <-count:
			if int64(launch.CountDescendants(o.init)) > o.limit {
				select {
				case o.crowd <- struct{}{}:
				default:
				}
				launch.SignalDescendants(unix.SIGKILL)
			}
		case <-o.over:
			return
		}
	}
}

// pass tells the program of a signal, unless the terminal has told it as well.
func (o *overseer) pass(sig unix.Signal) {
	switch sig {
	case unix.SIGTSTP:
		suspend()
		return
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
		if o.init == 0 && inForeground() {
			return
		}
	}
	launch.SignalDescendants(sig)
}

// end is for when the program has ended.
func (o *overseer) end() { close(o.over) }

// ended says what the program was ended for, if it was.
func (o *overseer) ended() error {
	if lost := o.lost(); lost != nil {
		return lost
	}
	if len(o.crowd) > 0 {
		return fmt.Errorf("the program had more than %d processes and was ended\nlet it do less at a time, or raise --limit processes", o.limit)
	}
	return nil
}

// lost is not nil when something outside replaced what the sandbox is made of.
func (o *overseer) lost() (lost *enclose.LostError) {
	errors.As(context.Cause(o.ctx), &lost)
	return lost
}

func startError(held *enclose.Call, p enclose.Program, g *given, err error) error {
	if confine.IsNamespaces(err) || confine.IsChanged(err) {
		return err
	}
	code := exit.Host
	var execve unix.Errno
	var dir *confine.DirectoryError
	switch {
	case errors.As(err, &execve): // as shells have it
		if code = 126; execve == unix.ENOENT {
			code = 127
		}
		if len(held.Outside) > 0 && (execve == unix.EACCES || execve == unix.ENOENT) {
			return exit.Errorf(126, "%s needs %s to start, which is not granted: that a program names it is not enough outside of the system's directories\ngrant it yourself: --ro %s",
				show.Visible(p.Argv[0]), show.Visible(held.Outside[0]), show.Word(held.Outside[0]))
		}
	case errors.As(err, &dir):
		code = 126
		err = fmt.Errorf("%w\nthe working directory is none that the program sees; start from the workspace: cd %s", err, show.Word(g.root))
	}
	return &exit.Error{Code: code, Err: &launch.StartError{Program: p.Argv[0], Err: err}}
}

// refused says what the observer saw.
func (c *sandboxExecCmd) refused(a *app, held *enclose.Call, g *given, link *observe.Link) {
	advice := enclose.Advice{Flags: c.Policy == ""}
	if len(c.RO)+len(c.RW)+len(c.Grant) == 0 {
		advice.Before = "--rw . " // what holds without any
	}
	var err error
	if c.denials, c.seen, err = held.Refused(link, g.declared, advice); err != nil {
		a.out.warn(err.Error())
	} else if !c.Quiet || c.Report == "" {
		a.denials(c.denials, c.seen, false)
	}
}
