package linux

import (
	"errors"
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// Mapping is what Landlock rights each capability becomes: read, create, update, delete, execute.
type Mapping [5]uint64

// create is the place of that capability.
const create = 1

// DefaultMapping is what the capabilities mean to Landlock: each is all that it needs, and nothing more than it
// says. Create and delete both have REFER, since moving between directories takes an entry from one and makes it
// in the other.
var DefaultMapping = Mapping{
	ll.AccessFSReadFile | ll.AccessFSReadDir,
	ll.AccessFSMakeReg | ll.AccessFSMakeDir | ll.AccessFSMakeSym | ll.AccessFSRefer,
	ll.AccessFSWriteFile | ll.AccessFSTruncate,
	ll.AccessFSRemoveFile | ll.AccessFSRemoveDir | ll.AccessFSRefer,
	ll.AccessFSExecute,
}

// rights is what a grant becomes.
func (m *Mapping) rights(caps jptool.Caps) (rights uint64) {
	for i, one := range [...]jptool.Caps{jptool.Read, jptool.Create, jptool.Update, jptool.Delete, jptool.Execute} {
		if caps.Has(one) {
			rights |= m[i]
		}
	}
	return rights
}

// temp is everything that a program may do in its temporary directory.
func (m *Mapping) temp() uint64 {
	return m.rights(jptool.AllCaps) | ll.AccessFSMakeFifo | ll.AccessFSMakeSock
}

const (
	// fileRights are those that the kernel takes for something that is no directory; others are EINVAL there.
	fileRights = ll.AccessFSExecute | ll.AccessFSWriteFile | ll.AccessFSReadFile | ll.AccessFSTruncate |
		ll.AccessFSIoctlDev | ll.AccessFSResolveUnix

	// deviceRights make /dev/null and its like work. Their commands (ioctl) do no harm, and refusing them
	// puzzles programs that ask whether it is a terminal.
	deviceRights = ll.AccessFSReadFile | ll.AccessFSWriteFile | ll.AccessFSIoctlDev

	readRights = ll.AccessFSReadFile | ll.AccessFSReadDir
)

// procSelf is different for each process: only the process itself can open its own.
const procSelf = "/proc/self"

// handledFS is every right on files that a version of the interface has. A right that a ruleset does not handle is
// allowed everywhere, so all are handled. The kernel refuses a ruleset with rights that it does not know, so later ones
// are asked for by version; what an older kernel leaves open is in the report of the call.
func handledFS(abi int) uint64 {
	rights := uint64(ll.AccessFSMakeSym)<<1 - 1
	for _, later := range []struct {
		since int
		right uint64
	}{
		{fit.MoveABI, ll.AccessFSRefer},
		{fit.TruncateABI, ll.AccessFSTruncate},
		{fit.IoctlABI, ll.AccessFSIoctlDev},
		{fit.ResolveABI, ll.AccessFSResolveUnix},
	} {
		if abi >= later.since {
			rights |= later.right
		}
	}
	return rights
}

// Ruleset is a Landlock ruleset under construction. What is handled and named by no rule is denied. Rules name objects,
// not paths: a file that is moved takes the rights of a rule on itself along, and gets those of its new directories.
type Ruleset struct {
	FD      int
	handled uint64
	mapping Mapping
}

// Adopt is a ruleset for a plan that another process has made.
func Adopt(fd int, plan *fit.Plan) *Ruleset { return &Ruleset{fd, handledFS(plan.ABI), DefaultMapping} }

// NewRuleset makes a ruleset that handles every right of the plan's ABI and holds every rule of the plan but those
// on the tool's own /proc and on the private tree. Each path is opened once for it, without following links, and
// must be the object that the plan was made for.
func NewRuleset(plan *fit.Plan, mapping Mapping) (*Ruleset, error) {
	if plan.Local {
		mapping[create] |= ll.AccessFSMakeSock // as everybody who may create files may
	}
	r := &Ruleset{-1, handledFS(plan.ABI), mapping}
	attr := ll.RulesetAttr{HandledAccessFS: r.handled}
	if plan.ABI >= fit.NetABI && !plan.Net.Own {
		// In the network of the host a server is never allowed: the plan has no way to say so. Rules for ports are about
		// TCP alone. Other protocols are the business of the system call filter, which allows UDP if the network is open.
		attr.HandledAccessNet = ll.AccessNetBindTCP
		if !plan.Net.Open || plan.Net.Ports != nil {
			attr.HandledAccessNet |= ll.AccessNetConnectTCP
		}
	}
	// Without this, a tool could signal the host, or reach a service of this user by an abstract socket.
	if plan.ABI >= fit.ScopeABI {
		attr.Scoped = ll.ScopeAbstractUnixSocket | ll.ScopeSignal
	}
	var err error
	if r.FD, err = ll.LandlockCreateRuleset(&attr, 0); err != nil {
		return nil, failure.At(failure.Failed, fmt.Sprintf("making a Landlock ruleset of version %d", plan.ABI), "", err)
	}
	if err := r.fill(plan); err != nil {
		return nil, errors.Join(err, unix.Close(r.FD))
	}
	return r, nil
}

func (r *Ruleset) fill(plan *fit.Plan) error {
	if plan.ABI >= fit.NetABI && plan.Net.Open {
		for _, port := range plan.Net.Ports {
			rule := ll.NetPortAttr{AllowedAccess: ll.AccessNetConnectTCP, Port: uint64(port)}
			if err := ll.LandlockAddNetPortRule(r.FD, &rule, 0); err != nil {
				return failure.At(failure.Failed, fmt.Sprintf("allowing TCP port %d", port), "", err)
			}
		}
	}
	for _, list := range [][]fit.Grant{plan.Runtime, plan.Grants} {
		for i := range list {
			g := &list[i]
			if g.Path == procSelf || g.Kind == fit.Link {
				// The tool's own /proc/self is not there yet, and that of this process would be the wrong one. A
				// link has no rights of its own: the kernel judges what it leads to.
				continue
			}
			fd, err := openNode(unix.AT_FDCWD, &g.Node)
			if err != nil {
				return err
			}
			if err := r.allowAndClose(fd, g.Path, r.mapping.rights(g.Caps), g.Kind == fit.Dir); err != nil {
				return err
			}
		}
	}
	for _, path := range plan.Devices {
		fd, err := openDevice(path)
		if err != nil {
			return err
		}
		if err := r.allowAndClose(fd, path, deviceRights, false); err != nil {
			return err
		}
	}
	if plan.Tier == fit.TierLandlock && plan.Temp != "" {
		return r.AllowTemp(plan.Temp)
	}
	return nil
}

// AllowTemp allows everything in a temporary directory, which is not followed if it is a link.
func (r *Ruleset) AllowTemp(path string) error {
	fd, _, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		return err
	}
	return r.allowAndClose(fd, path, r.mapping.temp(), true)
}

