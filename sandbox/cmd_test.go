package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
)

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// prepare prepares these rules for a new workspace.
func prepare(t *testing.T, o sandbox.Options, rules ...jptool.FsRule) (*sandbox.Prepared, string) {
	t.Helper()
	dir := jptooltest.TempRoot(t)
	p, err := sandbox.Prepare(t.Context(), &jptool.AccessPolicy{FS: rules}, dir, o)
	do(t, err)
	return p, dir
}

// tiers runs a test in each tier that this machine has.
func tiers(t *testing.T, run func(t *testing.T, o sandbox.Options)) {
	m, err := sandbox.Probe(t.Context(), "", nil, os.Getenv)
	do(t, err)
	for key, reason := range m.Why {
		t.Logf("not run with %s: %s", key, reason)
	}
	for _, tier := range m.Tiers() {
		t.Run(string(tier), func(t *testing.T) { run(t, sandbox.Options{Tier: tier, Machine: &m}) })
	}
}

// all is a rule that grants everything.
var all = sandbox.Grant("", jptool.AllCaps)

// A call ends at its limit of time with all that it started, whether it listens or not.
func TestLimitOfTime(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		o.Limits.Time = 300 * time.Millisecond
		p, dir := prepare(t, o, all)
		for script, within := range map[string]time.Duration{
			"sleep 60 & sleep 60": time.Second,
			"trap '' TERM; touch deaf; while :; do sleep 1; done": 10 * time.Second,
			"trap 'exit 0' TERM; while :; do sleep 0.1; done":     time.Second,
		} {
			start := time.Now()
			cmd := p.Command(t.Context(), "sh", "-c", script)
			err := cmd.Run()
			var limit *sandbox.LimitError
			if !errors.As(err, &limit) || limit.Time != o.Limits.Time || limit.Processes != 0 || !strings.Contains(err.Error(), "not done within 300ms") {
				t.Errorf("%s: %v", script, err)
			}
			if took := time.Since(start); took < o.Limits.Time || took > within+5*time.Second {
				t.Errorf("%s: took %s", script, took)
			}
		}
		if _, err := os.Stat(filepath.Join(dir, "deaf")); err != nil {
			t.Error(err)
		}
		// In time nothing is ended.
		o.Limits.Time = time.Minute
		p, _ = prepare(t, o, all)
		do(t, p.Command(t.Context(), "true").Run())
	})
}

// Streams, statuses and the directory are as with exec.Cmd.
func TestCmd(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, dir := prepare(t, o, all)
		cmd := p.Command(t.Context(), "sh", "-c", "cat; pwd; echo err >&2; exit 3")
		cmd.Stdin = strings.NewReader("from a reader\n")
		out, err := cmd.CombinedOutput()
		var exit *sandbox.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 3 || string(out) != "from a reader\n"+dir+"\nerr\n" {
			t.Errorf("%q, %v", out, err)
		}
		out, err = p.Command(t.Context(), "sh", "-c", "echo oops >&2; kill -SEGV $$").Output()
		if !errors.As(err, &exit) || exit.SignalName() != "SIGSEGV" || string(exit.Stderr) != "oops\n" || len(out) > 0 {
			t.Errorf("%q, %v", out, err)
		}
		file, err := os.Create(filepath.Join(t.TempDir(), "out"))
		do(t, err)
		defer file.Close()
		cmd = p.Command(t.Context(), "cat")
		in, err := cmd.StdinPipe()
		do(t, err)
		cmd.Stdout = file
		do(t, cmd.Start())
		_, err = io.WriteString(in, "through a pipe")
		do(t, errors.Join(err, in.Close()))
		do(t, cmd.Wait())
		if got, err := os.ReadFile(file.Name()); string(got) != "through a pipe" {
			t.Errorf("%q, %v", got, err)
		}
		cmd = p.Command(t.Context(), "sh", "-c", "echo out; echo err >&2")
		stdout, err := cmd.StdoutPipe()
		do(t, err)
		stderr, err := cmd.StderrPipe()
		do(t, err)
		do(t, cmd.Start())
		a, _ := io.ReadAll(stdout)
		b, _ := io.ReadAll(stderr)
		do(t, cmd.Wait())
		if string(a)+string(b) != "out\nerr\n" {
			t.Errorf("%q %q", a, b)
		}
		if err := p.Command(t.Context(), "no-such-program").Run(); err == nil || !strings.Contains(err.Error(), "PATH") {
			t.Errorf("%v", err)
		}
	})
}

