package confine

import (
	"encoding/binary"
	"os"
	"slices"

	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog/nofile"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// Kinds of topics, which say what error a failure of them is.
const (
	looking     = iota + 1 // the topic is the path that is looked for
	spaces                 // a step on the way into namespaces
	entering               // the topic is the working directory
	landlocking            // a domain is entered
	ownProc                // a part of the process's own /proc
)

var cwd = sysprog.Int(unix.AT_FDCWD)

// open opens a node, below a directory or anywhere, and makes sure that it is the same
// unless it has no ID. Paths below a directory are relative.
func (w *writer) open(dir sysprog.Arg, rel string, n *fit.Node) sysprog.Slot {
	w.TopicOf(looking, n.Path)
	fd := w.Call(unix.SYS_OPENAT2, dir, w.String(rel).Arg(), w.how.Arg(), sysprog.Int(unix.SizeofOpenHow))
	if n.ID != (fit.ID{}) {
		w.Call(unix.SYS_FSTAT, fd.Arg(), w.stat.Arg())
		w.Check(w.stat, 8, n.ID.Dev, unix.ESTALE)
		w.Check(w.stat.At(8), 8, n.ID.Ino, unix.ESTALE)
	}
	return fd
}

func (w *writer) chdir() {
	if w.cmd.Dir != "" {
		w.TopicOf(entering, w.cmd.Dir)
		w.Call(unix.SYS_CHDIR, w.String(w.cmd.Dir).Arg())
	}
}

// stage opens the unnamed files. They must be opened before the domain is entered, which does
// not allow writing there, and in the tree that the program sees: they are linked into it.
func (w *writer) stage() {
	for i := range w.plan.Staged {
		s := &w.plan.Staged[i]
		dir := w.open(cwd, s.Path, &s.Node)
		w.Topic("making an unnamed file in " + s.Path)
		fd := w.Call(unix.SYS_OPENAT, dir.Arg(), w.String(".").Arg(), sysprog.Int(unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC), sysprog.Int(0o666))
		w.files = append(w.files, handed{fd.Arg(), s.FD})
	}
}

// own adds a rule on something that only the child can open: a part of its own /proc, or of
// its own tree.
func (w *writer) own(path string, rights uint64) {
	w.TopicOf(ownProc, "allowing access to "+path)
	// Here a link (/proc/self) is followed: it is the kernel's own.
	fd := w.Call(unix.SYS_OPENAT, cwd, w.String(path).Arg(), sysprog.Int(unix.O_PATH|unix.O_CLOEXEC), sysprog.Int(0))
	rule := w.Bytes(pathBeneath(rights&w.domain.handled, 0))
	w.Store(rule.At(8), fd, 4)
	w.Call(unix.SYS_LANDLOCK_ADD_RULE, sysprog.Int(w.domain.fd), sysprog.Int(unix.LANDLOCK_RULE_PATH_BENEATH), rule.Arg(), sysprog.Int(0))
}

// drop gives up all capabilities for good.
func (w *writer) drop() {
	w.Topic("giving up capabilities")
	w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_SET_NO_NEW_PRIVS), sysprog.Int(1), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
	if w.r.NoDrop {
		return
	}
	w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_CAP_AMBIENT), sysprog.Int(unix.PR_CAP_AMBIENT_CLEAR_ALL), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
	w.Accept(unix.EINVAL) // not built in
	if os.Geteuid() == 0 || w.plan.Tier == fit.TierNamespace {
		next, end := w.Label(), w.Label()
		c := w.Counter()
		w.Place(next)
		got := w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_CAPBSET_DROP), c.Arg(), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
		w.Accept(unix.EINVAL, unix.EPERM) // no such one; or none of the rights to do it, and then no_new_privs is enough
		w.JumpIf(got, sysprog.Int(-int(unix.EINVAL)), end)
		w.Add(c, 1)
		w.JumpUnless(c, sysprog.Int(64), next) // all that a kernel can ever have
		w.Place(end)
	}
	header := binary.NativeEndian.AppendUint32(nil, unix.LINUX_CAPABILITY_VERSION_3)
	w.Call(unix.SYS_CAPSET, w.Bytes(append(header, 0, 0, 0, 0)).Arg(), w.Words(0, 0, 0).Arg())
}

