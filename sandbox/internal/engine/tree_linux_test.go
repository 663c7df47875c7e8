package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"golang.org/x/sys/unix"
)

func TestOrdinaryTools(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	o := shTool(m, "cat; echo err >&2; exit 7").mustRun(t, e)
	if o.stdout != "" || o.stderr != "err\n" || o.Exit != (Exit{Code: 7}) {
		t.Errorf("%+v", o)
	}
	s := shTool(m, "cat; pwd")
	s.stdin, s.dir = []byte("request\n"), "/usr"
	if o := s.mustRun(t, e); o.stdout != "request\n/usr\n" || o.Code != 0 {
		t.Errorf("%+v", o)
	}
	if o := shTool(m, "kill -SEGV $$").mustRun(t, e); o.Exit != (Exit{Code: -1, Signal: unix.SIGSEGV}) {
		t.Errorf("%+v", o)
	}
	noneLeft(t, m)
}

// Any bytes that the kernel takes arrive as they are.
func TestWordsArriveExactly(t *testing.T) {
	e := newEngineFor(t)
	words := []string{"", " ", "a b", "\xff\xfe", "é\n", "--", strings.Repeat("x", 100_000), "$(id)"}
	o := toolSpec("end", append([]string{"words"}, words...)...).mustRun(t, e)
	if want := strings.Join(append(words, "end"), "\x00") + "\x00"; o.stdout != want {
		t.Errorf("got %.200q", o.stdout)
	}
	s := toolSpec("m", "environ")
	s.env = []string{"A=\xff=b", "EMPTY=", "LONG=" + strings.Repeat("y", 100_000)}
	if o := s.mustRun(t, e); o.stdout != strings.Join(s.env, "\x00") {
		t.Errorf("got %.200q", o.stdout)
	}
	s.env = nil
	if o := s.mustRun(t, e); o.stdout != "" {
		t.Errorf("no environment was asked for, the tool has %.200q", o.stdout)
	}
}

func TestStandardInput(t *testing.T) {
	e := newEngineFor(t)
	body := bytes.Repeat([]byte("0123456789"), 1<<19) // 5 MiB
	s := toolSpec("m", "digest")
	s.stdin = body
	if o, want := s.mustRun(t, e), fmt.Sprintf("%d %x", len(body), sha256.Sum256(body)); o.stdout != want {
		t.Errorf("got %s, want %s", o.stdout, want)
	}
}

func TestNothingElseIsHandedDown(t *testing.T) {
	e := newEngineFor(t)
	// What the host has inherited from its own parent has no close-on-exec flag.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	if _, err := unix.FcntlInt(w.Fd(), unix.F_SETFD, 0); err != nil {
		t.Fatal(err)
	}
	s := shTool("m", "")
	s.path, s.args = "/bin/ls", []string{"ls", "-l", "/proc/self/fd"} // itself opens the directory as the next one
	names := func() (list []string) {
		for line := range strings.Lines(s.mustRun(t, e).stdout) {
			if _, fd, ok := strings.Cut(line, ":"); ok {
				list = append(list, strings.Fields(fd)[1]+" "+strings.Fields(fd)[3])
			}
		}
		return list
	}
	got := names()
	if len(got) != 4 || !strings.HasPrefix(got[0], "0 pipe:") || !strings.HasPrefix(got[1], "1 pipe:") ||
		!strings.HasPrefix(got[2], "2 pipe:") || !strings.HasPrefix(got[3], "3 /proc/") {
		t.Errorf("descriptors of a tool: %q", got)
	}
	file, err := os.Open("/dev/null")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	s.extra = []*os.File{file}
	if got := names(); len(got) != 5 || got[3] != "3 /dev/null" {
		t.Errorf("with one more: %q", got)
	}
}

// Whatever a program does, it is ended: gently where it lets itself, and with all that it has started.
func TestEnded(t *testing.T) {
	e := newEngineFor(t)
	for _, c := range []struct{ mode, printed string }{
		{"sleep", ""},
		{"stubborn", "ready\n"},
		{"polite", "ready\ncleaned up\n"},
		{"detach", "detached\n"},
		{"bomb", ""},
		{"flood", "flood"},
	} {
		t.Run(c.mode, func(t *testing.T) {
			m := mark()
			s := toolSpec(m, c.mode, "stay")
			s.time = 400 * time.Millisecond
			o := s.mustRun(t, e)
			if !o.stopped || o.took < s.time || o.took > soon {
				t.Errorf("%v after %s", o.stopped, o.took)
			}
			if c.mode == "flood" && strings.HasPrefix(o.stdout, c.printed) {
				o.stdout = c.printed
			}
			if o.stdout != c.printed {
				t.Errorf("printed %q, want %q", o.stdout, c.printed)
			}
			noneLeft(t, m)
		})
	}
}