// Extra files keep their numbers; those that the policy stages come after them.
func TestExtraFilesAndStagedOnes(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, _ := prepare(t, o, sandbox.Grant("", jptool.Read|jptool.Execute|jptool.Create))
		r, w, err := os.Pipe()
		do(t, err)
		_, err = w.WriteString("handed down\n")
		do(t, errors.Join(err, w.Close()))
		cmd := p.Command(t.Context(), "sh", "-c", "cat <&3")
		cmd.ExtraFiles = []*os.File{r}
		out, err := cmd.Output()
		if err != nil || string(out) != "handed down\n" {
			t.Errorf("%q, %v", out, err)
		}
		plan := cmd.Attempt.Plan
		if plan.Tier == fit.TierNamespace && plan.ABI < fit.TruncateABI {
			if len(cmd.Attempt.Narrowed) == 0 { // create without update cannot be enforced there
				t.Errorf("version %d of Landlock: nothing is narrowed, but files could be cut off", plan.ABI)
			}
		} else if len(plan.Staged) == 0 || plan.Staged[0].FD != 4 {
			t.Errorf("staged: %+v, want descriptor 4 first", plan.Staged)
		}
		do(t, r.Close())
	})
}

// A program that reads none of a long standard input ends as any other.
func TestCmdReadsNothing(t *testing.T) {
	p, _ := prepare(t, sandbox.Options{}, all)
	cmd := p.Command(t.Context(), "true")
	cmd.Stdin = bytes.NewReader(make([]byte, 10<<20))
	do(t, cmd.Run())
	cmd = p.Command(t.Context(), "true")
	r, w, err := os.Pipe()
	do(t, err)
	defer w.Close()
	cmd.Stdin = struct{ io.Reader }{r} // which nobody ever writes to
	do(t, cmd.Run())
	do(t, r.Close())
}

// The end of the context ends everything: gently if Cancel says so, and after WaitDelay not.
func TestCmdContext(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, _ := prepare(t, o, all)
		ctx, cancel := context.WithCancel(t.Context())
		cmd := p.Command(ctx, "sh", "-c", "trap '' TERM; echo ready; sleep 1000 & wait; sleep 1000")
		cmd.Cancel = func() error { return cmd.Signal(syscall.SIGTERM) }
		cmd.WaitDelay = 50 * time.Millisecond
		out, err := cmd.StdoutPipe()
		do(t, err)
		do(t, cmd.Start())
		_, err = out.Read(make([]byte, 6))
		do(t, err)
		began := time.Now()
		cancel()
		var exit *sandbox.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.Signal != syscall.SIGKILL {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("it took %s", took)
		}
		if err := p.Command(ctx, "true").Run(); !errors.Is(err, context.Canceled) {
			t.Errorf("a start when the context is done: %v", err)
		}
		ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		cmd = p.Command(ctx, "sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait")
		cmd.Cancel = func() error { return cmd.Signal(syscall.SIGTERM) }
		if err := cmd.Run(); err != nil && !errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &exit) {
			t.Errorf("%v", err)
		}
	})
}

// BeforeStart is told of each attempt, and may change the request.
func TestCmdBeforeStart(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, _ := prepare(t, o, sandbox.Grant("", jptool.Read|jptool.Execute))
		cmd := p.Command(t.Context(), "sh", "-c", "cat")
		cmd.BeforeStart = func(a *sandbox.Attempt) error {
			cmd.Stdin = strings.NewReader(a.Access.FS[0].Caps().String())
			return nil
		}
		if out, err := cmd.Output(); string(out) != "read, execute" || err != nil {
			t.Errorf("%q, %v", out, err)
		}
		no := errors.New("no")
		cmd = p.Command(t.Context(), "true")
		cmd.BeforeStart = func(*sandbox.Attempt) error { return no }
		if err := cmd.Run(); !errors.Is(err, no) || cmd.State != nil {
			t.Errorf("%v", err)
		}
	})
}

