package confine

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/sandbox/sysprog"
	"golang.org/x/sys/unix"
)

// inside is the parent's part of a start in namespaces: the pipes between it and the init.
type inside struct {
	release [2]int // the parent says when the maps of users are there, and closes it when it knows the mounts
	failure [2]int
	status  [2]int
}

func (p *inside) open(above int) (err error) {
	*p = inside{[2]int{-1, -1}, [2]int{-1, -1}, [2]int{-1, -1}}
	for _, pipe := range []*[2]int{&p.release, &p.failure, &p.status} {
		if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
			return fmt.Errorf("making a pipe: %w%s", err, remedy(0, err.(unix.Errno)))
		}
	}
	// What stays open until execve must not be where a descriptor of the command goes.
	if p.failure[1] < above {
		high, err := unix.FcntlInt(uintptr(p.failure[1]), unix.F_DUPFD_CLOEXEC, above)
		if err != nil {
			return fmt.Errorf("making a pipe: %w%s", err, remedy(0, err.(unix.Errno)))
		}
		closeFD(&p.failure[1])
		p.failure[1] = high
	}
	return nil
}

func (p *inside) close() {
	for _, pipe := range []*[2]int{&p.release, &p.failure, &p.status} {
		closeFD(&pipe[0])
		closeFD(&pipe[1])
	}
}

func closeFD(fd *int) {
	if *fd >= 0 {
		_ = unix.Close(*fd)
		*fd = -1
	}
}

// startInside starts the program under an init in namespaces of its own.
func (w *writer) startInside() (*Process, error) {
	above := 3
	for _, f := range w.files {
		above = max(above, f.to+1)
	}
	for _, s := range w.plan.Staged {
		above = max(above, s.FD+1)
	}
	var p inside
	defer p.close()
	if err := p.open(above); err != nil {
		return nil, err
	}
	w.await(&p)
	covers, err := w.tree()
	if err != nil {
		return nil, err
	}
	w.chdir()
	w.stage()
	w.own("/proc", readRights) // nothing but what belongs to the call is there
	if w.plan.Temp != "" {
		w.own(w.plan.Temp, w.r.tempRights())
	}
	w.drop()
	w.fork(&p)

	users, groups := mapped()
	flags := uintptr(unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC)
	if !w.plan.Net.Open {
		flags |= unix.CLONE_NEWNET
	}
	pid, err := w.Fork(flags, p.failure[1])
	if err != nil {
		errno := unix.ENOSYS // there is no interpreter for this architecture
		errors.As(err, &errno)
		return nil, &NamespacesError{"making namespaces", errno}
	}
	for _, fd := range []*int{&p.release[0], &p.failure[1], &p.status[1]} {
		closeFD(fd)
	}
	err = w.begin(pid, &p, users, groups)
	var watcher *watcher
	if err == nil {
		watcher, err = watch(pid, covers)
	}
	if err != nil {
		_ = unix.Kill(pid, unix.SIGKILL)
		sysprog.Reap(pid)
		return nil, explain(err)
	}
	status := p.status[0]
	p.status[0] = -1
	return &Process{Pid: pid, Init: true, status: status, watcher: watcher}, nil
}

