package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unsafe"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
	"golang.org/x/sys/unix"
)

// The test binary is also its helpers, and the programs that are started. These do not end by os.Exit, which takes a
// second under the race detector.
func TestMain(m *testing.M) {
	Main(os.RemoveAll)
	switch {
	case os.Args[0] == probeName:
		syscall.Exit(probe(os.Args[1:]))
	case os.Args[0] == hostName:
		syscall.Exit(host(os.Args[1]))
	case len(os.Args) > 1 && os.Args[0] == toolName:
		syscall.Exit(tool(os.Args[1], os.Args[2:]))
	}
	// The runtime's poller opens descriptors at its first use; tests count them.
	pr, pw, _ := os.Pipe()
	_, _ = pr.Close(), pw.Close()
	os.Exit(m.Run())
}

const probeName = "engine-probe"

// node describes a path as the survey does.
func node(t testing.TB, path string) fit.Node {
	t.Helper()
	n, err := fit.Look(path)
	if err != nil || n.Kind == fit.Missing {
		t.Fatalf("%s: %+v, %v", path, n, err)
	}
	return n
}

func grant(t testing.TB, path string, caps jptool.Caps) fit.Grant {
	return fit.Grant{Node: node(t, path), Caps: caps}
}

const (
	r   = jptool.Read
	c   = jptool.Create
	u   = jptool.Update
	d   = jptool.Delete
	x   = jptool.Execute
	all = jptool.AllCaps
)

func write(t testing.TB, path, content string, mode os.FileMode) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	return path
}

func content(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// self is the test binary, which is static, at its own path.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// here is this machine, without what JPHOST_SANDBOX_LIMIT takes away from it.
var here = sync.OnceValues(func() (fit.Machine, error) {
	limit, err := machine.ParseLimit(os.Getenv(machine.LimitVariable))
	return limit.Apply(machine.Look().Settle(Try(context.Background()))), err
})

// needs skips a test that this machine cannot run: one of a tier, or of something that Landlock
// holds from a version on.
func needs(t testing.TB, tier fit.Tier, abi int) fit.Machine {
	t.Helper()
	m, err := here()
	if err != nil {
		t.Fatal(err)
	}
	why := func(key string) string {
		first, _, _ := strings.Cut(m.Why[key], "\n")
		return first
	}
	if m.Landlock < abi {
		t.Skipf("not run: Landlock is version %d here, and %d is needed %s", m.Landlock, abi, why(machine.Landlock))
	}
	if tier == fit.TierNamespace && !m.Namespaces {
		t.Skipf("not run: no namespaces: %s", why(machine.Namespaces))
	}
	return m
}

// since is what comes of an operation that Landlock refuses from a version on, and how it ends before.
func since(t testing.TB, abi int, refused, before string) string {
	t.Helper()
	if needs(t, fit.TierLandlock, 1).Landlock >= abi {
		return refused
	}
	return before
}

// plan is a plan that grants nothing but what the test binary and a shell need.
func plan(t testing.TB, tier fit.Tier, root string) *fit.Plan {
	t.Helper()
	m := needs(t, tier, 1)
	p := &fit.Plan{
		Tier: tier, ABI: m.Landlock, NoFilter: !m.Seccomp, Trees: []fit.Node{node(t, root)},
		Devices: []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"},
		Runtime: []fit.Grant{grant(t, self(t), r|x), {Node: fit.Node{Path: "/proc/self", Kind: fit.Dir}, Caps: r}},
	}
	for _, path := range []string{"/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"} {
		if _, err := os.Lstat(path); err == nil {
			p.Runtime = append(p.Runtime, grant(t, path, r|x))
		}
	}
	if tier == fit.TierNamespace {
		p.Temp = "/tmp"
		if fit.Holds("/tmp", root) {
			p.Temp = "/run/jphost"
		}
	}
	return p
}

// tiers runs a test in each tier.
func tiers(t *testing.T, test func(t *testing.T, tier fit.Tier)) {
	for _, tier := range []fit.Tier{fit.TierLandlock, fit.TierNamespace} {
		t.Run(string(tier), func(t *testing.T) { test(t, tier) })
	}
}

// result is what a confined program did.
type result struct {
	out    string
	status syscall.WaitStatus
	exit   Exit
}

// command is a command line under a plan, with the fields that both have.
func command(p *fit.Plan, cmd *exec.Cmd) *Command {
	c := &Command{Plan: p, Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, ExtraFiles: cmd.ExtraFiles}
	c.Stdin, _ = cmd.Stdin.(*os.File)
	c.Stdout, _ = cmd.Stdout.(*os.File)
	c.Stderr, _ = cmd.Stderr.(*os.File)
	return c
}

// statusOf is an exit as wait(2) has it.
func statusOf(e Exit) syscall.WaitStatus {
	if e.Signal != 0 {
		return syscall.WaitStatus(e.Signal)
	}
	return syscall.WaitStatus(e.Code << 8)
}

// run runs a command line under a plan.
func run(t testing.TB, p *fit.Plan, cmd *exec.Cmd) (result, error) {
	t.Helper()
	return runWith(t, p, cmd, Faults{})
}

func runWith(t testing.TB, p *fit.Plan, cmd *exec.Cmd, faults Faults) (result, error) {
	t.Helper()
	e := New(Options{})
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	out, err := os.CreateTemp("", "confined")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = out.Close(), os.Remove(out.Name()) }()
	cmd.Stdout, cmd.Stderr = out, out
	c := command(p, cmd)
	c.Faults = faults
	child, err := e.Start(c)
	if err != nil {
		return result{}, err
	}
	exit, err := child.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if exit.Lost != "" {
		t.Errorf("%s was exposed", exit.Lost)
	}
	b, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	return result{string(bytes.TrimSuffix(b, []byte("\n"))), statusOf(exit), exit}, nil
}

