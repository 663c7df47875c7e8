package sandbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
	"github.com/jptools/jptools/sandbox/observe"
)

// Cmd is a program to be started under a policy, and that program while it runs. Its fields and methods behave as
// those of exec.Cmd with the same names, but for what is said here. It is for one start.
type Cmd struct {
	// Path is the absolute path of the program, Args its command line, Env its whole environment (TMPDIR is replaced
	// by the private directory of the call), and Dir its working directory.
	Path string
	Args []string
	Env  []string
	Dir  string

	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// ExtraFiles are descriptors from 3 on. What would lead past the policy, such as an open directory, is refused.
	// Files that the policy stages come after them.
	ExtraFiles []*os.File

	// Cancel is called when the context is done. If it is nil, all processes of the call are killed.
	Cancel func() error
	// WaitDelay is how long they may go on after Cancel before they are killed; 0 is no limit.
	WaitDelay time.Duration

	// BeforeStart, if not nil, is called before each attempt to start the program. It may change Args and Stdin, to
	// write a request for the effective policy. An error ends the start.
	BeforeStart func(*Attempt) error
	// Explain observes which of its calls the operating system refuses the program: see [Cmd.Refused]. It slows the
	// program down.
	Explain bool

	// Err is why the program was not found.
	Err error
	// Attempt is the last attempt to start the program; nil before.
	Attempt *Attempt
	// State is how the program ended; nil before Wait. Left is why something that was made for the call could not be
	// removed.
	State *State
	Left  error

	prepared *Prepared
	ctx      context.Context
	process  *engine.Process
	stream   streams
	observer *observe.Observer
	refused  *observe.Seen
	stop     chan struct{}
	stopped  sync.WaitGroup
	ctxErr   error
	loss     *LostError
	// tooLate: the call was ended at its limit of time.
	tooLate bool
}

// State is how a call ended. All its processes are gone.
type State struct {
	// Code is the exit status, or -1 if Signal ended the program.
	Code   int
	Signal syscall.Signal
	// Leftover counts processes that the program had left running; they were killed.
	Leftover int
	// Changes are what is not as the rules want it. Touched are the names of what was changed and put back, or only
	// touched: without mounts nobody can tell more.
	Changes []fit.Change
	Touched []string
	// Kept are the paths of what Options.Keep saved.
	Kept []string
}

// ExitCode returns the exit status, or -1 if a signal ended the program.
func (s *State) ExitCode() int { return s.Code }

// Success reports whether the program exited with 0.
func (s *State) Success() bool { return s.Code == 0 }

// String says how the program ended, as os.ProcessState does.
func (s *State) String() string {
	if s.Code < 0 {
		return "signal: " + s.Signal.String()
	}
	return fmt.Sprintf("exit status %d", s.Code)
}

const (
	// linger is how long processes that the program leaves behind may still print (`cmd > >(tee log)`).
	linger = 100 * time.Millisecond
	// drain is how long Wait waits for the ends of pipes when all processes of the call are gone. Only somebody else
	// who was given a descriptor can use it up.
	drain = time.Second
	// grace is the time between SIGTERM and SIGKILL when a call has reached its limit of time.
	grace = 2 * time.Second
	// maxRetries bounds how often a start is prepared anew because something changed meanwhile.
	maxRetries = 3
)

// String returns the command line, for people.
func (c *Cmd) String() string { return strings.Join(c.Args, " ") }

// Start starts the program. If something changes between preparing the start and the start, or namespaces are refused,
// it is prepared anew. Errors are a *StartError, a *fit.RefusedError, or those of preparing and of BeforeStart;
// nothing has run then and nothing is left.
func (c *Cmd) Start() error {
	if err := c.start(); err != nil {
		c.stream.closeAll()
		return err
	}
	c.stream.run()
	c.stop = make(chan struct{})
	c.stopped.Go(c.supervise)
	return nil
}

