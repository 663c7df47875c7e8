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

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
)

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
	ctx, cancel := context.WithCancel(e.open)
	cmd := exec.CommandContext(ctx, c.Path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.ExtraFiles = c.Args, c.Env, cmp.Or(c.Dir, string(os.PathSeparator)), c.ExtraFiles
	cmd.SysProcAttr = ownGroup(e.options)
	p := &process{cmd: cmd, options: e.options, cancel: cancel, done: make(chan struct{})}
	cmd.Cancel = func() error { return signalGroup(cmd.Process, e.options, syscall.SIGKILL) }
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
		cancel()
		if path := (*os.PathError)(nil); errors.As(err, &path) && path.Op == "chdir" {
			return nil, failure.At(failure.Directory, "", c.Dir, err)
		}
		return nil, failure.At(failure.Program, "", c.Path, err)
	}
	p.pid = cmd.Process.Pid
	e.wait.Go(p.await)
	return &Process{p}, nil
}

// process is a program and its process group.
type process struct {
	cmd     *exec.Cmd
	options Options
	pid     int
	cancel  context.CancelFunc

	done chan struct{}
	exit Exit
	err  error
}

func (p *process) await() {
	defer close(p.done)
	_ = p.cmd.Wait() // what it says is in ProcessState
	p.cancel()
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
	p.cancel()
	return nil
}

func try(context.Context) machine.Attempt {
	return machine.Attempt{Step: machine.StepClone, Errno: int(syscall.ENOSYS)}
}
