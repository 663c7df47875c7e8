package launch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/jptooltest"
)

// soon is far above what anything here takes, and far below giveUp.
const soon = 5 * time.Second

var marks struct {
	sync.Mutex
	n int
}

// mark returns a word that is in the command line or environment of every process of
// one test, and that no other process has.
func mark(t *testing.T) string {
	marks.Lock()
	defer marks.Unlock()
	marks.n++
	return fmt.Sprintf("jphost-test-%d-%d-%d", os.Getpid(), marks.n, time.Now().UnixNano())
}

// marked lists the processes with this mark.
func marked(t *testing.T, mark string) []string {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatal("no processes in /proc: nothing can be told", err)
	}
	var found []string
	for _, dir := range dirs {
		if filepath.Base(dir) == fmt.Sprint(os.Getpid()) {
			continue
		}
		line, _ := os.ReadFile(dir + "/cmdline")
		environ, _ := os.ReadFile(dir + "/environ")
		if bytes.Contains(line, []byte(mark)) || bytes.Contains(environ, []byte(mark)) {
			found = append(found, filepath.Base(dir)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

func noneLeft(t *testing.T, mark string) {
	t.Helper()
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("still running: %q", left)
	}
}

// launcher returns a Launcher and checks at the end that nothing of it is left.
func testLauncher(t *testing.T) *Launcher {
	t.Helper()
	fds, routines := countFDs(t), runtime.NumGoroutine()
	l := New(startForTests)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		deadline := time.Now().Add(soon)
		for countFDs(t) > fds || runtime.NumGoroutine() > routines {
			if time.Now().After(deadline) {
				t.Errorf("%d descriptors and %d goroutines, %d and %d before", countFDs(t), runtime.NumGoroutine(), fds, routines)
				return
			}
			time.Sleep(time.Millisecond)
		}
		if kids, err := descendants(os.Getpid()); err != nil || len(kids) > 0 {
			t.Errorf("processes left: %v %v", kids, err)
		}
	})
	return l
}