func (c *Cmd) start() error {
	switch {
	case c.Err != nil:
		return c.Err
	case c.process != nil || c.State != nil:
		return errors.New("sandbox: already started")
	case len(c.Args) == 0:
		return &StartError{Err: errors.New("the command line is empty")}
	case c.ctx.Err() != nil:
		return c.ctx.Err()
	}
	m := c.prepared.machine
	for retries := 0; ; {
		a, err := c.prepared.attempt(c.ctx, c, m, false)
		c.Attempt = a
		if err == nil {
			if err = c.startAs(a); err == nil {
				return nil
			}
			err = errors.Join(err, a.release())
		}
		var f *failure.Error
		if !errors.As(err, &f) {
			return err
		}
		switch {
		case f.Kind == failure.Namespaces && m.Namespaces:
			m = machine.WithoutNamespaces(m, f.Error())
		case f.Kind == failure.Listener && m.Notify:
			m = machine.WithoutNotify(m, f.Error())
		case f.Kind == failure.Changed && retries < maxRetries:
			retries++
		default:
			return err
		}
	}
}

// startAs starts the program as an attempt says.
func (c *Cmd) startAs(a *Attempt) (err error) {
	if c.BeforeStart != nil {
		if err := c.BeforeStart(a); err != nil {
			return err
		}
	}
	command := &engine.Command{
		Plan: a.Plan, Path: c.Path, Args: c.Args, Env: withTemp(c.Env, cmp.Or(a.tempPath, a.Plan.Temp)), Dir: c.Dir,
		ExtraFiles: c.ExtraFiles, Linger: linger,
	}
	if a.watcher != nil {
		command.Keep = a.watcher.File()
	}
	if c.Explain && a.Explainable() == "" {
		a.Plan.Observe = true
		if c.observer, err = observe.Start(a.Plan); err != nil {
			return err
		}
		command.Observer = &engine.Observer{
			Socket: c.observer.Socket(), Message: observe.Message(), Answerer: c.observer.Answerer(), Calls: observe.Calls(a.Plan),
		}
	}
	if command.Stdin, command.Stdout, command.Stderr, err = c.stream.open(c); err == nil {
		c.process, err = c.prepared.options.Helpers.engine.Start(command)
	}
	c.stream.handedOver()
	if c.observer != nil {
		c.observer.HandedOver()
	}
	if err == nil {
		return nil
	}
	c.stream.abandon()
	if c.observer != nil {
		c.observer.End()
		c.observer = nil
	}
	e := &StartError{Program: c.Args[0], Err: err}
	if len(a.NotGranted) > 0 && (errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOENT)) {
		e.NotGranted = a.NotGranted[0]
	}
	return e
}

// supervise ends the call when the context is done, or something is lost that protects it.
func (c *Cmd) supervise() {
	done := c.ctx.Done()
	var lost <-chan fit.Loss
	if c.Attempt.watcher != nil {
		lost = c.Attempt.watcher.Lost()
	}
	var late, limit <-chan time.Time
	if most := c.prepared.options.Limits.Time; most > 0 {
		timer := time.NewTimer(most)
		defer timer.Stop()
		limit = timer.C
	}
	for {
		select {
		case <-c.stop:
			return
		case l, ok := <-lost:
			if lost = nil; ok {
				c.loss = c.Attempt.lost(l)
				_ = c.Kill() // at once: nothing protects the path any more
			}
		case <-late:
			_ = c.Kill()
		case <-limit:
			c.tooLate = true
			_ = c.Signal(syscall.SIGTERM) // it may have ended, or be stopped: then it is killed
			late = time.After(cmp.Or(c.WaitDelay, grace))
		case <-done:
			done, c.ctxErr = nil, c.ctx.Err()
			cancel := c.Cancel
			if cancel == nil {
				cancel = c.Kill
			}
			if err := cancel(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				c.ctxErr = err
			}
			if c.WaitDelay > 0 {
				late = time.After(c.WaitDelay)
			}
		}
	}
}