// sh is a shell command line, in the directory of the first tree.
func sh(p *fit.Plan, script string) *exec.Cmd {
	return &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin", "TMPDIR=" + p.Temp, "LC_ALL=C"}, Dir: p.Trees[0].Path,
	}
}

// mustRun runs a shell script and wants it to end well.
func mustRun(t testing.TB, p *fit.Plan, script string) string {
	t.Helper()
	res, err := run(t, p, sh(p, script))
	if err != nil {
		t.Fatal(err)
	}
	if res.status != 0 {
		t.Errorf("%s: exit status %d, signal %v\n%s", script, res.status.ExitStatus(), res.status.Signal(), res.out)
	}
	return res.out
}

// wantProbes runs operations in one confined program and compares what came of each: "ok" or
// the name of an error. Each is a line `op args… = want`.
func wantProbes(t testing.TB, p *fit.Plan, lines ...string) {
	t.Helper()
	var args, wants []string
	for _, line := range lines {
		op, want, ok := strings.Cut(line, " = ")
		if !ok {
			t.Fatal(line)
		}
		args, wants = append(args, op), append(wants, want)
	}
	cmd := sh(p, "")
	cmd.Path, cmd.Args = self(t), append([]string{probeName}, args...)
	res, err := run(t, p, cmd)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(res.out, "\n")
	if res.status != 0 || len(got) != len(wants)+1 || got[len(wants)] != "end" {
		t.Fatalf("status %#x, %d lines for %d operations:\n%s", res.status, len(got), len(wants), res.out)
	}
	for i, want := range wants {
		if !slices.Contains(strings.Split(want, "|"), got[i]) {
			t.Errorf("%s: %s, want %s", args[i], got[i], want)
		}
	}
}

// probe does operations one after the other and prints what came of each.
func probe(ops []string) int {
	for _, op := range ops {
		f := strings.Fields(op)
		do, ok := operations[f[0]]
		if !ok {
			fmt.Println("unknown operation", f[0])
			return 1
		}
		f = append(f, "", "")
		switch err := do(f[1], f[2]).(type) {
		case nil:
			fmt.Println("ok")
		case syscall.Errno:
			fmt.Println(unix.ErrnoName(err))
		default:
			fmt.Println(err)
		}
	}
	fmt.Println("end")
	return 0
}

func opened(fd int, err error) error {
	if err == nil {
		_ = unix.Close(fd)
		return nil
	}
	return err
}

