package engine

import (
	"math"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// becomeTool is the life of a starter. It returns when the tool could not be executed, and its supervisor knows why.
//
// Everything here happens on one locked thread. Landlock, the filter, capabilities and the death signal all belong to a
// thread, and execve keeps those of the thread that calls it: a step on another thread would not reach the tool.
func becomeTool(c *conn) {
	// If the supervisor dies, the kernel kills the tool: without a supervisor nobody ends what the tool starts, and no
	// limit is kept. A supervisor that died before this call is noticed by the socket, which is closed then.
	if unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) != nil {
		return
	}
	// The socket of a process closes both when it dies and when it executes the tool. execve replaces this name, so
	// the supervisor can tell the two apart, and reports no program as started that never was.
	name := [16]byte{}
	copy(name[:], starterName)
	if unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0, 0, 0) != nil {
		return
	}
	// This process runs. Only now may the supervisor leave the host's tree: the program of this process, and the
	// libraries that it may have to load, are not in the private one.
	if c.send(reply{}) != nil {
		return
	}
	var r request
	_, files, err := c.receive(&r)
	if err != nil || r.Start == nil || r.Start.restore() != nil {
		return
	}
	s := &starter{conn: c, order: r.Start, plan: r.Start.Plan, ruleset: -1, observer: -1}
	if err := s.run(files); err != nil {
		_ = s.conn.send(failed(r.Call, err)) // without an answer the supervisor knows that this process has ended
	}
}

// starter is a process on its way to become the tool.
type starter struct {
	conn     *conn
	order    *order
	plan     *fit.Plan // nil without restrictions
	ruleset  int       // -1 without
	observer int       // a socket, -1 without
	fds      []handed

	// passed is the socket before it was moved. If it were collected, its number, which may be one of the tool's by
	// then, would be closed.
	passed *conn
}

// handed is a descriptor for the tool, and the number that it is to have there.
type handed struct{ fd, target int }

// run does all that is done between the orders and the tool. The order matters: a step may need a right that a later
// one takes away, and no step may come after execve. Any error ends this process before the tool runs, so that a tool
// never runs with less around it than its plan says.
func (s *starter) run(files []int) error {
	o := s.order
	if want := len(o.Targets); len(files) < want || o.Observe != nil && len(files) != want+1 {
		return errMessage
	}
	for i, target := range o.Targets {
		s.fds = append(s.fds, handed{files[i], target})
	}
	if o.Observe != nil {
		s.observer = files[len(files)-1]
	}
	var program []unix.SockFilter
	if s.plan != nil {
		// Here, because it takes some time, and the supervisor makes the mounts meanwhile.
		var err error
		if program, err = linux.Filter(s.plan); err != nil {
			return err
		}
	}
	var r request
	_, rules, err := s.conn.receive(&r)
	if err != nil || !r.Go || (len(rules) == 1) != (s.plan != nil) {
		return errMessage
	}

	// From here on the private tree is there, and this process is in it: the supervisor has moved both of them.

	// A program in the session of its caller could push characters into the caller's terminal, as if they were typed.
	if o.Session {
		if _, err := unix.Setsid(); err != nil {
			return failure.At(failure.Failed, "making a session", "", err)
		}
	}
	// By path, and in the private tree: a descriptor of the directory from outside would lead past the covers.
	if dir := string(o.Dir); dir != "" {
		if err := unix.Chdir(dir); err != nil {
			return failure.At(failure.Directory, "", dir, err)
		}
	}
	if s.plan == nil {
		if err := s.place(); err != nil {
			return err
		}
		return s.exec()
	}
	s.ruleset = rules[0]
	// Unnamed files are made in directories in which the tool itself may not write. In the domain this process could
	// not do it either.
	staged, err := linux.OpenStaged(s.plan)
	if err != nil {
		return err
	}
	for i, fd := range staged {
		s.fds = append(s.fds, handed{fd, s.plan.Staged[i].FD})
	}
	if s.plan.Tier == fit.TierLandlock {
		// Only here, because the rule is on the directory of one process, and this one is going to be the tool. With a
		// rule on all of /proc the tool could read the environment and the memory of every process of this user. In the
		// namespace tier /proc shows nobody but the call, so the supervisor grants it as a whole.
		if err := linux.Adopt(s.ruleset, s.plan).AllowProc("/proc/self"); err != nil {
			return err
		}
	}
	if err := linux.LimitProcess(s.plan); err != nil {
		return err
	}
	// Before the domain and the observer, whose descriptors get other numbers here.
	if err := s.place(); err != nil {
		return err
	}
	if err := restrict(linux.Adopt(s.ruleset, s.plan), program, o.Faults); err != nil {
		return err
	}
	if err := s.announce(); err != nil {
		return err
	}
	// Last of all, since little works in a process that gets no more memory.
	size := 0
	for _, list := range [][]blob{o.Args, o.Env} {
		for _, b := range list {
			size += len(b) + 32
		}
	}
	if err := linux.LimitMemory(s.plan, size); err != nil {
		return err
	}
	return s.exec()
}