// begin lets the init go on and waits until there is a program, or the reason why there is none. What
// the child has told comes first: that it is gone is what everything else fails of then.
func (w *writer) begin(pid int, p *inside, users, groups string) error {
	err := mapUsers(pid, users, groups)
	if err == nil {
		err = bound(p.status[0])
	}
	if err == nil {
		_, err = unix.Write(p.release[1], []byte{1})
	}
	var was unix.Siginfo
	if err != nil {
		_ = unix.Waitid(unix.P_PID, pid, &was, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		_ = unix.Kill(pid, unix.SIGKILL) // it would wait for ever, as would who waits for what it tells
	}
	if told := w.Await(p.failure[0]); told != nil {
		return told
	}
	if was.Signo != 0 {
		return errEarly
	}
	return err
}

var errEarly = errors.New("the first process of the private tree was killed before it had begun")

// bound waits for the word of the init that it will die with this thread. It is not let go on before: if
// this process were killed in between, nothing would end what the init then starts.
func bound(status int) error {
	var b [1]byte
	for {
		switch n, err := unix.Read(status, b[:]); {
		case err == unix.EINTR:
		case err == nil && n == 0:
			return errEarly
		default:
			return err
		}
	}
}

// mapUsers gives every user and group of this user namespace that we may map their own
// numbers in the one of pid: owners stay right, and nobody becomes somebody else. What little
// it does it does while the child shares its pages, which are copied when they are written to.
func mapUsers(pid int, users, groups string) error {
	dir := "/proc/" + strconv.Itoa(pid) + "/"
	write := func(name, text string) error {
		fd, err := unix.Open(dir+name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			_, err = unix.Write(fd, []byte(text))
			_ = unix.Close(fd)
		}
		return err
	}
	if users != "" && write("uid_map", users) == nil && write("gid_map", groups) == nil {
		return nil
	}
	// Also for a root that may not map others: a failed attempt has mapped nothing.
	err := write("setgroups", "deny")
	if err == nil {
		err = write("uid_map", itself(os.Geteuid()))
	}
	if err == nil {
		err = write("gid_map", itself(os.Getegid()))
	}
	if err != nil {
		errno := unix.EIO
		errors.As(err, &errno)
		return &NamespacesError{"mapping users", errno}
	}
	return nil
}

func itself(id int) string {
	n := strconv.Itoa(id)
	return n + " " + n + " 1"
}

// mapped are the users and groups of the user namespace of this process, each mapped to its own
// number; none for an ordinary user, who may map nobody else. They are read once: a process with
// several threads cannot change its namespace.
func mapped() (users, groups string) {
	if os.Geteuid() != 0 {
		return "", ""
	}
	idMaps.Do(func() {
		users, err := readMap("/proc/self/uid_map")
		groups, err2 := readMap("/proc/self/gid_map")
		if err == nil && err2 == nil {
			idMaps.users, idMaps.groups = users, groups
		}
	})
	return idMaps.users, idMaps.groups
}

var idMaps struct {
	sync.Once
	users, groups string
}

// readMap reads the first column of a map, and maps it to itself.
func readMap(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var has []byte
	for n := -1; n != 0; has = has[:len(has)+n] {
		has = slices.Grow(has, 512)
		if n, err = unix.Read(fd, has[len(has):cap(has)]); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	for line := range strings.Lines(string(has)) {
		if f := strings.Fields(line); len(f) == 3 {
			b.WriteString(f[0] + " " + f[0] + " " + f[2] + "\n")
		}
	}
	return b.String(), nil
}

// await writes the beginning: the child says that it will die with its parent, and waits until its users are
// mapped.
func (w *writer) await(p *inside) {
	w.TopicOf(spaces, "waiting")
	w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_SET_PDEATHSIG), sysprog.Int(unix.SIGKILL), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
	w.Call(unix.SYS_CLOSE, sysprog.Int(p.release[1])) // or its end would never come
	word := w.Reserve(8)
	w.Call(unix.SYS_WRITE, sysprog.Int(p.status[1]), word.Arg(), sysprog.Int(1))
	got := w.Call(unix.SYS_READ, sysprog.Int(p.release[0]), word.Arg(), sysprog.Int(1))
	ready := w.Label()
	w.JumpIf(got, sysprog.Int(1), ready)
	w.Call(unix.SYS_EXIT_GROUP, sysprog.Int(1)) // the parent has given up, or is gone
	w.Place(ready)
	w.Call(unix.SYS_SETSID)
}

// fork writes the end: the init forks the program and waits for what there is.
func (w *writer) fork(p *inside) {
	w.Topic("starting the first process")
	tool, next, end := w.Label(), w.Label(), w.Label()
	hide := func() {
		w.Call(unix.SYS_PRCTL, sysprog.Int(unix.PR_SET_DUMPABLE), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0), sysprog.Int(0))
	}
	// Before there is a program that could look; execve takes it back for the program itself. But
	// an observer reads what the program's execve names, in memory that is the init's until then.
	observed := w.watch.fd >= 0
	if !observed {
		hide()
	}
	child := w.Clone(0, tool)
	if observed {
		hide()
	}
	w.Call(unix.SYS_CHDIR, w.String("/").Arg())
	w.closeAllBut([]int{p.release[0], p.status[1]})
	status := w.Reserve(8)
	w.Place(next)
	got := w.Call(unix.SYS_WAIT4, sysprog.Int(-1), status.Arg(), sysprog.Int(unix.WALL), sysprog.Int(0))
	w.Accept(unix.ECHILD)
	w.JumpIf(got, sysprog.Int(-int(unix.ECHILD)), end)
	w.JumpUnless(got, child.Arg(), next)
	w.Call(unix.SYS_WRITE, sysprog.Int(p.status[1]), status.Arg(), sysprog.Int(4))
	w.Accept(unix.EPIPE) // nobody wants to know
	w.Jump(next)
	w.Place(end)
	w.Call(unix.SYS_WRITE, sysprog.Int(p.status[1]), w.Words(launch.NothingLeft).Arg(), sysprog.Int(4))
	w.Accept(unix.EPIPE)
	// Not before the parent has looked at the mounts, which it does as soon as it can.
	w.Call(unix.SYS_READ, sysprog.Int(p.release[0]), status.Arg(), sysprog.Int(1))
	w.Call(unix.SYS_EXIT_GROUP, sysprog.Int(0))
	w.Place(tool)
	w.tool(p.failure[1])
}