// tool writes the end of a program: it becomes the command. keep is a descriptor above those
// of the command that stays open until then, or -1.
func (w *writer) tool(keep int) {
	w.Topic("preparing the process")
	if w.attr.Pdeathsig != 0 && keep < 0 { // else its init does it
		w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_SET_PDEATHSIG), sysprog.Int(w.attr.Pdeathsig), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
		alive, parent := w.Label(), w.Call(unix.SYS_GETPPID)
		w.JumpIf(parent, sysprog.Int(os.Getpid()), alive)
		w.Call(unix.SYS_EXIT_GROUP, sysprog.Int(1))
		w.Place(alive)
	}
	if w.attr.Setsid {
		w.Call(unix.SYS_SETSID)
	}
	if w.attr.Setpgid {
		w.Call(unix.SYS_SETPGID, sysprog.Int(0), sysprog.Int(w.attr.Pgid))
	}
	w.limits()
	w.TopicOf(landlocking, "entering the Landlock domain")
	w.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, sysprog.Int(w.domain.fd), sysprog.Int(0))
	w.handDown(keep)
	path, argv, env := w.String(w.cmd.Path), w.Strings(w.cmd.Args), w.Strings(w.cmd.Env)
	if len(w.filter) > 0 {
		w.Topic("installing the system call filter")
		w.Call(unix.SYS_SECCOMP, sysprog.Int(unix.SECCOMP_SET_MODE_FILTER), sysprog.Int(0), w.sockFilter(w.filter).Arg())
	}
	w.beObserved()
	w.Topic("starting " + w.cmd.Path)
	w.Execve(path, argv, env)
}

// sockFilter is a struct sock_fprog.
func (w *writer) sockFilter(list []unix.SockFilter) sysprog.Mem {
	code := make([]byte, 0, 8*len(list))
	for _, f := range list {
		code = binary.NativeEndian.AppendUint16(code, f.Code)
		code = append(code, f.Jt, f.Jf)
		code = binary.NativeEndian.AppendUint32(code, f.K)
	}
	prog := w.Words(uint64(len(list)), 0)
	w.Link(prog.At(8), w.Bytes(code))
	return prog
}

// handDown puts the descriptors of the command in their places and closes all others.
func (w *writer) handDown(keep int) {
	w.Topic("handing down files")
	above := 3
	for _, f := range w.files {
		above = max(above, f.to+1)
	}
	aside := make([]sysprog.Slot, len(w.files))
	for i, f := range w.files { // out of the way of each other first
		aside[i] = w.Call(unix.SYS_FCNTL, f.from, sysprog.Int(unix.F_DUPFD_CLOEXEC), sysprog.Int(above))
	}
	taken := make([]int, len(w.files))
	for i, f := range w.files {
		w.Call(unix.SYS_DUP3, aside[i].Arg(), sysprog.Int(f.to), sysprog.Int(0))
		taken[i] = f.to
	}
	for _, fd := range []int{keep, w.watch.fd} {
		if fd >= 0 {
			taken = append(taken, fd)
		}
	}
	w.closeAllBut(taken)
}

// closeAllBut closes all descriptors but these.
func (w *writer) closeAllBut(keep []int) {
	slices.Sort(keep)
	first := 0
	for _, fd := range keep {
		if fd > first {
			w.Call(unix.SYS_CLOSE_RANGE, sysprog.Int(first), sysprog.Int(fd-1), sysprog.Int(0))
		}
		first = fd + 1
	}
	w.Call(unix.SYS_CLOSE_RANGE, sysprog.Int(first), sysprog.Int(^uint32(0)), sysprog.Int(0))
}

// limits sets the limits of one process.
func (w *writer) limits() {
	w.Topic("setting limits")
	set := func(resource int, soft, hard uint64) {
		w.Call(unix.SYS_PRLIMIT64, sysprog.Int(0), sysprog.Int(resource), w.Words(soft, hard).Arg(), sysprog.Int(0))
	}
	lower := func(resource int, soft, hard uint64) { // never above what holds already
		var now unix.Rlimit
		if unix.Getrlimit(resource, &now) == nil {
			soft, hard = min(soft, now.Cur), min(hard, now.Max)
		}
		set(resource, soft, hard)
	}
	l := &w.plan.Limits
	set(unix.RLIMIT_CORE, 0, 0)
	if soft, hard := nofile.Limit(); hard > 0 { // the Go runtime has raised it
		lower(unix.RLIMIT_NOFILE, soft, hard)
	}
	if l.CPUSeconds > 0 { // SIGXCPU, and a second later SIGKILL
		lower(unix.RLIMIT_CPU, uint64(l.CPUSeconds), uint64(l.CPUSeconds)+1)
	}
	if l.FileSize > 0 {
		lower(unix.RLIMIT_FSIZE, uint64(l.FileSize), uint64(l.FileSize))
	}
	if l.Memory > 0 {
		lower(unix.RLIMIT_DATA, uint64(l.Memory), uint64(l.Memory))
	}
	if l.Processes > 0 && w.plan.Tier == fit.TierNamespace {
		// The kernel counts threads, for each user of a user namespace, and not for root. A
		// process has some; this only slows down what would be faster than the counting.
		tasks := 16*uint64(l.Processes) + 64
		lower(unix.RLIMIT_NPROC, tasks, tasks)
	}
}