func countFDs(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// goTool is a Spec for a helper; its mark is the last argument and in the environment.
func goTool(mark string, args ...string) Spec {
	return Spec{
		Program: "/proc/self/exe", Argv: append(append([]string{helperName}, args...), mark),
		Dir: "/", Env: []string{"JPHOST_TEST_MARK=" + mark},
		Limits: Limits{Time: 20 * time.Second, Grace: 100 * time.Millisecond},
	}
}

func shTool(mark, script string) Spec {
	return Spec{
		Argv: []string{"sh", "-c", script}, SearchPath: "/bin:/usr/bin", Dir: "/",
		Env:    []string{"PATH=/bin:/usr/bin", "JPHOST_TEST_MARK=" + mark},
		Limits: Limits{Time: 20 * time.Second, Grace: 100 * time.Millisecond},
	}
}

func mustRun(t *testing.T, l *Launcher, spec Spec) *Result {
	t.Helper()
	res, err := l.Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func wantStop(t *testing.T, err error, reason Reason) {
	t.Helper()
	var stop *StopError
	if !errors.As(err, &stop) || stop.Reason != reason {
		t.Errorf("error %v, want a StopError with reason %d", err, reason)
	} else if text := stop.Error(); text == "" || reason != Cancelled && !strings.Contains(text, "\n") {
		t.Errorf("the error says not what to do: %q", text)
	}
}

func TestOrdinaryTools(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	res := mustRun(t, l, shTool(m, "cat; echo err >&2; exit 7"))
	if string(res.Stdout) != "" || string(res.Stderr) != "err\n" || res.Exit != (Exit{Code: 7}) || res.Leftover != 0 {
		t.Errorf("%+v", res)
	}
	spec := shTool(m, "cat; pwd")
	spec.Stdin, spec.Dir = []byte("request\n"), "/usr"
	if res := mustRun(t, l, spec); string(res.Stdout) != "request\n/usr\n" || res.Exit.Code != 0 {
		t.Errorf("%+v", res)
	}
	if res := mustRun(t, l, shTool(m, "kill -SEGV $$")); res.Exit != (Exit{Code: -1, Signal: "SIGSEGV"}) || res.Exit.String() != "killed by SIGSEGV" {
		t.Errorf("%+v", res)
	}
	noneLeft(t, m)
}

// Any bytes that the kernel takes arrive as they are.
func TestWordsArriveExactly(t *testing.T) {
	l := testLauncher(t)
	words := []string{"", " ", "a b", "\xff\xfe", "é\n", "--", strings.Repeat("x", 100_000), "$(id)"}
	spec := goTool("end", append([]string{"words"}, words...)...)
	res := mustRun(t, l, spec)
	if want := strings.Join(append(words, "end"), "\x00") + "\x00"; string(res.Stdout) != want {
		t.Errorf("got %.200q", res.Stdout)
	}
	spec = goTool("m", "environ")
	spec.Env = []string{"A=\xff=b", "EMPTY=", "LONG=" + strings.Repeat("y", 100_000)}
	if res := mustRun(t, l, spec); string(res.Stdout) != strings.Join(spec.Env, "\x00") {
		t.Errorf("got %.200q", res.Stdout)
	}
	spec.Env = nil
	if res := mustRun(t, l, spec); len(res.Stdout) != 0 {
		t.Errorf("no environment was asked for, the tool has %.200q", res.Stdout)
	}
}

func TestStandardInput(t *testing.T) {
	l := testLauncher(t)
	body := bytes.Repeat([]byte("0123456789"), 1<<19) // 5 MiB
	for _, mode := range []string{"digest", "words"} {
		spec := goTool("m", mode)
		spec.Stdin = body
		res := mustRun(t, l, spec)
		if want := fmt.Sprintf("%d %x", len(body), sha256.Sum256(body)); mode == "digest" && string(res.Stdout) != want {
			t.Errorf("got %s, want %s", res.Stdout, want)
		}
	}
	// Held by a process that stays: neither the end nor the result waits for it.
	spec := goTool("m", "sleep")
	spec.Stdin, spec.Limits.Time = body, 100*time.Millisecond
	_, err := l.Run(context.Background(), spec)
	wantStop(t, err, TimedOut)
}

func TestNothingElseIsHandedDown(t *testing.T) {
	l := testLauncher(t)
	// What the host has inherited from its own parent has no close-on-exec flag.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer closeAll(r, w)
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), syscall.F_SETFD, 0); errno != 0 {
		t.Fatal(errno)
	}
	spec := shTool("m", "")
	spec.Argv = []string{"ls", "-l", "/proc/self/fd"} // itself opens the directory as the next one
	names := func() (list []string) {
		for line := range strings.Lines(string(mustRun(t, l, spec).Stdout)) {
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
	defer closeAll(file)
	spec.ExtraFiles = []*os.File{file}
	if got := names(); len(got) != 5 || got[3] != "3 /dev/null" {
		t.Errorf("with one more: %q", got)
	}
}

func TestTimeLimit(t *testing.T) {
	l := testLauncher(t)
	for _, c := range []struct {
		mode, printed string
	}{{"sleep", ""}, {"stubborn", "ready\n"}, {"polite", "ready\ncleaned up\n"}, {"detach", "detached\n"}, {"bomb", ""}} {
		t.Run(c.mode, func(t *testing.T) {
			m := mark(t)
			spec := goTool(m, c.mode, "stay")
			spec.Limits.Time = 400 * time.Millisecond
			began := time.Now()
			res, err := l.Run(context.Background(), spec)
			wantStop(t, err, TimedOut)
			if took := time.Since(began); took < spec.Limits.Time || took > soon {
				t.Errorf("took %s", took)
			}
			if res == nil || string(res.Stdout) != c.printed {
				t.Errorf("printed %+v, want %q", res, c.printed)
			}
			noneLeft(t, m)
		})
	}
}

func TestCancel(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	cause := errors.New("ctrl-c")
	ctx, cancel := context.WithCancelCause(context.Background())
	time.AfterFunc(150*time.Millisecond, func() { cancel(cause) })
	_, err := l.Run(ctx, goTool(m, "detach", "stay"))
	wantStop(t, err, Cancelled)
	if !errors.Is(err, cause) {
		t.Errorf("%v does not tell the cause", err)
	}
	noneLeft(t, m)
	_, err = l.Run(ctx, goTool(m, "sleep"))
	wantStop(t, err, Cancelled)
}

// A cancellation that crosses the report of its call sets a deadline when that has been read. The next call
// of the same supervisor has its own time.
func TestLateCancellation(t *testing.T) {
	l := testLauncher(t)
	mustRun(t, l, shTool(mark(t), "true"))
	if len(l.idle) != 1 {
		t.Fatalf("%d supervisors are kept, want 1", len(l.idle))
	}
	if err := l.idle[0].sock.SetReadDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	mustRun(t, l, shTool(mark(t), "true"))
}

func TestFlood(t *testing.T) {
	l := testLauncher(t)
	for _, c := range []struct {
		stream string
		reason Reason
	}{{"stdout", StdoutFlood}, {"stderr", StderrFlood}} {
		m := mark(t)
		spec := goTool(m, "flood", c.stream)
		spec.Limits.Stdout, spec.Limits.Stderr = 1_000_000, 1_000_000
		res, err := l.Run(context.Background(), spec)
		wantStop(t, err, c.reason)
		if n := len(res.Stdout) + len(res.Stderr); n != 1_000_000 {
			t.Errorf("%s: kept %d bytes", c.stream, n)
		}
		noneLeft(t, m)
	}
	// Exactly the limit is no flood.
	spec := shTool(mark(t), "printf 12345")
	spec.Limits.Stdout = 5
	if res := mustRun(t, l, spec); string(res.Stdout) != "12345" {
		t.Errorf("%q", res.Stdout)
	}
	// One byte more is, also when the tool has long ended.
	spec.Limits.Stdout = 4
	res, err := l.Run(context.Background(), spec)
	wantStop(t, err, StdoutFlood)
	if string(res.Stdout) != "1234" {
		t.Errorf("%q", res.Stdout)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte{}, "a", "")
	f.Add(encodeFrame("run", "1", "\xff")[4:], "\x00", "é")
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 'a'}, "", "")
	f.Fuzz(func(t *testing.T, raw []byte, a, b string) {
		if fields, err := decodeFrame(raw); err == nil && !bytes.Equal(encodeFrame(fields...)[4:], raw) {
			t.Errorf("%q is not what %q encodes to", raw, fields)
		}
		got, err := decodeFrame(encodeFrame(a, b)[4:])
		if err != nil || len(got) != 2 || got[0] != a || got[1] != b {
			t.Errorf("%q, %q became %q: %v", a, b, got, err)
		}
		if r, err := parseReport(append([]string{frameDone}, strings.Split(a, b)...)); err == nil && r == nil {
			t.Error("neither a report nor an error")
		}
	})
}

