package launch

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// maxIdle is how many supervisors are kept for later calls: one of each kind, where calls have plans of
// two kinds and none.
const maxIdle = 3

type launcher struct {
	mu     sync.Mutex
	closed bool
	idle   []*supervisor
	all    map[*supervisor]struct{}
	wait   sync.WaitGroup // for every supervisor's process, and for warm
}

// supervisor is the host's end of one supervisor process.
type supervisor struct {
	sock  *os.File
	child child
	leave sync.Once
	gone  chan struct{} // closed when the process has ended, and been dismissed before
	calls int
	kind  string // of the calls
}

// The start function is the supervisor's business here; see Supervise.
func newLauncher(Start) launcher { return launcher{all: map[*supervisor]struct{}{}} }

func (l *launcher) warm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.idle) > 0 {
		return
	}
	if s, err := l.spawnLocked(); err == nil {
		l.idle = append(l.idle, s)
	}
}

func (l *launcher) close() error {
	l.mu.Lock()
	l.closed, l.idle = true, nil
	open := slices.Collect(maps.Keys(l.all))
	for _, s := range open {
		l.dismiss(s) // all at once, and then one by one
	}
	l.mu.Unlock()
	for _, s := range open {
		l.abandon(s)
	}
	l.wait.Wait()
	return nil
}

// dismiss closes the connection to a supervisor, upon which it ends, and has it waited for. Until
// then nobody waits: that would hold up a thread, and who runs one tool and ends need not have it.
func (l *launcher) dismiss(s *supervisor) {
	_ = s.sock.Close()
	s.leave.Do(func() {
		l.wait.Go(func() {
			s.child.wait()
			close(s.gone)
			l.mu.Lock()
			delete(l.all, s)
			l.mu.Unlock()
		})
	})
}

// take returns an idle supervisor for a kind of call, or a new one.
func (l *launcher) take(kind string) (*supervisor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.idle) - 1; i >= 0; i-- {
		s := l.idle[i]
		if s.calls > 0 && s.kind != kind {
			continue
		}
		l.idle = slices.Delete(l.idle, i, i+1)
		if !s.child.ended() {
			s.kind = kind
			return s, nil
		}
		l.dismiss(s) // killed while nothing was going on
	}
	s, err := l.spawnLocked()
	if err == nil {
		s.kind = kind
	}
	return s, err
}

// put keeps a supervisor whose call ended well. When there are enough the oldest ends.
func (l *launcher) put(s *supervisor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.dismiss(s)
		return
	}
	if len(l.idle) == maxIdle {
		l.dismiss(l.idle[0])
		l.idle = slices.Delete(l.idle, 0, 1)
	}
	l.idle = append(l.idle, s)
}

