package confine

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// fence is the thread that is in the domain.
type fence struct{ thread int }

func newFence(plan *fit.Plan) (*fence, error) {
	if plan.Tier != fit.TierLandlock || plan.ABI < fit.ScopeABI {
		return nil, nil
	}
	// Every domain denies links and renames between directories, but where it has rules on them.
	d := domain{handled: unix.LANDLOCK_ACCESS_FS_REFER}
	var err error
	if d.fd, err = createRuleset(rulesetAttr{d.handled, 0, unix.LANDLOCK_SCOPE_SIGNAL}); err != nil {
		return nil, fmt.Errorf("making a Landlock domain for signals: %w", err)
	}
	defer func() { _ = d.close() }()
	root, _, err := openPath("/")
	if err == nil {
		err = errors.Join(d.allow(root, d.handled, true), unix.Close(root))
	}
	if err != nil {
		return nil, fmt.Errorf("allowing links in a Landlock domain for signals: %w", err)
	}
	runtime.LockOSThread() // for good: nobody else is to be in the domain
	err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(d.fd), 0, 0); errno != 0 {
			err = errno
		}
	}
	if err != nil {
		runtime.UnlockOSThread()
		errno, _ := err.(syscall.Errno)
		return nil, fmt.Errorf("entering a Landlock domain for signals: %w%s", err, remedy(landlocking, errno))
	}
	return &fence{unix.Gettid()}, nil
}

func (f *fence) here() bool { return f != nil && unix.Gettid() == f.thread }

// signal signals everybody, which the domain confines to those in it: no fork gets past that, since
// the kernel holds the list of processes meanwhile, and a fork that is under way is taken back. Without
// the domain it would hit all that this user runs, so it is asked first whether a process outside can
// be signalled.
func (f *fence) signal(sig syscall.Signal) bool {
	if !f.here() {
		return false
	}
	if parent := os.Getppid(); parent > 0 && unix.Kill(parent, 0) != unix.EPERM {
		return false
	}
	return unix.Kill(-1, sig) == nil
}