func TestStartErrors(t *testing.T) {
	l := testLauncher(t)
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	long := strings.Repeat("x", 200_000)
	cases := []struct {
		name string
		spec Spec
		want []string
	}{
		{"not in PATH", Spec{Argv: []string{"no-such-program"}, SearchPath: "/bin:/usr/bin"}, []string{`"no-such-program"`, "/bin:/usr/bin", "install it"}},
		{"empty", Spec{}, []string{"empty"}},
		{"empty program", Spec{Argv: []string{""}}, []string{"empty", "placeholders"}},
		{"not executable", Spec{Argv: []string{"./plain"}}, []string{"permission denied", "chmod +x"}},
		{"a directory", Spec{Argv: []string{"./"}}, []string{"is a directory"}},
		{"missing", Spec{Argv: []string{"./missing"}}, []string{"no such file"}},
		{"no interpreter line", Spec{Argv: []string{"./bare"}}, []string{"exec format error", "#!"}},
		{"missing interpreter", Spec{Argv: []string{"./lost"}}, []string{"no such file", "interpreter"}},
		{"missing directory", Spec{Argv: []string{"/bin/sh"}, Dir: "/no/such/dir"}, []string{"no such file"}},
		{"relative directory", Spec{Argv: []string{"/bin/sh"}, Dir: "x"}, []string{"not absolute"}},
		{"too long", Spec{Argv: []string{"/bin/echo", long}}, []string{"argument list too long", "standard input"}},
		{"refused plan", Spec{Argv: []string{"/bin/sh"}, Plan: []byte(`{"Refuse":"the tier is not there"}`)}, []string{"the tier is not there"}},
	}
	write("plain", "#!/bin/sh\n", 0o644)
	write("bare", "echo hello\n", 0o755)
	write("lost", "#!/no/such/interpreter\n", 0o755)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.spec.Dir == "" {
				c.spec.Dir = dir
			}
			res, err := l.Run(context.Background(), c.spec)
			var start *StartError
			if res != nil || !errors.As(err, &start) {
				t.Fatalf("got %+v, %v; want a StartError", res, err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
		})
	}
	if res := mustRun(t, l, shTool("m", "echo on")); string(res.Stdout) != "on\n" {
		t.Errorf("the next call: %+v", res)
	}
}

