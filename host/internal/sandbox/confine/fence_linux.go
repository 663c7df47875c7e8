package confine

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/jptools/jptools/host/internal/sandbox"
	"golang.org/x/sys/unix"
)

// scopedSignals is the version of Landlock that has LANDLOCK_SCOPE_SIGNAL.
const scopedSignals = 6

// fence is the thread that is in the domain.
type fence struct{ thread int }

func newFence(plan *sandbox.Plan) (*fence, error) {
	if plan.Tier != sandbox.TierLandlock || plan.ABI < scopedSignals {
		return nil, nil
	}
	fd, err := createRuleset(rulesetAttr{2: unix.LANDLOCK_SCOPE_SIGNAL})
	if err != nil {
		return nil, fmt.Errorf("making a Landlock domain for signals: %w", err)
	}
	defer func() { _ = unix.Close(fd) }()
	runtime.LockOSThread() // for good: nobody else is to be in the domain
	err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(fd), 0, 0); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("entering a Landlock domain for signals: %w", err)
	}
	return &fence{unix.Gettid()}, nil
}

// signal signals everybody, which the domain confines to those in it: no fork gets past that, since
// the kernel holds the list of processes meanwhile, and a fork that is under way is taken back. Without
// the domain it would hit all that this user runs, so it is asked first whether a process outside can
// be signalled.
func (f *fence) signal(sig syscall.Signal) bool {
	if f == nil || unix.Gettid() != f.thread {
		return false
	}
	if parent := os.Getppid(); parent > 0 && unix.Kill(parent, 0) != unix.EPERM {
		return false
	}
	return unix.Kill(-1, sig) == nil
}
