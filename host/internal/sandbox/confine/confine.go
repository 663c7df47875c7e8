package confine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/private"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// Renderer turns plans into processes. New makes one that is right; a field is changed only
// by tests that show that an error in it would be noticed.
type Renderer struct {
	// Mapping is what capabilities become.
	Mapping Mapping
	// NoCovers and NoPins leave out parts of the private tree, NoFilter the filter, and
	// NoDrop keeps capabilities.
	NoCovers, NoPins, NoFilter, NoDrop bool
}

// Mapping is what Landlock rights each capability becomes.
type Mapping struct{ Read, Create, Update, Delete, Execute uint64 }

// New returns a Renderer with DefaultMapping.
func New() *Renderer { return &Renderer{Mapping: DefaultMapping()} }

// Process is a program that runs under a plan.
type Process struct {
	// Pid is the child to wait for: the program, or the init above it.
	Pid int
	// Init: Pid is the init above the program.
	Init bool

	status  int // of an init: brings the program's wait status; see [launch.Started]
	watcher *watcher
}

// Watch returns a path whose protection somebody outside has undone since the start, or
// nothing. The program should be ended then. It can be asked again and again, also when the
// program has ended, until Close.
func (p *Process) Watch() string {
	if p.watcher == nil {
		return ""
	}
	return p.watcher.lost()
}

// Close gives back what Watch needs. It does not end the program.
func (p *Process) Close() {
	if p.watcher != nil {
		p.watcher.close()
		p.watcher = nil
	}
}

// Start starts cmd as the plan says. Of cmd it takes Path, Args, Env (nil is none), Dir, the
// standard streams (files, or nil for /dev/null), ExtraFiles, and of SysProcAttr Setsid, Setpgid
// with Pgid, and Pdeathsig; other fields of SysProcAttr are an error. cmd.Process is not set.
//
// The calling goroutine must be locked to its thread, and the thread must outlive the
// program: in the namespace tier all is killed when it ends.
//
// Errors are a *ChangedError, a *NamespacesError, a *DirectoryError, the errno of execve (the program could
// not be executed, perhaps because the plan does not grant it), or another. Nothing has run
// then, and nothing is left.
func (r *Renderer) Start(plan *fit.Plan, cmd *exec.Cmd) (*Process, error) {
	p, err := r.start(plan, cmd)
	return p, ownErrno(err)
}

// ownErrno takes the error number out of an error that only wraps one: callers would take it
// for the answer of execve, and blame the program.
func ownErrno(err error) error {
	var errno syscall.Errno
	var coded interface{ Code() string }
	if _, bare := err.(syscall.Errno); bare || errors.As(err, &coded) || !errors.As(err, &errno) {
		return err
	}
	return errors.New(err.Error())
}

// Start is a [launch.Start] function for encoded plans. Its thread gets a [Fence] with the first plan
// of the Landlock tier, so that it serves no other tier afterwards.
func Start(plan []byte, cmd *exec.Cmd) (launch.Started, error) {
	p, err := fit.DecodePlan(plan)
	if err != nil {
		return launch.Started{}, err
	}
	if p.Tier == fit.TierLandlock && !starting.here() {
		if starting, err = NewFence(p); err != nil {
			return launch.Started{}, err
		}
	}
	child, err := New().Start(p, cmd)
	if err != nil {
		return launch.Started{}, err
	}
	started := launch.Started{Pid: child.Pid, Status: child.pipe(), Processes: int(p.Limits.Processes)}
	if child.watcher != nil {
		started.Watch, started.Close = child.Watch, child.Close
	}
	if p.Tier == fit.TierLandlock {
		started.Signal = starting.Signal
		if p.Temp != "" { // in the other tier it goes with the private tree
			// Nobody is left to be told; what it cannot remove, later calls find.
			started.Orphaned = func() { _ = private.Remove(filepath.FromSlash(p.Temp)) }
		}
	}
	return started, nil
}

// starting is the fence of the thread that calls Start.
var starting Fence

// Wait waits for the end of the program and, in the namespace tier, kills everything that it
// started and waits for that too. In the Landlock tier what it started may go on.
func (p *Process) Wait() (syscall.WaitStatus, error) { return p.wait() }

// ChangedError says that a path of the plan is not what it was when the plan was made.
type ChangedError struct{ Path string }

// Error names the path and what to do.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("%q was replaced or removed while the call was prepared\ntry again; if this stays, something else is changing it", e.Path)
}

// Code names the error for [launch.RefusedError].
func (e *ChangedError) Code() string { return CodeChanged }

// NamespacesError says that the private tree cannot be made on this machine, so that a plan of
// another tier is needed.
type NamespacesError struct {
	// Step is what was refused.
	Step  string
	Errno syscall.Errno
}

// Error names the step, the reason and what to do.
func (e *NamespacesError) Error() string {
	return fmt.Sprintf("no private namespaces: %s: %v\n`jphost doctor` says what stands in the way", e.Step, e.Errno)
}

// Code names the error for [launch.RefusedError].
func (e *NamespacesError) Code() string { return CodeNamespaces }

// DirectoryError says that the program's working directory cannot be entered where the program runs.
type DirectoryError struct {
	Dir   string
	Errno syscall.Errno
}

// Error names the directory and the reason.
func (e *DirectoryError) Error() string { return fmt.Sprintf("entering %s: %v", e.Dir, e.Errno) }

// The codes of errors that came through a supervisor.
const (
	CodeChanged    = "changed"
	CodeNamespaces = "namespaces"
)

// IsChanged reports whether err is a ChangedError, also one that came through a supervisor:
// survey and fit again.
func IsChanged(err error) bool { return hasCode(err, CodeChanged) }

// IsNamespaces reports whether err is a NamespacesError, also one that came through a
// supervisor: fit again without namespaces.
func IsNamespaces(err error) bool { return hasCode(err, CodeNamespaces) }

func hasCode(err error, code string) bool {
	var refused *launch.RefusedError
	if errors.As(err, &refused) {
		return refused.Code == code
	}
	var coded interface{ Code() string }
	return errors.As(err, &coded) && coded.Code() == code
}

// Try starts a child in new user, mount, pid, ipc and net namespaces, which makes the mounts
// that the namespace tier begins with, and ends. Nothing of it is left. It takes one or two
// milliseconds, and gives up after some seconds or with ctx.
func Try(ctx context.Context) machine.Attempt { return try(ctx) }
