//go:build !linux

package engine

import (
	"cmp"
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
	open    context.Context // until it is closed
	end     context.CancelFunc
	mu      sync.Mutex
	wait    sync.WaitGroup
}

func newEngine(o Options) *engine {
	e := &engine{options: o}
	e.open, e.end = context.WithCancel(context.Background())
	return e
}

func (e *engine) warm(Kind) {}

func (e *engine) close() error {
	e.mu.Lock()
	e.end()
	e.mu.Unlock()
	e.wait.Wait()
	return nil
}

func (e *engine) start(c *Command) (*Process, error) {
	if c.Plan != nil && c.Plan.Tier != fit.TierNone {
		return nil, &failure.Error{Kind: failure.Unsupported, Step: "on " + runtime.GOOS + " nothing can be held by the operating system"}
	}
	cmd := &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: cmp.Or(c.Dir, string(os.PathSeparator)), ExtraFiles: c.ExtraFiles,
		SysProcAttr: ownGroup(e.options),
	}
	if cmd.Env == nil {
		cmd.Env = []string{} // exec.Cmd would take that of this process
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
	if e.open.Err() != nil {
		return nil, errClosed
	}
	if err := cmd.Start(); err != nil {
		if path := (*os.PathError)(nil); errors.As(err, &path) && path.Op == "chdir" {
			return nil, failure.At(failure.Directory, "", c.Dir, err)
		}
		return nil, failure.At(failure.Program, "", c.Path, err)
	}
	p := &process{cmd: cmd, options: e.options, pid: cmd.Process.Pid, killed: make(chan struct{}), done: make(chan struct{})}
	e.wait.Go(func() {
		defer context.AfterFunc(e.open, func() { _ = p.kill() })()
		p.await()
	})
	return &Process{p}, nil
}

// process is a program and its process group.
type process struct {
	cmd     *exec.Cmd
	options Options
	pid     int

	done   chan struct{}
	exit   Exit
	err    error
	once   sync.Once
	killed chan struct{}
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
	case <-p.killed:
		select {
		case <-ended:
		case <-time.After(giveUp):
			p.err = failure.OutOfControl("the program could not be ended within " + giveUp.String() + "; processes of it may still run")
			return
		}
	}
	_ = signalGroup(p.cmd.Process, p.options, syscall.SIGKILL) // what is left of it
	if p.cmd.ProcessState == nil {
		p.err = failure.OutOfControl("the program could not be waited for")
		return
	}
	p.exit = Exit{Code: p.cmd.ProcessState.ExitCode()}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		p.exit.Signal = status.Signal()
	}
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
	p.once.Do(func() {
		_ = signalGroup(p.cmd.Process, p.options, syscall.SIGKILL)
		close(p.killed)
	})
	return nil
}

func try(context.Context) machine.Attempt {
	return machine.Attempt{Step: machine.StepClone, Errno: int(syscall.ENOSYS)}
}
