package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/jptools/jptools/host/internal/sandbox/filter"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
)

// writer writes the program for one start.
type writer struct {
	sysprog.Program
	r      *Renderer
	plan   *fit.Plan
	cmd    *exec.Cmd
	attr   syscall.SysProcAttr
	domain *domain
	filter []unix.SockFilter
	extra  []*os.File // of the command, without the observer's
	watch  announcing

	none  sysprog.Mem // an empty string
	how   sysprog.Mem // how nodes are opened
	stat  sysprog.Mem // a struct stat
	files []handed
}

// handed is a descriptor for the program.
type handed struct {
	from sysprog.Arg
	to   int
}

func (r *Renderer) start(plan *fit.Plan, cmd *exec.Cmd) (*Process, error) {
	w, err := r.newWriter(plan, cmd)
	if err != nil {
		return nil, err
	}
	defer w.watch.close()
	if err := w.announce(); err != nil {
		return nil, err
	}
	streams, err := w.standard()
	defer streams.close()
	if err != nil {
		return nil, err
	}
	if w.domain, err = newDomain(plan); err != nil {
		return nil, err
	}
	defer func() { _ = w.domain.close() }()
	if err := w.domain.fill(r, plan); err != nil {
		return nil, err
	}
	if plan.Tier == fit.TierNamespace {
		return w.startInside()
	}
	w.chdir()
	w.stage()
	w.own(procSelf, readRights)
	w.drop()
	w.tool(-1)
	pid, err := w.Exec(0)
	if err != nil {
		return nil, explain(err)
	}
	return &Process{Pid: pid}, nil
}

func (r *Renderer) newWriter(plan *fit.Plan, cmd *exec.Cmd) (*writer, error) {
	if plan.Tier != fit.TierLandlock && plan.Tier != fit.TierNamespace {
		return nil, fmt.Errorf("nothing can be held in the tier %q", plan.Tier)
	}
	if plan.ABI < 1 {
		return nil, errors.New("the plan wants files held, and has no version of Landlock to do it with")
	}
	w := &writer{r: r, plan: plan, cmd: cmd, extra: cmd.ExtraFiles, watch: announcing{fd: -1}}
	if cmd.SysProcAttr != nil {
		w.attr = *cmd.SysProcAttr
	}
	if a := &w.attr; a.Chroot != "" || a.Credential != nil || a.Ptrace || a.Setctty || a.Noctty || a.Foreground || a.Cloneflags != 0 ||
		a.Unshareflags != 0 || a.UidMappings != nil || a.GidMappings != nil || a.AmbientCaps != nil || a.UseCgroupFD || a.PidFD != nil {
		return nil, errors.New("the command has attributes that a confined start does not know")
	}
	for _, list := range [][]string{{cmd.Path, cmd.Dir}, cmd.Args, cmd.Env} {
		for _, s := range list {
			if strings.IndexByte(s, 0) >= 0 {
				return nil, unix.EINVAL // as execve has it
			}
		}
	}
	if !r.NoFilter && !plan.NoFilter {
		var err error
		if w.filter, err = filter.For(filter.Options{Net: plan.Net.Open, Frozen: plan.Frozen, Namespaces: plan.Tier == fit.TierNamespace}); err != nil {
			return nil, err
		}
	}
	mounts := 0
	if plan.Tier == fit.TierNamespace {
		mounts = len(plan.Runtime) + len(plan.Trees) + len(plan.Devices) + 2*(len(plan.Covers)+len(plan.Pins))
	}
	w.Grow(72+8*mounts, 5<<10+128*mounts) // most programs
	w.none = w.String("")
	w.how = w.Words(fit.EntryFlags, 0, fit.EntryResolve)
	w.stat = w.Reserve(statSize)
	return w, nil
}

// statSize is at least the size of a struct stat, which begins with device and inode.
const statSize = 256

// nulls are the files that stand for missing streams.
type nulls []int

func (n nulls) close() {
	for _, fd := range n {
		_ = unix.Close(fd)
	}
}

// standard collects the descriptors that the command hands down.
func (w *writer) standard() (opened nulls, err error) {
	for to, stream := range []any{w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr} {
		file, ok := stream.(*os.File)
		switch {
		case stream == nil:
			fd, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err != nil {
				return opened, fmt.Errorf("opening %s: %w", os.DevNull, err)
			}
			opened = append(opened, fd)
			w.files = append(w.files, handed{sysprog.Int(fd), to})
		case !ok || file == nil:
			return opened, errors.New("the standard streams of a confined start must be files")
		default:
			if err := w.admit(to, file); err != nil {
				return opened, err
			}
			w.files = append(w.files, handed{sysprog.Int(file.Fd()), to})
		}
	}
	for i, file := range w.extra {
		if file != nil {
			if err := w.admit(3+i, file); err != nil {
				return opened, err
			}
			w.files = append(w.files, handed{sysprog.Int(file.Fd()), 3 + i})
		}
	}
	return opened, nil
}

// explain turns a failed instruction into the error that Start promises.
func explain(err error) error {
	var failed *sysprog.Error
	if !errors.As(err, &failed) {
		return err
	}
	if failed.Exec {
		return failed.Errno
	}
	switch failed.Kind {
	case looking:
		switch failed.Errno {
		case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV, unix.ESTALE:
			return &ChangedError{failed.What}
		}
		return fmt.Errorf("looking for %s: %s%s", failed.What, failed.Errno, remedy(failed.Kind, failed.Errno))
	case spaces:
		return &NamespacesError{failed.What, failed.Errno}
	case entering:
		return &DirectoryError{failed.What, failed.Errno}
	}
	// Not as an errno: it would be taken for what execve said.
	return errors.New(failed.Error() + remedy(failed.Kind, failed.Errno))
}

// remedy is what to do about an error number, on a line of its own, or nothing.
func remedy(kind int, errno unix.Errno) string {
	switch {
	case errno == unix.EMFILE:
		return "\nraise the limit of open files (ulimit -n 256)"
	case kind == landlocking && errno == unix.E2BIG:
		return "\nthis process is inside as many Landlock sandboxes as the kernel allows (16): start it with fewer around it"
	case kind == ownProc && errno == unix.ENOENT:
		return "\nmount it: mount -t proc proc /proc"
	}
	return ""
}

// pipe is the status pipe for a reader that must not hold a thread; nil where there is none.
func (p *Process) pipe() *os.File {
	if !p.Init {
		return nil
	}
	_ = unix.SetNonblock(p.status, true)
	return os.NewFile(uintptr(p.status), "status")
}

func (p *Process) wait() (syscall.WaitStatus, error) {
	var status syscall.WaitStatus
	var err error
	if p.Init {
		var b [4]byte
		n := 0
		// It blocks: the thread has nothing else to do, and is not to be woken by others.
		for n, err = unix.Read(p.status, b[:]); err == unix.EINTR; {
			n, err = unix.Read(p.status, b[:])
		}
		if n < len(b) {
			binary.NativeEndian.PutUint32(b[:], uint32(unix.SIGKILL)) // together with its init
		}
		status = syscall.WaitStatus(binary.NativeEndian.Uint32(b[:]))
		_, _ = unix.Close(p.status), unix.Kill(p.Pid, unix.SIGKILL)
		sysprog.Reap(p.Pid)
		return status, err
	}
	for {
		if _, err = syscall.Wait4(p.Pid, &status, unix.WALL, nil); err != unix.EINTR {
			return status, err
		}
	}
}