// What a tool leaves behind neither holds up its result nor survives it.
func TestLeftovers(t *testing.T) {
	e := newEngineFor(t)
	for _, c := range []struct {
		name    string
		spec    func(string) spec
		printed string
		left    bool
	}{
		{"a detached process without streams", func(m string) spec { return toolSpec(m, "detach", "leave") }, "detached\n", true},
		{"a detached process with the streams", func(m string) spec { return toolSpec(m, "hold") }, "", true},
		{"a background job", func(m string) spec { return shTool(m, "sleep 1000 & echo started") }, "started\n", true},
		{"a late writer", func(m string) spec { return shTool(m, "(sleep 0.03; echo late) & echo early") }, "early\nlate\n", false},
		{"a stopped process", func(m string) spec { return shTool(m, "sleep 1000 & kill -STOP $!; echo stopped") }, "stopped\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mark()
			o := c.spec(m).mustRun(t, e)
			if c.printed != "" && o.stdout != c.printed || o.Code != 0 || (o.Leftover > 0) != c.left || o.took > soon {
				t.Errorf("%+v", o)
			}
			noneLeft(t, m)
		})
	}
}

// A process that is never the same for long is caught in the end.
func TestHopper(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	if o := toolSpec(m, "hop").mustRun(t, e); o.Code != 0 {
		t.Errorf("%+v", o)
	}
	noneLeft(t, m)
}

func TestHostDies(t *testing.T) {
	m := mark()
	cmd := hostCommand(hosted{Path: "/proc/self/exe", Args: []string{toolName, "detach", "stay", m}, Dir: "/"})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	within(t, "the host, the tool, and what it has detached run", func() bool { return len(marked(t, m)) >= 3 })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	within(t, "all has ended", func() bool { return len(marked(t, m)) == 0 })
}

func TestSupervisorIsKilled(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	if _, err := toolSpec(m, "kill-supervisor").run(context.Background(), e); !failure.Is(err, failure.Control) || !strings.Contains(err.Error(), "may still run") {
		t.Errorf("got %v, want one of kind Control", err)
	}
	// The documented gap: the tool itself is gone, what it detached is not.
	for _, left := range marked(t, m) {
		if strings.Contains(left, "kill-supervisor") {
			t.Errorf("the tool itself survived: %s", left)
		}
		var pid int
		if _, err := fmt.Sscan(left, &pid); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	if o := shTool(m, "echo on").mustRun(t, e); o.stdout != "on\n" {
		t.Errorf("the next call: %+v", o)
	}
}

// A tool that stops its supervisor is not rid of its limit.
func TestSupervisorIsStopped(t *testing.T) {
	long := giveUp
	t.Cleanup(func() { giveUp = long }) // after the engine, which reads it, is closed
	giveUp = 200 * time.Millisecond
	e := newEngineFor(t)
	m := mark()
	s := shTool(m, "setsid sleep 1000 & kill -STOP $PPID; echo stopped; exec sleep 1000")
	s.time = 100 * time.Millisecond
	o, err := s.run(context.Background(), e)
	if !failure.Is(err, failure.Control) || o.stdout != "stopped\n" {
		t.Errorf("got %+v, %v; want an error of kind Control", o, err)
	}
	noneLeft(t, m)
}

// A supervisor that was killed while it waited for a call is replaced.
func TestIdleSupervisorIsKilled(t *testing.T) {
	e := newEngineFor(t)
	shTool(mark(), "true").mustRun(t, e)
	if len(e.idle) != 1 {
		t.Fatalf("%d supervisors are kept, want 1", len(e.idle))
	}
	_ = e.idle[0].pid.Kill()
	within(t, "it has ended", e.idle[0].ended)
	if o := shTool(mark(), "echo on").mustRun(t, e); o.stdout != "on\n" {
		t.Errorf("%+v", o)
	}
}

func TestStartErrorsWithoutAPlan(t *testing.T) {
	e := newEngineFor(t)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "#!/bin/sh\n", 0o644)
	write(t, filepath.Join(dir, "bare"), "echo hello\n", 0o755)
	write(t, filepath.Join(dir, "lost"), "#!/no/such/interpreter\n", 0o755)
	for _, c := range []struct {
		path, dir string
		errno     unix.Errno
		arg       string
	}{
		{dir + "/plain", "", unix.EACCES, ""},
		{dir, "", unix.EACCES, ""},
		{dir + "/missing", "", unix.ENOENT, ""},
		{dir + "/bare", "", unix.ENOEXEC, ""},
		{dir + "/lost", "", unix.ENOENT, ""},
		{"/bin/echo", "", unix.E2BIG, strings.Repeat("x", 200_000)},
		{"/bin/echo", "", unix.EINVAL, "a\x00b"},
	} {
		_, err := spec{path: c.path, args: []string{"x", c.arg}, dir: "/"}.run(context.Background(), e)
		if !failure.Is(err, failure.Program) || !errors.Is(err, c.errno) {
			t.Errorf("%s: got %v, want %v", c.path, err, c.errno)
		}
	}
	if _, err := (spec{path: "/bin/sh", args: []string{"sh"}, dir: "/no/such/dir"}).run(context.Background(), e); !failure.Is(err, failure.Directory) {
		t.Errorf("got %v", err)
	}
	if o := shTool("m", "echo on").mustRun(t, e); o.stdout != "on\n" {
		t.Errorf("the next call: %+v", o)
	}
}

