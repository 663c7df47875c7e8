package engine

import (
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// becomeTool is the life of a starter. It returns when the tool could not be executed, and its supervisor knows why.
func becomeTool(c *conn) {
	// If the supervisor dies, the tool does too, also where no process namespace ends with it. If it is dead
	// already, the socket says so. The signal belongs to this thread, which execve keeps.
	if unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) != nil {
		return
	}
	// By this name the supervisor tells a process that has died from one that has executed the tool.
	name := [16]byte{}
	copy(name[:], starterName)
	if unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(&name)), 0, 0, 0) != nil {
		return
	}
	// The Go runtime takes care of most signals, and so execve sets them to their defaults. It leaves these alone,
	// so that one which our caller ignores would be ignored by the tool. SIGHUP and SIGINT stay ignored if they
	// are: that is how nohup and shells without job control say that they are not for a program.
	if c.send(reply{}) != nil { // this process runs
		return
	}
	signal.Notify(make(chan os.Signal, 1), unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	var r request
	_, files, err := c.receive(&r)
	if err != nil || r.Start == nil || r.Start.restore() != nil {
		return
	}
	s := &starter{conn: c, order: r.Start, plan: r.Start.Plan, ruleset: -1, observer: -1}
	if err := s.run(files); err != nil {
		answer := reply{Call: r.Call}
		answer.fail(err)
		_ = s.conn.send(answer) // without an answer the supervisor knows that this process has ended
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

// run does all that is done between the orders and the tool, in this order. Each step says why it is where it is.
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
		// While the supervisor makes the mounts.
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

	// From here on the private tree is there, and this process is in it.
	if o.Session {
		if _, err := unix.Setsid(); err != nil {
			return failure.At(failure.Failed, "making a session", "", err)
		}
	}
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
	// Before there is a domain, which does not allow it.
	staged, err := linux.OpenStaged(s.plan)
	if err != nil {
		return err
	}
	for i, fd := range staged {
		s.fds = append(s.fds, handed{fd, s.plan.Staged[i].FD})
	}
	if s.plan.Tier == fit.TierLandlock {
		// This process is going to be the tool, so its /proc/self is the tool's. Those of other processes are
		// never granted; in the namespace tier /proc has nobody else.
		if err := linux.Adopt(s.ruleset, s.plan).AllowProc("/proc/self"); err != nil {
			return err
		}
	}
	if err := linux.LimitProcess(s.plan); err != nil {
		return err
	}
	if err := s.place(); err != nil {
		return err
	}
	// no_new_privs comes first: without it an ordinary user may neither enter a domain nor install a filter.
	if err := linux.NoNewPrivileges(); err != nil {
		return err
	}
	if !o.Faults.KeepCapabilities {
		if err := linux.DropCapabilities(); err != nil {
			return err
		}
	}
	if err := linux.Adopt(s.ruleset, s.plan).Enter(); err != nil {
		return err
	}
	// The filter is last of what restricts: it refuses some of the calls above.
	if len(program) > 0 {
		if err := linux.InstallFilter(program); err != nil {
			return err
		}
	}
	// An observer sees from here on what this thread does, execve first of all.
	if o.Observe != nil {
		listener, err := linux.Announce(o.Observe.Calls)
		if err != nil {
			return err
		}
		err = unix.Sendmsg(s.observer, o.Observe.Message, unix.UnixRights(listener), nil, unix.MSG_NOSIGNAL)
		if err != nil {
			return failure.At(failure.Failed, "reaching the observer", "", err)
		}
	}
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

// place puts the descriptors of the tool in their places, and sees to it that it gets no others.
func (s *starter) place() error {
	fail := func(err error) error { return failure.At(failure.Failed, "handing down files", "", err) }
	above := 3
	for _, f := range s.fds {
		above = max(above, f.target+1)
	}
	aside := func(fd int) (int, error) { return unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, above) }
	// First everything moves out of the way of everything else.
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
	var targets []int
	for _, f := range s.fds {
		if err := unix.Dup3(f.fd, f.target, 0); err != nil {
			return fail(err)
		}
		targets = append(targets, f.target)
	}
	// All that we have opened is closed by execve anyway; this is for what we do not know of.
	slices.Sort(targets)
	first := 3
	for _, target := range append(targets, -1) {
		last := uint(target - 1)
		if target < 0 {
			last = ^uint(0) >> 32
		}
		if target < 0 || target > first {
			err := unix.CloseRange(uint(first), last, unix.CLOSE_RANGE_CLOEXEC)
			if err != nil && err != unix.ENOSYS && err != unix.EINVAL {
				return fail(err) // ENOSYS, EINVAL: before Linux 5.11, where there is no Landlock either
			}
		}
		first = max(first, target+1)
	}
	return nil
}

// exec replaces this process by the tool. syscall.Exec puts back the limit of open files, which the Go runtime has
// raised, waits for threads that are being started, and returns only if the kernel refuses the program.
func (s *starter) exec() error {
	var none unix.Sigset_t
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &none, nil); err != nil {
		return failure.At(failure.Failed, "unblocking signals", "", err)
	}
	o := s.order
	path := string(o.Path)
	err := syscall.Exec(path, texts(o.Args), texts(o.Env))
	runtime.KeepAlive(s.passed)
	return failure.At(failure.Program, "", path, err)
}

func texts(list []blob) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