// Wait waits until all processes of the call are gone, and looks at what it left. The error is, in this order, a
// *ControlError, a *ChangedError (which wraps the others), a *LostError, a *LimitError, an *ExitError, the error of
// the context, or that of copying.
func (c *Cmd) Wait() error {
	switch {
	case c.process == nil:
		return errors.New("sandbox: not started")
	case c.State != nil:
		return errors.New("sandbox: Wait was already called")
	}
	exit, err := c.process.Wait()
	close(c.stop)
	c.stopped.Wait()
	copied := c.stream.finish(max(c.WaitDelay, drain))
	s := &State{Code: exit.Code, Signal: exit.Signal, Leftover: exit.Leftover}
	c.State = s
	if c.observer != nil {
		c.refused = c.observer.End()
	}
	c.Left = c.Attempt.end(context.WithoutCancel(c.ctx), s)
	if err != nil {
		return errors.Join(&ControlError{err}, c.Left)
	}
	if exit.Lost != "" && c.loss == nil {
		c.loss = c.Attempt.lost(fit.Loss{Kind: fit.Replaced, Path: exit.Lost})
	}
	switch {
	case c.loss != nil:
		err = c.loss
	case exit.TooMany > 0:
		err = &LimitError{Processes: exit.TooMany}
	case c.tooLate:
		err = &LimitError{Time: c.prepared.options.Limits.Time}
	case !s.Success():
		err = &ExitError{State: s}
	case c.ctxErr != nil:
		err = c.ctxErr
	default:
		err = copied
	}
	if len(s.Changes) > 0 {
		err = &ChangedError{Changes: s.Changes, Err: err}
	}
	if c.Left == nil {
		return err
	}
	return errors.Join(err, c.Left)
}

// Run starts the program and waits for its end.
func (c *Cmd) Run() error {
	if err := c.Start(); err != nil {
		return err
	}
	return c.Wait()
}

// Output runs the program and returns what it wrote to standard output.
func (c *Cmd) Output() ([]byte, error) {
	if c.Stdout != nil {
		return nil, errors.New("sandbox: Stdout already set")
	}
	var out, errOut bytes.Buffer
	c.Stdout = &out
	collect := c.Stderr == nil
	if collect {
		c.Stderr = &errOut
	}
	err := c.Run()
	if e := (*ExitError)(nil); collect && errors.As(err, &e) {
		e.Stderr = errOut.Bytes()[:min(errOut.Len(), 64<<10)]
	}
	return out.Bytes(), err
}

// CombinedOutput runs the program and returns what it wrote to standard output and standard error.
func (c *Cmd) CombinedOutput() ([]byte, error) {
	if c.Stdout != nil || c.Stderr != nil {
		return nil, errors.New("sandbox: Stdout or Stderr already set")
	}
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	return out.Bytes(), err
}

// Signal sends a signal to every process of the call.
func (c *Cmd) Signal(sig syscall.Signal) error {
	if c.process == nil {
		return errors.New("sandbox: not started")
	}
	return c.process.Signal(sig)
}

// Kill kills every process of the call.
func (c *Cmd) Kill() error {
	if c.process == nil {
		return errors.New("sandbox: not started")
	}
	return c.process.Kill()
}

// Pid returns the number of a process whose death ends the program; 0 before Start.
func (c *Cmd) Pid() int {
	if c.process == nil {
		return 0
	}
	return c.process.Pid()
}

// Refused returns what the operating system refused the program, as far as it could be observed; nil if it was not. It is
// diagnostics: the program could make it up.
func (c *Cmd) Refused() *observe.Seen { return c.refused }

// Report returns what the call is enforced with and, after Wait, what it changed.
func (c *Cmd) Report() *Report {
	if c.Attempt == nil {
		return NewReport("")
	}
	r := c.Attempt.Report()
	if c.State != nil {
		r.Changed = c.State.Changes
	}
	return r
}