func TestManyAtOnceWithoutAPlan(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				want := fmt.Sprintf("%d-%d\n", i, j)
				o, err := shTool(m, "sleep 1000 & echo "+want).run(context.Background(), e)
				if err != nil || o.stdout != want || o.Leftover != 1 {
					t.Errorf("got %+v, %v; want %q", o, err, want)
				}
			}
		})
	}
	wg.Wait()
	noneLeft(t, m)
}

func TestClosed(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	e.Warm(KindOf(nil))
	e.Warm(KindOf(nil))
	time.AfterFunc(200*time.Millisecond, func() { _ = e.Close() })
	if o, err := toolSpec(m, "detach", "stay").run(context.Background(), e); err == nil {
		t.Errorf("closing did not end the call: %+v", o)
	}
	noneLeft(t, m)
	if _, err := toolSpec(m, "words").run(context.Background(), e); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("a closed engine: %v", err)
	}
}

// Any call after many is like the first.
func TestNothingAddsUpWithoutAPlan(t *testing.T) {
	e := newEngineFor(t)
	m := mark()
	s := shTool(m, "sleep 1000 & exit 0")
	s.mustRun(t, e)
	fds, routines := countFDs(t), runtime.NumGoroutine()
	for range 10 {
		s.mustRun(t, e)
		shTool(m, "true").mustRun(t, e)
	}
	if f, r := countFDs(t), runtime.NumGoroutine(); f > fds || r > routines+1 {
		t.Errorf("%d descriptors and %d goroutines, %d and %d before", f, r, fds, routines)
	}
	kids, err := descendants(os.Getpid())
	if err != nil || len(kids) != 1 {
		t.Fatalf("%d processes below the host, want the supervisor alone: %v", len(kids), err)
	}
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", kids[0].pid))
	if os.Geteuid() != 0 && errors.Is(err, os.ErrPermission) {
		return // nobody but root may look into a supervisor
	}
	if err != nil || len(entries) > 12 {
		t.Errorf("the supervisor has %d descriptors: %v", len(entries), err)
	}
}

// A person who types the name of a helper gets neither a helper nor this program.
func TestHelperByHand(t *testing.T) {
	for _, args := range [][]string{{supervisorName, "landlock", "6"}, {starterName}} {
		cmd := exec.Command("/proc/self/exe")
		cmd.Args = args
		out, err := cmd.CombinedOutput()
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 || len(out) > 0 {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
}

// What is warmed is what is used, also where the plan is for another version of Landlock.
func TestWarm(t *testing.T) {
	tiers(t, func(t *testing.T, tier fit.Tier) {
		e := newEngineFor(t)
		e.Warm(Kind{Tier: tier, Network: tier != fit.TierNamespace})
		e.Warm(Kind{Tier: tier, Network: tier != fit.TierNamespace})
		if len(e.all) != 1 {
			t.Fatalf("%d helpers, want 1", len(e.all))
		}
		p := plan(t, tier, jptooltest.OpenRoot(t))
		if tier == fit.TierNamespace {
			p.ABI = min(p.ABI, fit.NetABI)
		}
		var h *helper
		for h = range e.all {
			<-h.ready
		}
		warm := h.pid.Pid
		child, err := e.Start(&Command{Plan: p, Path: "/bin/sh", Args: []string{"sh", "-c", "exit 3"}})
		if err != nil {
			t.Fatal(err)
		}
		used := child.helper.pid.Pid
		if exit, err := child.Wait(); err != nil || exit.Code != 3 || used != warm {
			t.Errorf("%+v, %v; helper %d, want %d", exit, err, used, warm)
		}
	})
}