// What changes between preparing and starting is prepared anew.
func TestCmdRetries(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, dir := prepare(t, o, sandbox.Grant("", jptool.Read|jptool.Execute), sandbox.Grant("d", jptool.Read|jptool.Write))
		do(t, os.Mkdir(dir+"/d", 0o755))
		attempts := 0
		cmd := p.Command(t.Context(), "sh", "-c", "echo x > d/file")
		cmd.BeforeStart = func(*sandbox.Attempt) error {
			if attempts++; attempts == 1 {
				return errors.Join(os.Rename(dir+"/d", dir+"/old"), os.Mkdir(dir+"/d", 0o755))
			}
			return nil
		}
		if err := cmd.Run(); err != nil || attempts != 2 {
			t.Errorf("%v after %d attempts", err, attempts)
		}
	})
}

// A link that a rule which withholds something leads through, or a directory that became a link, is noticed before the
// start: the program does not run, and does not find the rule elsewhere.
func TestCmdWayExchangedBeforeTheStart(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		for name, exchange := range map[string]func(dir string) error{
			"nothing": func(string) error { return nil },
			"another link": func(dir string) error {
				return errors.Join(os.Remove(dir+"/sub"), os.Symlink("other", dir+"/sub"))
			},
			"no link":  func(dir string) error { return errors.Join(os.Remove(dir+"/sub"), os.Rename(dir+"/other", dir+"/sub")) },
			"no entry": func(dir string) error { return os.Remove(dir + "/sub") },
			"a new link": func(dir string) error {
				return errors.Join(os.Rename(dir+"/real", dir+"/old"), os.Symlink("other", dir+"/real"))
			},
			"a link there": func(dir string) error {
				return errors.Join(os.Remove(dir+"/real/f"), os.Symlink("../other/f", dir+"/real/f"))
			},
		} {
			dir := jptooltest.TempRoot(t)
			jptooltest.Tree(t, dir, "file real/f real", "file other/f other", "symlink sub real")
			rules := []jptool.FsRule{sandbox.Grant("", jptool.Read|jptool.Execute), sandbox.Grant("sub/f", 0)}
			p, err := sandbox.Prepare(t.Context(), &jptool.AccessPolicy{FS: rules}, dir, o)
			do(t, err)
			do(t, exchange(dir))
			out, err := p.Command(t.Context(), "sh", "-c", "echo ran; cat sub/f").Output()
			refused := err != nil && strings.Contains(err.Error(), "while the call was prepared")
			if ran := name == "nothing"; ran != (string(out) == "ran\n") || ran == refused {
				t.Errorf("%s: %q, %v", name, out, err)
			}
		}
	})
}

// What appears where nothing may be ends the call, and what stays is found after it.
func TestCmdChanged(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		p, _ := prepare(t, o, all, sandbox.Grant("secret", 0))
		cmd := p.Command(t.Context(), "sh", "-c", "echo x > secret; sleep 100")
		err := cmd.Run()
		var changed *sandbox.ChangedError
		var lost *sandbox.LostError
		if !errors.As(err, &changed) || !errors.As(err, &lost) || lost.Kind != fit.Appeared || len(cmd.Report().Changed) != 1 {
			t.Errorf("%v", err)
		}
	})
}

