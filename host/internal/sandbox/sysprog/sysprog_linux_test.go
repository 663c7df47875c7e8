//go:build amd64 || arm64

package sysprog

import (
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if want, ok := strings.CutPrefix(os.Getenv("SYSPROG_TEST"), "ignored="); ok { // before Go installs more of its own: as status has it
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			os.Exit(9)
		}
		for line := range strings.Lines(string(status)) {
			if name, value, _ := strings.Cut(line, ":"); name == "SigBlk" && strings.Trim(value, "\t\n0") != "" || name == "SigIgn" && strings.Trim(value, "\t\n0") != want {
				os.Exit(8)
			}
		}
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// shell ends a program with a shell script.
func (p *Program) shell(script string) {
	p.Topic("start of the shell")
	p.Execve(p.String("/bin/sh"), p.Strings([]string{"sh", "-c", script}), p.Strings(nil))
}

// ways runs a test with shared and with copied memory. run starts a program and returns its
// exit status, or its failure.
func ways(t *testing.T, test func(t *testing.T, run func(*Program) (int, error))) {
	wait := func(t *testing.T, pid int) int {
		var status unix.WaitStatus
		for {
			got, err := unix.Wait4(pid, &status, 0, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || got != pid {
				t.Fatal(got, err)
			}
			return status.ExitStatus()
		}
	}
	t.Run("shared", func(t *testing.T) {
		test(t, func(p *Program) (int, error) {
			pid, err := p.Exec(0)
			if err != nil {
				return 0, err
			}
			return wait(t, pid), nil
		})
	})
	t.Run("copied", func(t *testing.T) {
		test(t, func(p *Program) (int, error) {
			var pipe [2]int
			if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
				t.Fatal(err)
			}
			pid, err := p.Fork(0, pipe[1])
			_ = unix.Close(pipe[1])
			if err == nil {
				err = p.Await(pipe[0])
			}
			_ = unix.Close(pipe[0])
			status := 0
			if pid != 0 {
				status = wait(t, pid)
			}
			return status, err
		})
	})
}

func TestInstructions(t *testing.T) {
	dir := t.TempDir()
	ways(t, func(t *testing.T, run func(*Program) (int, error)) {
		out := filepath.Join(dir, filepath.Base(t.Name()))
		for _, c := range []struct {
			name  string
			write func(p *Program)
			want  int
			fail  string
			errno syscall.Errno
		}{
			{name: "exec", write: func(p *Program) { p.shell("exit 3") }, want: 3},
			{name: "a result as an argument, and memory", write: func(p *Program) {
				fd := p.Call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), p.String(out).Arg(), Int(unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC), Int(0o600))
				p.Call(unix.SYS_WRITE, fd.Arg(), p.Bytes([]byte("hello")).Arg(), Int(5))
				p.shell("test $(cat " + out + ") = hello && exit 4")
			}, want: 4},
			{name: "a failure", write: func(p *Program) {
				p.Topic("first")
				p.Call(unix.SYS_GETPID)
				p.Topic("opening nothing")
				p.Call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), p.String("/no/such").Arg(), Int(0), Int(0))
				p.shell("exit 5")
			}, fail: "opening nothing", errno: unix.ENOENT},
			{name: "an accepted failure", write: func(p *Program) {
				r := p.Call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), p.String("/no/such").Arg(), Int(0), Int(0))
				p.Accept(unix.EPERM, unix.ENOENT)
				l := p.Label()
				p.JumpIf(r, Int(-int(unix.ENOENT)), l)
				p.shell("exit 1")
				p.Place(l)
				p.shell("exit 6")
			}, want: 6},
			{name: "any failure", write: func(p *Program) {
				p.Call(unix.SYS_CLOSE, Int(12345))
				p.Accept()
				p.shell("exit 7")
			}, want: 7},
			{name: "another failure than accepted", write: func(p *Program) {
				p.Topic("closing")
				p.Call(unix.SYS_CLOSE, Int(12345))
				p.Accept(unix.ENOENT)
				p.shell("exit 7")
			}, fail: "closing", errno: unix.EBADF},
			{name: "store and check", write: func(p *Program) {
				at := p.Words(^uint64(0), 0)
				pid := p.Call(unix.SYS_GETPID)
				p.Store(at.At(8), pid, 8)
				bad := p.Call(unix.SYS_CLOSE, Int(12345))
				p.Accept()
				p.Store(at, bad, 8)
				p.Check(at, 8, ^uint64(unix.EBADF)+1, unix.ESTALE)
				p.shell("exit 8")
			}, want: 8},
			{name: "stored narrowly", write: func(p *Program) {
				at := p.Words(^uint64(0))
				p.Call(unix.SYS_UMASK, Int(0o22))
				old := p.Call(unix.SYS_UMASK, Int(0))
				p.Store(at, old, 4)
				p.Check(at, 8, 0xffffffff_00000000|0o22, unix.ESTALE)
				p.Check(at, 4, 0o22, unix.ESTALE)
				p.shell("exit 9")
			}, want: 9},
			{name: "a check that fails", write: func(p *Program) {
				p.Topic("comparing")
				p.Check(p.Words(1<<40), 8, 1<<41, unix.ESTALE)
				p.shell("exit 9")
			}, fail: "comparing", errno: unix.ESTALE},
			{name: "results are equal", write: func(p *Program) {
				a, l := p.Call(unix.SYS_GETPID), p.Label()
				b := p.Call(unix.SYS_GETPID)
				p.JumpUnless(a, b.Arg(), l)
				end := p.Label()
				p.Jump(end)
				p.Place(l)
				p.shell("exit 1")
				p.Place(end)
				p.shell("exit 10")
			}, want: 10},
			{name: "a loop", write: func(p *Program) {
				n, masks, again := p.Counter(), p.Words(0), p.Label()
				p.Place(again)
				p.Call(unix.SYS_UMASK, n.Arg())
				p.Add(n, 1)
				p.JumpUnless(n, Int(6), again)
				p.Store(masks, p.Call(unix.SYS_UMASK, Int(0o22)), 8)
				p.Check(masks, 8, 5, unix.ESTALE)
				p.shell("exit 11")
			}, want: 11},
			{name: "no such program", write: func(p *Program) {
				p.Topic("the program")
				p.Execve(p.String("/no/such"), p.Strings(nil), p.Strings(nil))
			}, fail: "the program", errno: unix.ENOENT},
			{name: "all is missing", write: func(*Program) {}, want: lost},
			{name: "the end is missing", write: func(p *Program) { p.Call(unix.SYS_GETPID) }, want: lost},
		} {
			t.Run(c.name, func(t *testing.T) {
				p := &Program{}
				c.write(p)
				got, err := run(p)
				if c.fail == "" {
					if err != nil || got != c.want {
						t.Errorf("exit status %d, %v; want %d", got, err, c.want)
					}
					return
				}
				var e *Error
				if !errors.As(err, &e) || e.What != c.fail || !errors.Is(err, c.errno) || e.Exec != (c.name == "no such program") {
					t.Errorf("got %v, want %q with %v", err, c.fail, c.errno)
				}
			})
		}
	})
}

