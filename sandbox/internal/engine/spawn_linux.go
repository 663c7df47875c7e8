package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/machine"
	"golang.org/x/sys/unix"
)

// helper is a supervisor from the host's side.
type helper struct {
	engine *engine
	kind   Kind
	ready  chan struct{} // closed when it has been started, or err says why not
	err    error
	conn   *conn
	pid    *os.Process
	calls  int
	fresh  bool // its starter has been started, or will be without being asked for

	leave sync.Once
	gone  chan struct{} // closed when the process has ended
}

// start starts the process of a helper.
func (h *helper) start() {
	defer close(h.ready)
	closeInherited()
	kind, step := failure.Failed, failure.StepHelper
	if h.kind.Tier == fit.TierNamespace {
		kind, step = failure.Namespaces, machine.StepClone
	}
	mine, theirs, err := newConns()
	if err == nil {
		h.pid, err = h.spawn(theirs)
		theirs.close()
		if h.conn = mine; err == nil && kind == failure.Namespaces {
			step = machine.StepMap
			if err = mapUsers(h.pid.Pid); err == nil {
				err = mine.send(request{Mapped: true})
			}
			if err != nil {
				_ = h.pid.Kill()
				_, _ = h.pid.Wait()
			}
		}
		if err == nil {
			return
		}
		mine.close()
	}
	if h.err = err; !failure.Is(err, failure.Failed) {
		h.err = failure.At(kind, step, "", err)
	}
	h.forget()
	close(h.gone)
}

func (h *helper) forget() {
	h.engine.mu.Lock()
	delete(h.engine.all, h)
	h.engine.mu.Unlock()
	h.engine.wait.Done()
}

// spawn starts this program again as a supervisor, in namespaces if they are its tier.
func (h *helper) spawn(theirs *conn) (*os.Process, error) {
	attr := &syscall.SysProcAttr{Setsid: !h.engine.options.Terminal}
	switch {
	case h.kind.Tier == fit.TierNamespace:
		// In a session of its own in any case. The terminal's device is not in the private tree, so the tool could not
		// use it as its own; but from the same session it could still push characters into it.
		attr.Setsid = true
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
		if !h.kind.Network {
			attr.Cloneflags |= unix.CLONE_NEWNET
		}
		// A process that is not root would lose its capabilities in the new namespace by execve; ambient ones stay. They
		// mean nothing outside of the namespace. SYS_ADMIN is for mounts, SETPCAP for the bounding set, and DAC_OVERRIDE
		// for making masks that nobody may write to; NET_ADMIN is for the loopback, and with SYS_PTRACE for what
		// connects sockets. The starter gives up all before the tool runs.
		attr.AmbientCaps = []uintptr{
			unix.CAP_SYS_ADMIN, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE, unix.CAP_NET_ADMIN, unix.CAP_SYS_PTRACE,
		}
	case unix.Access(os.DevNull, unix.F_OK) != nil:
		return nil, failure.NoDevice(os.DevNull)
	}
	const closed = ^uintptr(0) // the Go runtime opens /dev/null for it
	argv := []string{supervisorName, string(h.kind.Tier), strconv.FormatBool(h.kind.Scope)}
	pid, err := syscall.ForkExec(myself, argv, &syscall.ProcAttr{
		Dir: "/", Env: helperEnv, Sys: attr, Files: []uintptr{closed, closed, closed, theirs.file.Fd()},
	})
	if err != nil {
		return nil, err
	}
	// os.StartProcess would first try out whether processes can be held by descriptors, by starting one for nothing.
	// This does too, but while the helper starts.
	return os.FindProcess(pid)
}

// mapUsers gives every user and group of this user namespace that we may map their own numbers in the one of pid:
// owners stay right, and nobody becomes somebody else. The fields of SysProcAttr for this are not used: Go 1.26 loses
// two descriptors each time that a process with them cannot be made.
func mapUsers(pid int) error {
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	write := func(name, text string) error { return os.WriteFile(dir+name, []byte(text), 0) }
	if os.Geteuid() == 0 {
		users, err := sameNumbers("/proc/self/uid_map")
		groups, err2 := sameNumbers("/proc/self/gid_map")
		if err == nil && err2 == nil && write("uid_map", users) == nil && write("gid_map", groups) == nil {
			return nil
		} // a root that may not map others: the attempt has mapped nothing
	}
	itself := func(id int) string { return fmt.Sprintf("%d %d 1", id, id) }
	err := write("setgroups", "deny") // the kernel demands this of users who may not map others
	if err == nil {
		err = write("uid_map", itself(os.Geteuid()))
	}
	if err == nil {
		err = write("gid_map", itself(os.Getegid()))
	}
	return err
}

// sameNumbers maps what a map has in its first column to itself.
func sameNumbers(path string) (string, error) {
	var b strings.Builder
	text, err := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 3 {
			fmt.Fprintf(&b, "%s %s %s\n", f[0], f[0], f[2])
		}
	}
	return b.String(), err
}

// closeInherited keeps from helpers, and so from tools, what this process has inherited itself without asking for it: an
// open file of the caller would be a way past every rule. Descriptors of our own have the close-on-exec flag anyway.
func closeInherited() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	names, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// ended reports whether the process has, without waiting.
func (h *helper) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, h.pid.Pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == unix.ECHILD || err == nil && info.Signo != 0
}

// dismiss hangs up on a supervisor, upon which it ends, and has it waited for. Until then nobody waits: that would
// hold up a thread, and a process that runs one tool and ends need not have it.
func (h *helper) dismiss() {
	h.leave.Do(func() {
		h.conn.hangUp()
		go func() {
			_, _ = h.pid.Wait()
			h.conn.close()
			close(h.gone)
			h.forget()
		}()
	})
}

// abandon ends a supervisor that is not needed, or does not answer. It is given the time to end its tree itself, and
// woken for it: the tool may have stopped it. If that does not help its tree is ended from here, as long as it still
// holds it together.
func (h *helper) abandon() {
	if <-h.ready; h.err != nil {
		return
	}
	h.dismiss()
	_ = h.pid.Signal(unix.SIGCONT)
	for range 3 {
		select {
		case <-h.gone:
			return
		case <-time.After(killFor + giveUp/10):
			_, _ = signalBelow(h.pid.Pid, unix.SIGKILL)
		}
	}
	_ = h.pid.Kill()
	<-h.gone
}

// tryFor is how long an attempt may take.
const tryFor = 5 * time.Second

func try(ctx context.Context) machine.Attempt {
	if ctx.Err() != nil {
		return machine.Attempt{Step: machine.StepChild, Errno: int(unix.EINTR)}
	}
	e := newEngine(Options{})
	defer e.close()
	h, err := e.take(Kind{Tier: fit.TierNamespace})
	if err == nil {
		defer time.AfterFunc(tryFor, func() { _ = h.pid.Kill() }).Stop()
		defer context.AfterFunc(ctx, func() { _ = h.pid.Kill() })()
		var answer reply
		if err = h.conn.send(request{Try: true}); err == nil {
			if _, _, err = h.conn.receive(&answer); err == nil {
				err = answer.failure()
			}
		}
	}
	var f *failure.Error
	switch {
	case err == nil:
		return machine.Attempt{}
	case !errors.As(err, &f) || f.Kind != failure.Namespaces:
		return machine.Attempt{Step: machine.StepChild, Errno: int(unix.EINTR)}
	}
	return machine.Attempt{Step: f.Step, Errno: int(f.Errno)}
}