// AllowTree allows what is in the private tree and nowhere else: a /proc and temporary directories with nothing but
// what belongs to the call, and its terminals.
func (r *Ruleset) AllowTree(plan *fit.Plan) error {
	err := r.AllowProc("/proc")
	if err == nil && plan.Temp != "" {
		err = r.AllowTemp(plan.Temp)
	}
	if err == nil {
		err = r.allowWorld(plan)
	}
	return err
}

// AllowProc allows reading in /proc or in the process's own part of it. Here a link (/proc/self) is followed: it is
// the kernel's own, and leads to the process that asks.
func (r *Ruleset) AllowProc(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return failure.At(failure.Failed, failure.StepProc, path, err)
	}
	return r.allowAndClose(fd, path, readRights, true)
}

// allowAndClose adds a rule on something that is open, and closes it: the ruleset holds on to the object itself.
func (r *Ruleset) allowAndClose(fd int, path string, rights uint64, dir bool) error {
	if rights &= r.handled; !dir {
		rights &= fileRights
	}
	var err error
	if rights != 0 { // an empty rule is an error
		err = ll.LandlockAddPathBeneathRule(r.FD, &ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}, 0)
	}
	return failure.At(failure.Failed, "allowing access to", path, errors.Join(err, unix.Close(fd)))
}

// Version returns the version of the kernel's Landlock, 0 without it.
func Version() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

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
	root, _, err := openPath(unix.AT_FDCWD, "/")
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