// A child with a copy of the memory gets no copy of the heap: that is what makes it fast.
func TestForkLeavesTheHeapOut(t *testing.T) {
	ways(t, func(t *testing.T, run func(*Program) (int, error)) {
		p := &Program{}
		heap := &[64]byte{}
		fd := p.Call(unix.SYS_MEMFD_CREATE, p.String("x").Arg(), Int(0))
		p.Call(unix.SYS_WRITE, fd.Arg(), p.Words(0).Arg(), Int(8))
		got := p.Call(unix.SYS_WRITE, fd.Arg(), Int(reflect.ValueOf(heap).Pointer()), Int(8))
		p.Accept(unix.EFAULT)
		copied := p.Label()
		p.JumpIf(got, Int(-int(unix.EFAULT)), copied)
		p.shell("exit 1")
		p.Place(copied)
		p.shell("exit 2")
		want := 1
		if strings.HasSuffix(t.Name(), "copied") {
			want = 2
		}
		if status, err := run(p); status != want || err != nil {
			t.Errorf("exit status %d, %v; want %d: 1 is a heap that can be read, 2 one that is not there", status, err, want)
		}
		runtime.KeepAlive(heap)
	})
}

// An init that reports how its child ended, and ends when nothing is left.
func TestForkWithin(t *testing.T) {
	var fails, report [2]int
	if err := errors.Join(unix.Pipe2(fails[:], unix.O_CLOEXEC), unix.Pipe2(report[:], unix.O_CLOEXEC)); err != nil {
		t.Fatal(err)
	}
	p := &Program{}
	tool, next, end := p.Label(), p.Label(), p.Label()
	child := p.Clone(0, tool)
	p.Call(unix.SYS_CLOSE, Int(fails[1]))
	status := p.Reserve(4)
	p.Place(next)
	got := p.Call(unix.SYS_WAIT4, Int(-1), status.Arg(), Int(unix.WALL), Int(0))
	p.Accept(unix.ECHILD)
	p.JumpIf(got, Int(-int(unix.ECHILD)), end)
	p.JumpUnless(got, child.Arg(), next)
	p.Call(unix.SYS_WRITE, Int(report[1]), status.Arg(), Int(4))
	p.Jump(next)
	p.Place(end)
	p.Call(unix.SYS_EXIT_GROUP, Int(0))
	p.Place(tool)
	p.shell("kill -SEGV $$")

	pid, err := p.Fork(0, fails[1])
	if err != nil {
		t.Fatal(err)
	}
	_, _ = unix.Close(fails[1]), unix.Close(report[1])
	if err := p.Await(fails[0]); err != nil {
		t.Fatal(err)
	}
	var b [8]byte
	n, err := unix.Read(report[0], b[:])
	if err != nil || n != 4 || unix.WaitStatus(b[0]).Signal() != unix.SIGSEGV {
		t.Errorf("the report is %v, %v", b[:n], err)
	}
	Reap(pid)
	_, _ = unix.Close(fails[0]), unix.Close(report[0])
}

