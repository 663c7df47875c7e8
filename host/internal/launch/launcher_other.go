//go:build !linux

package launch

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

type launcher struct {
	start  Start
	mu     sync.Mutex
	closed bool
	ctx    context.Context
	cancel context.CancelFunc
	wait   sync.WaitGroup
}

func newLauncher(start Start) launcher {
	ctx, cancel := context.WithCancel(context.Background())
	return launcher{start: start, ctx: ctx, cancel: cancel}
}

func isSupervisor([]string) bool { return false }

func supervise(Start) int { return 2 }

func treeControl() error {
	return &NotSupportedError{runtime.GOOS, "only the tool's own process group is ended; what leaves it, or outlives the host, goes on running"}
}

func (l *launcher) warm() {}

func (l *launcher) close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.cancel()
	l.wait.Wait()
	return nil
}

func (l *launcher) run(ctx context.Context, spec *Spec) (*Result, error) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, &ControlError{Message: "the tool was not started", Err: errClosed}
	}
	l.wait.Add(1)
	l.mu.Unlock()
	defer l.wait.Done()

	streams, err := newStdio(spec.Limits)
	if err != nil {
		return nil, &StartError{Program: spec.Argv[0], Err: err}
	}
	cmd := &exec.Cmd{
		Path: spec.Program, Args: spec.Argv, Dir: spec.Dir, Env: spec.Env, ExtraFiles: spec.ExtraFiles,
		Stdin: streams.child[0], Stdout: streams.child[1], Stderr: streams.child[2], SysProcAttr: ownGroup(),
	}
	began := time.Now()
	if err := l.startOn(cmd, spec); err != nil {
		streams.abandon()
		return nil, &StartError{Program: spec.Argv[0], Err: err}
	}
	streams.handedOver()
	streams.run(spec.Stdin)
	ended := make(chan *os.ProcessState, 1)
	go func() {
		state, _ := cmd.Process.Wait()
		ended <- state
	}()
	reason, state := l.await(ctx, spec, cmd.Process, streams.flood, ended)
	killGroup(cmd.Process, true)
	if flood := streams.finish(); reason == 0 {
		reason = flood
	}
	result := &Result{Stdout: streams.output[0].kept, Stderr: streams.output[1].kept, Duration: time.Since(began)}
	if state == nil {
		return result, &ControlError{Message: "the tool could not be ended within " + giveUp.String() + " or waited for"}
	}
	result.Exit = exitOf(state)
	if reason != 0 {
		return result, spec.stopError(ctx, reason)
	}
	return result, nil
}

// startOn starts cmd, with a plan on a locked thread.
func (l *launcher) startOn(cmd *exec.Cmd, spec *Spec) error {
	switch {
	case len(spec.Plan) == 0:
		return cmd.Start()
	case l.start == nil:
		return errors.New("the call has a plan, but this program has nothing that could hold it")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, err := l.start(spec.Plan, cmd) // here it is cmd that is waited for
	return err
}

// await waits for the end of the tool and brings it about when there is a reason.
func (l *launcher) await(ctx context.Context, spec *Spec, p *os.Process, flood <-chan Reason, ended <-chan *os.ProcessState) (Reason, *os.ProcessState) {
	timer := time.NewTimer(spec.Limits.Time)
	defer timer.Stop()
	cancelled, closed, late := ctx.Done(), l.ctx.Done(), timer.C
	var kill, lost <-chan time.Time
	var reason Reason
	for {
		grace := max(spec.Limits.Grace, 0)
		select {
		case state := <-ended:
			return reason, state
		case <-kill:
			killGroup(p, true)
			kill = nil
			continue
		case <-lost:
			return reason, nil
		case <-cancelled:
			reason = Cancelled
		case <-closed:
			reason = Cancelled
		case <-late:
			reason = TimedOut
		case reason = <-flood:
			grace = 0
		}
		cancelled, closed, late, flood = nil, nil, nil, nil
		if grace > 0 {
			killGroup(p, false)
		}
		kill, lost = time.After(grace), time.After(grace+giveUp)
	}
}