// operations are what a probe can do; an error is an errno as the kernel gave it.
var operations = map[string]func(a, b string) error{
	"read": func(a, _ string) error { return opened(unix.Open(a, unix.O_RDONLY, 0)) },
	"readat": func(a, b string) error { // b below the open directory a
		dir, err := unix.Open(a, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(dir) }()
		return opened(unix.Openat2(dir, b, &unix.OpenHow{}))
	},
	"threads": func(a, b string) error { // each of b threads reads a file of its own in a
		n, err := strconv.Atoi(b)
		if err != nil {
			return err
		}
		var wait sync.WaitGroup
		errs := make([]error, n)
		for i := range n {
			wait.Go(func() {
				runtime.LockOSThread()
				errs[i] = opened(unix.Openat(unix.AT_FDCWD, a+"/"+strconv.Itoa(i), unix.O_RDONLY, 0))
			})
		}
		wait.Wait()
		for _, err := range errs {
			if err != unix.EACCES {
				return err
			}
		}
		return unix.EACCES
	},
	"list":     func(a, _ string) error { return opened(unix.Open(a, unix.O_RDONLY|unix.O_DIRECTORY, 0)) },
	"update":   func(a, _ string) error { return opened(unix.Open(a, unix.O_WRONLY, 0)) },
	"truncate": func(a, _ string) error { return unix.Truncate(a, 0) },
	"create":   func(a, _ string) error { return unix.Mknod(a, unix.S_IFREG|0o644, 0) },
	"mkdir":    func(a, _ string) error { return unix.Mkdir(a, 0o755) },
	"symlink":  func(a, b string) error { return unix.Symlink(b, a) },
	"link":     func(a, b string) error { return unix.Link(a, b) },
	"rename":   func(a, b string) error { return unix.Rename(a, b) },
	"swap": func(a, b string) error {
		return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
	},
	"unlink": func(a, _ string) error { return unix.Unlink(a) },
	"rmdir":  func(a, _ string) error { return unix.Rmdir(a) },
	"chmod":  func(a, _ string) error { return unix.Chmod(a, 0o777) },
	"mkfifo": func(a, _ string) error { return unix.Mkfifo(a, 0o644) },
	"stat":   func(a, _ string) error { return unix.Lstat(a, &unix.Stat_t{}) },
	"exec": func(a, _ string) error {
		err := exec.Command(a).Run()
		for e := err; e != nil; {
			if errno, ok := e.(syscall.Errno); ok {
				return errno
			}
			w, ok := e.(interface{ Unwrap() error })
			if !ok {
				break
			}
			e = w.Unwrap()
		}
		return err
	},
	"staged": func(a, b string) error { // fills the file and links it
		var fd int
		if _, err := fmt.Sscan(a, &fd); err != nil {
			return err
		}
		_, _ = unix.Pwrite(fd, []byte("staged"), 0)
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+a, unix.AT_FDCWD, b, unix.AT_SYMLINK_FOLLOW)
	},
	"descriptors": func(string, string) error {
		var list []string
		for fd := range 100 {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
				to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
				if strings.Contains(to, "confined") {
					to = "out"
				}
				list = append(list, fmt.Sprint(fd), to)
			}
		}
		return fmt.Errorf("%s", strings.Join(list, " "))
	},
	"syscall": func(a, _ string) error { // with arguments that can do nothing
		nr, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		const bad = ^uintptr(0)
		if _, _, errno := unix.Syscall6(uintptr(nr), bad, bad, bad, bad, bad, bad); errno != 0 {
			return errno
		}
		return nil
	},
	"socket": func(a, b string) error { // family/type/protocol
		var f, kind, protocol int
		if _, err := fmt.Sscanf(a, "%d/%d/%d", &f, &kind, &protocol); err != nil {
			return err
		}
		return opened(unix.Socket(f, kind|unix.SOCK_CLOEXEC, protocol))
	},
	"pair": func(a, _ string) error {
		kind, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		_, err = unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
		return err
	},
	// A pair that is connected cannot be used to talk to somebody else.
	"divert": func(a, b string) error {
		kind, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
		if err != nil {
			return err
		}
		_ = unix.Close(fds[1])
		to := &unix.SockaddrUnix{Name: b}
		if unix.Connect(fds[0], to) == nil || unix.Sendto(fds[0], []byte("x"), unix.MSG_NOSIGNAL, to) == nil || unix.Listen(fds[0], 1) == nil {
			return nil
		}
		return unix.EISCONN
	},
	"connect": func(a, _ string) error {
		port, err := strconv.Atoi(a)
		if err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Connect(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	},
	"listen": func(string, string) error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Bind(fd, &unix.SockaddrInet4{Port: 40404})
	},
	"chown":    func(a, _ string) error { return unix.Chown(a, os.Getuid(), os.Getgid()) },
	"utime":    func(a, _ string) error { return unix.Utimes(a, make([]unix.Timeval, 2)) },
	"setxattr": func(a, _ string) error { return unix.Setxattr(a, "user.x", []byte("x"), 0) },
	"setflags": func(a, _ string) error {
		fd, err := unix.Open(a, unix.O_RDONLY, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, 0x40)
	},
	"unshare": func(a, _ string) error {
		flags, err := strconv.ParseUint(a, 0, 64)
		if err != nil {
			return err
		}
		return unix.Unshare(int(flags))
	},
	"clone": func(a, _ string) error {
		flags, err := strconv.ParseUint(a, 0, 64)
		if err != nil {
			return err
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = []string{probeName}
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: uintptr(flags)}
		if e, ok := cmd.Run().(*os.PathError); ok {
			return e.Err
		}
		return nil
	},
	"typing": func(a, _ string) error { // into standard input, with high bits if asked for
		high, err := strconv.ParseUint(a, 0, 64)
		if err != nil {
			return err
		}
		b := byte('x')
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, 0, uintptr(high)|unix.TIOCSTI, uintptr(unsafe.Pointer(&b))); errno != 0 {
			return errno
		}
		return nil
	},
	"readlink": func(a, b string) error {
		to, err := os.Readlink(a)
		if err == nil && to != b {
			return fmt.Errorf("%s", to)
		}
		if e, ok := err.(*os.PathError); ok {
			return e.Err
		}
		return err
	},
}