// A plan reaches the start function, on the thread that ends last.
func TestPlan(t *testing.T) {
	l := testLauncher(t)
	for range 3 {
		spec := goTool("m", "environ")
		spec.Plan = []byte(`{"Variable":"FROM=plan"}`)
		if res := mustRun(t, l, spec); !strings.Contains(string(res.Stdout), "FROM=plan\x00THREAD_IS_MAIN=true") {
			t.Errorf("%q", res.Stdout)
		}
	}
	spec := goTool("m", "sleep")
	spec.Plan, spec.Limits.Time = []byte(`{}`), 100*time.Millisecond
	_, err := l.Run(context.Background(), spec)
	wantStop(t, err, TimedOut)
}

// An init that says that nobody is left is not waited for; what comes next on the same supervisor is,
// until it has gone, also where that takes longer than a tree that has to be killed is given.
func TestNothingLeft(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	for _, c := range []struct {
		status string
		early  bool
	}{{"[768, 4294967295]", true}, {"[768]", false}, {"[768, 1]", false}, {"[4294967295, 768]", false}} {
		spec := shTool(m, "exec <&- >&- 2>&-; sleep 4")
		spec.Plan = []byte(`{"Status": ` + c.status + `}`)
		began := time.Now()
		res, err := l.Run(context.Background(), spec)
		took := time.Since(began)
		if c.early && (err != nil || res.Exit.Code != 3 || took > 2*time.Second) || !c.early && took < linger {
			t.Errorf("%s: %+v, %v after %v", c.status, res, err, took)
		}
		spec = shTool(m, "echo next")
		spec.Plan = []byte(`{}`)
		if res, err := l.Run(context.Background(), spec); err != nil || string(res.Stdout) != "next\n" {
			t.Errorf("%s: then %+v, %v", c.status, res, err)
		}
		noneLeft(t, m)
	}
}

// More processes than the plan allows end the call, as many do not.
func TestTooManyProcesses(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	for _, c := range []struct {
		script string
		over   bool
	}{{"sleep 0.1 & sleep 0.1 & wait; echo done", false}, {"for i in 1 2 3 4 5 6; do sleep 1000 & done; wait", true}} {
		spec := shTool(m, c.script)
		spec.Plan = []byte(`{"Processes": 4}`)
		res, err := l.Run(context.Background(), spec)
		var stop *StopError
		if c.over && (!errors.As(err, &stop) || stop.Reason != TooManyProcesses || stop.Limit != 4) || !c.over && (err != nil || string(res.Stdout) != "done\n") {
			t.Errorf("%s: %+v, %v", c.script, res, err)
		}
		noneLeft(t, m)
	}
}

func TestManyAtOnce(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 5 {
				want := fmt.Sprintf("%d-%d\n", i, j)
				res, err := l.Run(context.Background(), shTool(m, "sleep 1000 & echo "+want))
				if err != nil || string(res.Stdout) != want || res.Leftover != 1 {
					t.Errorf("got %+v, %v; want %q", res, err, want)
				}
			}
		})
	}
	wg.Wait()
	noneLeft(t, m)
}

func TestClosed(t *testing.T) {
	l := testLauncher(t)
	m := mark(t)
	l.Warm()
	l.Warm()
	time.AfterFunc(200*time.Millisecond, func() { _ = l.Close() })
	if _, err := l.Run(context.Background(), goTool(m, "detach", "stay")); err == nil {
		t.Error("closing did not end the call")
	}
	noneLeft(t, m)
	if _, err := l.Run(context.Background(), goTool(m, "words")); !errors.Is(err, errClosed) {
		t.Errorf("a closed launcher: %v", err)
	}
}

// The same as an ordinary user, who may not signal everybody.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root: the other tests have shown it")
	}
	if out := jptooltest.Passed(t, jptooltest.Ordinary(t, "-test.count=1", "-test.run=^Test")); strings.Count(out, "--- PASS") < 10 {
		t.Errorf("too few tests ran:\n%s", out)
	}
}