// spawnLocked starts a supervisor; the caller holds the lock.
func (l *launcher) spawnLocked() (*supervisor, error) {
	if l.closed {
		return nil, errClosed
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	pid, err := startSupervisor(fds[1])
	_ = unix.Close(fds[1])
	if err != nil {
		_ = unix.Close(fds[0])
		return nil, err
	}
	_ = unix.SetNonblock(fds[0], true) // so that the poller takes it
	s := &supervisor{sock: os.NewFile(uintptr(fds[0]), "supervisor"), child: child{pid: pid}, gone: make(chan struct{})}
	l.all[s] = struct{}{}
	return s, nil
}

// abandon ends a supervisor that is not needed, or does not answer. It is given the time
// to end its tree itself, and woken for it: the tool may have stopped it. If that does
// not help its tree is ended from here, as long as it still holds it together.
func (l *launcher) abandon(s *supervisor) {
	l.dismiss(s)
	s.child.hold(func(pid int) { _ = unix.Kill(pid, unix.SIGCONT) })
	for range 3 {
		select {
		case <-s.gone:
			return
		case <-time.After(killFor + giveUp/10):
			s.child.hold(func(pid int) { _, _ = signalTree(pid, unix.SIGKILL) })
		}
	}
	s.child.hold(func(pid int) { _ = unix.Kill(pid, unix.SIGKILL) })
	<-s.gone
}

// done is the answer of a supervisor.
type done struct {
	report *report
	err    error
}

func (l *launcher) run(ctx context.Context, spec *Spec) (*Result, error) {
	s, err := l.take(spec.Kind)
	if err != nil {
		return nil, &ControlError{Message: "the tool's supervisor could not be started", Err: err}
	}
	streams, err := newStdio(spec.Limits)
	if err != nil {
		l.put(s)
		return nil, &StartError{Program: spec.Argv[0], Err: err}
	}
	_ = s.sock.SetReadDeadline(time.Time{}) // that of another call, which its cancellation has left behind
	began := time.Now()
	s.calls++
	call := strconv.Itoa(s.calls)
	fields := append([]string{frameRun, call, spec.Program, spec.Dir, string(spec.Plan), strconv.Itoa(len(spec.Argv))}, spec.Argv...)
	if err := sendFrame(s.sock, append(streams.child[:], spec.ExtraFiles...), append(fields, spec.Env...)...); err != nil {
		streams.abandon()
		l.dismiss(s) // half a frame may have gone out
		return nil, &StartError{Program: spec.Argv[0], Err: err}
	}
	streams.handedOver()
	streams.run(spec.Stdin)
	answer := make(chan done, 1)
	go func() {
		r, err := s.receive(call)
		answer <- done{r, err}
	}()
	reason, d := s.await(ctx, spec, call, streams.flood, answer)
	if d.err != nil {
		l.abandon(s)
	}
	if flood := streams.finish(); reason == 0 {
		reason = flood
	}
	result := &Result{Stdout: streams.output[0].kept, Stderr: streams.output[1].kept, Duration: time.Since(began)}
	if err := d.failure(spec); err != nil {
		l.dismiss(s)
		return result, err
	}
	l.put(s)
	if d.report.errno != 0 {
		return nil, &StartError{Program: spec.Argv[0], Err: d.report.errno}
	}
	if d.report.problem != "" {
		return nil, &StartError{Program: spec.Argv[0], Err: &RefusedError{Code: d.report.code, Message: d.report.problem}}
	}
	result.Exit, result.Leftover = ExitOf(syscall.WaitStatus(d.report.status)), d.report.leftover
	if d.report.exposed != "" { // the worst of all
		return result, &StopError{Reason: Exposed, Path: d.report.exposed}
	}
	if reason == 0 && d.report.crowd > 0 {
		return result, &StopError{Reason: TooManyProcesses, Limit: d.report.crowd}
	}
	if reason != 0 {
		return result, spec.stopError(ctx, reason)
	}
	return result, nil
}

// await waits for the end of the call and brings it about when there is a reason.
func (s *supervisor) await(ctx context.Context, spec *Spec, call string, flood <-chan Reason, answer <-chan done) (Reason, done) {
	timer := time.NewTimer(spec.Limits.Time)
	defer timer.Stop()
	cancelled, late := ctx.Done(), timer.C
	var reason Reason
	for {
		grace := spec.Limits.Grace
		select {
		case d := <-answer:
			return reason, d
		case <-cancelled:
			reason = Cancelled
			if hurry := (interface{ AtOnce() bool })(nil); errors.As(context.Cause(ctx), &hurry) && hurry.AtOnce() {
				grace = 0
			}
		case <-late:
			reason = TimedOut
		case reason = <-flood:
			grace = 0
		}
		cancelled, late, flood = nil, nil, nil
		_ = s.sock.SetReadDeadline(time.Now().Add(max(grace, 0) + giveUp))
		// If this fails the supervisor is gone, and the answer says so.
		_ = sendFrame(s.sock, nil, frameStop, call, strconv.FormatInt(int64(grace), 10))
	}
}

// receive reads the report of a call.
func (s *supervisor) receive(call string) (*report, error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(s.sock, head); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head)
	if n > 1<<20 {
		return nil, errFrame
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(s.sock, body); err != nil {
		return nil, err
	}
	fields, err := decodeFrame(body)
	if err != nil {
		return nil, err
	}
	r, err := parseReport(fields)
	if err == nil && r.call != call {
		err = errFrame
	}
	return r, err
}

// failure is the error of a call that got out of control, or nil.
func (d done) failure(spec *Spec) error {
	switch {
	case errors.Is(d.err, os.ErrDeadlineExceeded):
		return &ControlError{Message: "the tool could not be ended within " + giveUp.String() + "; processes of " + strconv.Quote(spec.Argv[0]) + " may still run"}
	case d.err != nil:
		return &ControlError{Message: "the tool's supervisor ended before the tool did (was it killed?); processes of " + strconv.Quote(spec.Argv[0]) + " may still run", Err: d.err}
	case d.report.remaining > 0:
		return &ControlError{Message: strconv.Itoa(d.report.remaining) + " processes of " + strconv.Quote(spec.Argv[0]) + " could not be ended: they run as another user, or hang in the kernel"}
	}
	return nil
}

// ExitOf is how the process with this wait status ended.
func ExitOf(status syscall.WaitStatus) Exit {
	if !status.Signaled() {
		return Exit{Code: status.ExitStatus()}
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = "signal " + strconv.Itoa(int(status.Signal()))
	}
	return Exit{Code: -1, Signal: name}
}
