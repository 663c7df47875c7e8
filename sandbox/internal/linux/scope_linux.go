package linux

import (
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// Scope keeps together what programs in the Landlock tier start, so that it can be ended all at once, however fast it
// forks. It is a Landlock domain around those of the programs that holds nothing but signals. Under namespaces
// process 1 can do that without.
type Scope struct{ thread int }

// EnterScope puts this thread into a new domain, for good; what it starts from here on is in it too. The calling
// goroutine must be locked to its thread, and stay so.
func EnterScope() (*Scope, error) {
	// Every domain denies links and renames between directories, except where it has rules on them. This one is only
	// about signals, so it allows them everywhere; the domain of the tool decides.
	r := &Ruleset{handled: ll.AccessFSRefer}
	var err error
	r.FD, err = ll.LandlockCreateRuleset(&ll.RulesetAttr{HandledAccessFS: r.handled, Scoped: ll.ScopeSignal}, 0)
	if err != nil {
		return nil, failure.At(failure.Failed, "making a Landlock domain for signals", "", err)
	}
	defer closeFD(&r.FD)
	root, _, err := openPath("/")
	if err == nil {
		err = r.allowAndClose(root, "/", r.handled, true)
	}
	if err == nil {
		err = NoNewPrivileges()
	}
	if err == nil {
		err = r.Enter()
	}
	if err != nil {
		return nil, err
	}
	return &Scope{unix.Gettid()}, nil
}

// Signal signals every process in the domain, and reports whether it could. It has to be called by the goroutine that
// called EnterScope.
//
// It signals everybody, which the domain confines to those in it. No fork gets past that: the kernel holds the list
// of processes meanwhile, and a fork that is under way is taken back. Without the domain it would hit all that this
// user runs, so it is asked first whether the parent, which is outside, can be signalled.
func (s *Scope) Signal(sig unix.Signal) bool {
	if s == nil || unix.Gettid() != s.thread {
		return false
	}
	parent := os.Getppid()
	if parent <= 0 || unix.Kill(parent, 0) != unix.EPERM {
		return false
	}
	return unix.Kill(-1, sig) == nil
}

// HasScope reports whether a version of Landlock can hold signals.
func HasScope(abi int) bool { return abi >= fit.ScopeABI }