// Many calls at once share helpers, and nothing of one shows in another.
func TestCmdAtOnce(t *testing.T) {
	tiers(t, func(t *testing.T, o sandbox.Options) {
		o.Helpers = sandbox.NewHelpers(sandbox.HelperOptions{})
		p, _ := prepare(t, o, all)
		var group sync.WaitGroup
		for i := range 12 {
			group.Go(func() {
				want := strings.Repeat("x", i+1)
				out, err := p.Command(context.Background(), "sh", "-c", "echo $0 > $TMPDIR/f; cat $TMPDIR/f", want).Output()
				if strings.TrimSpace(string(out)) != want || err != nil {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
		group.Wait()
		do(t, o.Helpers.Close())
	})
}

// Off enforces nothing, and says so; with Required the call is refused where not all can be enforced.
func TestOptions(t *testing.T) {
	p, dir := prepare(t, sandbox.Options{Off: true}, sandbox.Grant("", jptool.Read), sandbox.Grant("made/", jptool.AllCaps))
	cmd := p.Command(t.Context(), "sh", "-c", "ls; echo x > file")
	out, err := cmd.Output()
	if r := cmd.Report(); err != nil || string(out) != "made\n" || r.Mode != "off" || r.Tier != fit.TierNone || len(r.NotEnforced) == 0 {
		t.Errorf("%q, %v, %+v", out, err, r)
	}
	if _, err := os.Stat(dir + "/made"); err == nil {
		t.Error("an empty directory that was made for the call is still there")
	}
	poor := fit.Machine{Landlock: 7, Why: map[string]string{}}
	p, _ = prepare(t, sandbox.Options{Required: true, Machine: &poor}, all)
	cmd = p.Command(t.Context(), "true")
	var refused *fit.RefusedError
	if err := cmd.Run(); !errors.As(err, &refused) || cmd.Report().Mode != "required" || len(cmd.Report().NotEnforced) == 0 {
		t.Errorf("%v", err)
	}
	if _, err := sandbox.Prepare(t.Context(), &jptool.AccessPolicy{FS: []jptool.FsRule{sandbox.Grant("../out", jptool.Read)}}, dir, sandbox.Options{}); jptool.CodeOf(err) != jptool.CodeInvalidPolicy {
		t.Errorf("%v", err)
	}
}

// The ten lines of the package comment, as a program of somebody else: it needs this module and jptool, and nothing more.
func TestProgramOfSomebodyElse(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("not run: there is no go here to build a program with")
	}
	here, err := filepath.Abs("..")
	do(t, err)
	dir := t.TempDir()
	doc, err := os.ReadFile("sandbox.go")
	do(t, err)
	var program strings.Builder
	program.WriteString("package main\n\nimport (\n\t\"context\"\n\t\"log\"\n\t\"os\"\n\n\t\"github.com/jptools/jptools/jptool\"\n\t\"github.com/jptools/jptools/sandbox\"\n)\n\n")
	for line := range strings.Lines(string(doc)) {
		if code, ok := strings.CutPrefix(line, "//\t"); ok {
			program.WriteString(code)
		}
	}
	do(t, os.WriteFile(dir+"/main.go", []byte(program.String()), 0o644))
	do(t, os.WriteFile(dir+"/file", []byte("x"), 0o644))
	mod := "module example.com/confine\n\ngo 1.26.0\n\nrequire (\n\tgithub.com/jptools/jptools/jptool v0.0.0\n\tgithub.com/jptools/jptools/sandbox v0.0.0\n)\n\n" +
		"replace (\n\tgithub.com/jptools/jptools/jptool => " + here + "/jptool\n\tgithub.com/jptools/jptools/sandbox => " + here + "/sandbox\n)\n"
	do(t, os.WriteFile(dir+"/go.mod", []byte(mod), 0o644))
	// What this repository has checked needs no checksum database.
	var sums []byte
	for _, module := range []string{"sandbox", "jptool"} {
		sum, err := os.ReadFile(here + "/" + module + "/go.sum")
		do(t, err)
		sums = append(sums, sum...)
	}
	do(t, os.WriteFile(dir+"/go.sum", sums, 0o644))
	for _, args := range [][]string{{"mod", "tidy"}, {"build", "-o", "confine", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, dir+"/confine")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "file") {
		t.Errorf("%v\n%s", err, out)
	}
}