// What the parent ignores or blocks, the program does not inherit, but for what nohup and shells do.
func TestSignalsAreReset(t *testing.T) {
	defer signal.Reset()
	signal.Ignore(unix.SIGUSR1)
	signalsAre(t, "")
	signal.Ignore(unix.SIGHUP)
	signalsAre(t, "1")
	signal.Ignore(unix.SIGINT)
	signalsAre(t, "3")
}

func signalsAre(t *testing.T, ignored string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ways(t, func(t *testing.T, run func(*Program) (int, error)) {
		p := &Program{}
		p.Execve(p.String(self), p.Strings([]string{"x"}), p.Strings([]string{"SYSPROG_TEST=ignored=" + ignored}))
		// The runtime of the child catches most signals itself, and ignores none.
		if got, err := run(p); err != nil || got != 7 {
			t.Errorf("exit status %d, %v", got, err)
		}
	})
}

// Many starts from many goroutines, while signals arrive, the collector runs and others
// start programs too; nothing is left over.
func TestStorm(t *testing.T) {
	count := func() int {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds)
	}
	before := count()
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGUSR1)
	defer signal.Stop(caught)
	stop := make(chan struct{})
	var noise, starts sync.WaitGroup
	noise.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-caught:
			default:
				_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
				runtime.GC()
				time.Sleep(100 * time.Microsecond)
			}
		}
	})
	ways(t, func(t *testing.T, run func(*Program) (int, error)) {
		for i := range 4 {
			starts.Go(func() {
				for j := range 150 {
					p := &Program{}
					fd := p.Call(unix.SYS_OPENAT, Int(unix.AT_FDCWD), p.String("/dev/null").Arg(), Int(unix.O_CLOEXEC), Int(0))
					p.Call(unix.SYS_DUP3, fd.Arg(), Int(0), Int(0))
					want := 0
					if j%3 == i%3 { // a failing one
						want = int(unix.EBADF)
						p.Call(unix.SYS_CLOSE, Int(1<<20))
					}
					p.Execve(p.String("/bin/true"), p.Strings([]string{"true"}), p.Strings(nil))
					status, err := run(p)
					if errno := syscall.Errno(0); errors.As(err, &errno) != (want != 0) || int(errno) != want || err == nil && status != 0 {
						t.Errorf("exit status %d, %v; want %d", status, err, want)
					}
				}
			})
		}
		starts.Wait()
	})
	close(stop)
	noise.Wait()
	if after := count(); after > before+1 { // the runtime's own, at most
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("a child is left: %d, %v", pid, err)
	}
}

func BenchmarkTrue(b *testing.B) {
	for b.Loop() {
		p := &Program{}
		p.Execve(p.String("/bin/true"), p.Strings([]string{"true"}), p.Strings(nil))
		pid, err := p.Exec(0)
		if err != nil {
			b.Fatal(err)
		}
		Reap(pid)
	}
}
