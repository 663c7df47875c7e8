//go:build !linux

package engine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
)

// giveUp is how long a call is waited for after it was killed.
const giveUp = 10 * time.Second

// helperMain does nothing: there are no helpers here.
func helperMain(func(dir string) error) {}

type engine struct {
	options Options

	mu      sync.Mutex
	closed  bool
	running map[*process]struct{}
	wait    sync.WaitGroup
}

func newEngine(o Options) engine { return engine{options: o, running: map[*process]struct{}{}} }

func (e *engine) warm(Kind) {}

func (e *engine) close() error {
	e.mu.Lock()
	e.closed = true
	for p := range e.running {
		_ = p.kill()
	}
	e.mu.Unlock()
	e.wait.Wait()
	return nil
}

func (e *engine) start(c *Command) (*Process, error) {
	if c.Plan != nil && c.Plan.Tier != fit.TierNone {
		return nil, &failure.Error{Kind: failure.Unsupported, Step: "on " + runtime.GOOS + " nothing can be held by the operating system"}
	}
	cmd := &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, ExtraFiles: c.ExtraFiles,
		SysProcAttr: ownGroup(e.options),
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // exec.Cmd would take that of this process
	}
	if cmd.Dir == "" {
		cmd.Dir = string(os.PathSeparator)
	}
	if c.Stdin != nil { // a nil file in an interface is not nil
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, &failure.Error{Kind: failure.Failed, Step: "the engine is closed"}
	}
	if err := cmd.Start(); err != nil {
		if path := (*os.PathError)(nil); errors.As(err, &path) && path.Op == "chdir" {
			return nil, failure.At(failure.Directory, "", c.Dir, err)
		}
		return nil, failure.At(failure.Program, "", c.Path, err)
	}
	p := &Process{process{cmd: cmd, options: e.options, pid: cmd.Process.Pid}}
	p.done, p.abandoned = make(chan struct{}), make(chan struct{})
	e.running[&p.process] = struct{}{}
	e.wait.Go(func() {
		p.await()
		e.mu.Lock()
		delete(e.running, &p.process)
		e.mu.Unlock()
	})
	return p, nil
}

// process is a program and its process group.
type process struct {
	cmd     *exec.Cmd
	options Options
	pid     int

	done      chan struct{}
	exit      Exit
	err       error
	killed    sync.Once
	abandoned chan struct{} // closed when nobody waits for it any more
}

func (p *process) await() {
	defer close(p.done)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = p.cmd.Wait() // what it says is in ProcessState
	}()
	select {
	case <-ended:
	case <-p.abandoned:
		p.err = failure.OutOfControl("the program could not be ended within " + giveUp.String() + "; processes of it may still run")
		return
	}
	killGroup(p.cmd.Process, p.options)
	if p.cmd.ProcessState == nil {
		p.err = failure.OutOfControl("the program could not be waited for")
		return
	}
	p.exit = exitOf(p.cmd.ProcessState)
}

func (p *process) wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

func (p *process) signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
		return signalGroup(p.cmd.Process, p.options, sig)
	}
}

func (p *process) kill() error {
	p.killed.Do(func() {
		timer := time.AfterFunc(giveUp, func() { close(p.abandoned) })
		go func() {
			<-p.done
			timer.Stop()
		}()
		killGroup(p.cmd.Process, p.options)
	})
	return nil
}

func try(context.Context) machine.Attempt {
	return machine.Attempt{Step: machine.StepClone, Errno: int(syscall.ENOSYS)}
}