// restrict puts this thread, and all that it starts from here on, under a plan, for good.
func restrict(ruleset *linux.Ruleset, program []unix.SockFilter, faults Faults) error {
	// Before the domain and the filter: without it the kernel lets only root make either, since a program with
	// set-user-id could be tricked by them.
	err := linux.NoNewPrivileges()
	// After all that takes capabilities, and before the domain, so that nothing is left that could undo a mount.
	if err == nil && !faults.KeepCapabilities {
		err = linux.DropCapabilities()
	}
	if err == nil {
		err = ruleset.Enter()
	}
	// After every step that needs a call which it refuses. This thread starts nothing between the domain and the
	// filter: that would be in the one and not in the other.
	if err == nil && len(program) > 0 {
		err = linux.InstallFilter(program)
	}
	return err
}

// place gives the descriptors of the tool their numbers, and closes all others at execve. A descriptor that stays open
// by mistake is a way past the plan: Landlock judges a file when it is opened, never when it is read.
func (s *starter) place() error {
	fail := func(err error) error { return failure.At(failure.Failed, "handing down files", "", err) }
	above := 3
	for _, f := range s.fds {
		above = max(above, f.target+1)
	}
	aside := func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above) }
	// First everything moves above all targets. Otherwise a dup to one target could close a descriptor that is still to
	// be moved, and the tool would get a wrong one.
	for i := range s.fds {
		var err error
		if s.fds[i].fd, err = aside(s.fds[i].fd); err != nil {
			return fail(err)
		}
	}
	for _, fd := range []*int{&s.ruleset, &s.observer} {
		if *fd >= 0 {
			var err error
			if *fd, err = aside(*fd); err != nil {
				return fail(err)
			}
		}
	}
	err := s.conn.do(func(fd int) error {
		moved, err := aside(fd)
		if err == nil {
			s.passed = s.conn
			s.conn = newConn(moved)
		}
		return err
	})
	if err != nil {
		return fail(err)
	}
	// What this program has opened is closed by execve anyway. This is for what it inherited or a library opened.
	err = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC)
	if err != nil && err != unix.ENOSYS && err != unix.EINVAL {
		return fail(err) // ENOSYS, EINVAL: before Linux 5.11, where there is no Landlock either
	}
	for _, f := range s.fds {
		if err := unix.Dup3(f.fd, f.target, 0); err != nil {
			return fail(err)
		}
	}
	return nil
}

// exec replaces this process by the tool. syscall.Exec puts back the limit of open files, which the Go runtime has
// raised, waits for threads that are being started, and returns only if the kernel refuses the program.
func (s *starter) exec() error {
	if err := unblockSignals(); err != nil {
		return err
	}
	o := s.order
	path := string(o.Path)
	err := syscall.Exec(path, texts(o.Args), texts(o.Env))
	runtime.KeepAlive(s.passed)
	return failure.At(failure.Program, "", path, err)
}

// unblockSignals lets all signals through to this thread, and so to the tool that it starts or becomes.
func unblockSignals() error {
	var none unix.Sigset_t
	return failure.At(failure.Failed, "unblocking signals", "", unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil))
}

func texts(list []blob) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
