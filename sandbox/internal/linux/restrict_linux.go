package linux

import (
	"runtime"
	"runtime/debug"
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/filter"
)

// Filter returns the system call filter of a plan; nil where the plan has none.
func Filter(plan *fit.Plan) ([]unix.SockFilter, error) {
	if plan.NoFilter {
		return nil, nil
	}
	o := filter.Options{
		Net: plan.Net.Open, Own: plan.Net.Own, Local: plan.Local, Frozen: plan.Frozen, Namespaces: plan.Tier == fit.TierNamespace,
	}
	program, err := filter.For(o)
	if err != nil {
		return nil, &failure.Error{Kind: failure.Unsupported, Step: err.Error()}
	}
	return program, nil
}

// OpenStaged opens the unnamed files of a plan. That takes the right to write in their directories, which the
// program may not have, so it comes before the domain is entered; and the files must lie in the tree that the program
// sees, into which it links them, so it comes after the mounts.
func OpenStaged(plan *fit.Plan) (fds []int, err error) {
	for i := range plan.Staged {
		s := &plan.Staged[i]
		dir, err := openNode(unix.AT_FDCWD, &s.Node)
		if err != nil {
			return nil, err
		}
		fd, err := unix.Openat(dir, ".", unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o666)
		_ = unix.Close(dir)
		if err != nil {
			return nil, failure.At(failure.Failed, "making an unnamed file in", s.Path, err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}

// DropCapabilities gives up all capabilities of this thread for good. Without this, masks would not stop root: the
// kernel ignores the mode of a file for a process with CAP_DAC_OVERRIDE, and CAP_SYS_ADMIN could unmount the masks.
func DropCapabilities() error {
	// A program with capabilities of its own on its file (or set-user-id root) gets what is in the bounding set.
	for c := uintptr(0); ; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		// EINVAL: there are no more. EPERM: an ordinary user outside of namespaces may not; no_new_privs alone keeps
		// execve from giving any.
		if err == unix.EINVAL || err == unix.EPERM {
			break
		}
		if err != nil {
			return failure.At(failure.Failed, "giving up capabilities", "", err)
		}
	}
	// The ambient set survives execve, and the helpers have got theirs that way.
	err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	if err == nil {
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var none [2]unix.CapUserData
		err = unix.Capset(&header, &none[0])
	}
	return failure.At(failure.Failed, "giving up capabilities", "", err)
}

// NoNewPrivileges keeps this thread, and all that comes of it, from gaining rights by execve: no set-user-id, no
// capabilities of files. Without privileges, a thread needs it to enter a Landlock domain or to install a filter.
func NoNewPrivileges() error {
	return failure.At(failure.Failed, "giving up new privileges", "", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
}

// Enter puts this thread into the domain of a ruleset, for good. All that it starts later is in it too; threads and
// processes that exist already are not, which is why helpers do everything on one thread.
func (r *Ruleset) Enter() error {
	return failure.At(failure.Failed, failure.StepDomain, "", ll.LandlockRestrictSelf(r.FD, 0))
}

// InstallFilter installs a system call filter on this thread, for good. It survives execve and fork, and filters add up:
// no later one allows what this one refuses. It does not see what arguments point to, such as paths.
func InstallFilter(program []unix.SockFilter) error {
	_, err := seccomp(program, 0)
	return failure.At(failure.Failed, "installing the system call filter", "", err)
}

// Announce installs a second filter, which refuses nothing, and returns the descriptor to which it announces calls.
// execve is among the calls that are announced from here on.
func Announce(calls []uint32) (listener int, err error) {
	program, err := filter.Announcing(calls)
	if err == nil {
		// A signal would interrupt a call that is being looked at, without the second flag (before Linux 5.19).
		listener, err = seccomp(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
		if err == unix.EINVAL {
			listener, err = seccomp(program, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		}
	}
	// EBUSY: a filter around this process has a listener already, and only one can be.
	return listener, failure.At(failure.Listener, "letting calls be announced", "", err)
}

func seccomp(program []unix.SockFilter, flags uintptr) (int, error) {
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(program)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// LimitProcess sets the limits that the tool inherits, except that of memory. None is ever above what holds already:
// root could raise a limit, and a plan must not give what the caller was denied.
func LimitProcess(plan *fit.Plan) error {
	l := &plan.Limits
	// The kernel writes a core file itself, past all rules, or hands it to a service: what the program had in memory
	// would come to where the rules do not reach.
	err := limit(unix.RLIMIT_CORE, 0, 0)
	if err == nil && l.CPUSeconds > 0 { // SIGXCPU, and a second later SIGKILL
		err = limit(unix.RLIMIT_CPU, uint64(l.CPUSeconds), uint64(l.CPUSeconds)+1)
	}
	if err == nil && l.FileSize > 0 {
		err = limit(unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize))
	}
	if err == nil && l.Processes > 0 && plan.Tier == fit.TierNamespace {
		// The kernel counts threads, for each user of a user namespace, and not for root. A process has some;
		// this only slows down what would be faster than the supervisor's counting.
		tasks := 16*uint64(l.Processes) + 64
		err = limit(unix.RLIMIT_NPROC, tasks, tasks)
	}
	return failure.At(failure.Failed, "setting limits", "", err)
}

// LimitMemory sets the limit of memory. The Go runtime, which has more than a strict limit allows, cannot get any
// more from the kernel from here on and would crash; so what execve and the report of its failure need is made ready
// before: memory that the collector has freed, and that the runtime hands out again. need is the size of the command
// line and the environment.
func LimitMemory(plan *fit.Plan, need int) error {
	if plan.Limits.Memory <= 0 {
		return nil
	}
	var spare [64][]byte
	for i := range spare {
		spare[i] = make([]byte, 32<<10)
	}
	spare[0] = make([]byte, 4*need+1<<20)
	runtime.KeepAlive(&spare)
	spare = [64][]byte{}
	runtime.GC()
	debug.SetGCPercent(-1)
	bytes := uint64(plan.Limits.Memory)
	return failure.At(failure.Failed, "setting limits", "", limit(unix.RLIMIT_DATA, bytes, bytes))
}

func limit(resource int, soft, hard uint64) error {
	var now unix.Rlimit
	if err := unix.Prlimit(0, resource, nil, &now); err != nil {
		return err
	}
	return unix.Prlimit(0, resource, &unix.Rlimit{Cur: min(soft, now.Cur), Max: min(hard, now.Max)}, nil)
}
