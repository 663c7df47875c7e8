package safewrite

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// A test binary with childEnv set does one write and stops where stopEnv says; the
// parent kills it there and looks at what is left.
const (
	childEnv = "SAFEWRITE_TEST_CHILD" // create, replace, in-place or rollback, each may have " plain" added; or full
	rootEnv  = "SAFEWRITE_TEST_ROOT"
	stopEnv  = "SAFEWRITE_TEST_STOP" // number of the step to stop at
	// signalEnv is what the child sends itself there and goes on, instead of stopping.
	signalEnv = "SAFEWRITE_TEST_SIGNAL"
)

var (
	oldContent = strings.Repeat("old line\n", 300_000)
	newContent = strings.Repeat("the new line\n", 250_000)
)

func TestMain(m *testing.M) {
	switch kind := os.Getenv(childEnv); kind {
	case "":
		os.Exit(m.Run())
	case "full":
		os.Exit(fullDisk())
	default:
		os.Exit(crash(kind, os.Getenv(rootEnv)))
	}
}

// crash does one write. It prints "ready" before, and "at STEP" when it stops.
func crash(kind, root string) int {
	kind, rest, _ := strings.Cut(kind, " ")
	if rest == "plain" {
		plain()
	}
	stop, _ := strconv.Atoi(os.Getenv(stopEnv))
	n := 0
	onStep = func(step string) error {
		n++
		if sig, _ := strconv.Atoi(os.Getenv(signalEnv)); n == stop && sig != 0 {
			_ = syscall.Kill(os.Getpid(), syscall.Signal(sig))
			time.Sleep(50 * time.Millisecond) // until it has arrived
		} else if n == stop {
			fmt.Println("at " + step)
			time.Sleep(time.Hour)
		}
		return nil
	}
	if kind == "stranger" {
		kind = "replace"
		strangerChild(rest, root)
	}
	fmt.Println("ready")
	if err := write(kind, root); err != nil {
		fmt.Println("error", err)
		return 1
	}
	fmt.Println("done")
	return 0
}

func write(kind, root string) error {
	ctx := jptool.Context{Root: root}
	if kind == "in-place" {
		ctx.Access = &jptool.AccessPolicy{FS: []jptool.FsRule{jptooltest.Rule("", "read update")}}
	}
	ws, err := ctx.Open()
	if err != nil {
		return err
	}
	defer ws.Close()
	t, err := ws.CheckEntry("d/f", 0)
	if err != nil {
		return err
	}
	if kind == "create" {
		if _, err := MakeParents(t); err != nil {
			return err
		}
		return Create(t, []byte(newContent), 0o666)
	}
	f, err := Lock(context.Background(), t)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Content(); err != nil {
		return err
	}
	if err := f.Stage([]byte(newContent)); err != nil {
		return err
	}
	if _, err := f.Commit(); err != nil {
		return err
	}
	if kind == "rollback" {
		return f.Rollback()
	}
	return nil
}

func startChild(t *testing.T, kind, root string, stop int, env ...string) (*exec.Cmd, *lines) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+kind, rootEnv+"="+root, stopEnv+"="+strconv.Itoa(stop), "TMPDIR="+root)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, &lines{bufio.NewScanner(out)}
}

type lines struct{ s *bufio.Scanner }

func (l *lines) next() string {
	l.s.Scan()
	return l.s.Text()
}

// TestKilledAtEachStep stops a write at every step there is, kills it, and checks that
// one content or the other is whole, and that the next write leaves no litter.
func TestKilledAtEachStep(t *testing.T) {
	for _, kind := range []string{"create", "replace", "rollback", "create plain", "replace plain", "rollback plain"} {
		t.Run(kind, func(t *testing.T) {
			var steps []string
			for stop := 1; ; stop++ {
				root := crashRoot(t, kind)
				cmd, lines := startChild(t, kind, root, stop)
				if got := lines.next(); got != "ready" {
					t.Fatalf("the child said %q", got)
				}
				at := lines.next()
				if at == "done" {
					if err := cmd.Wait(); err != nil {
						t.Fatal(err)
					}
					break
				}
				step, ok := strings.CutPrefix(at, "at ")
				if !ok {
					t.Fatalf("the child said %q", at)
				}
				steps = append(steps, step)
				if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
				_ = cmd.Wait()
				wantWhole(t, kind, root, step)
			}
			if len(steps) < 4 {
				t.Errorf("only %d steps were seen: %q", len(steps), steps)
			}
			t.Logf("%d steps: %q", len(steps), steps)
		})
	}
}

// TestKilledAtRandom kills writes at random moments.
func TestKilledAtRandom(t *testing.T) {
	runs := 300
	if testing.Short() {
		runs = 40
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	killed, finished := 0, 0
	for i := range runs {
		kind := []string{"create", "replace", "rollback", "create plain", "replace plain"}[i%5]
		root := crashRoot(t, kind)
		cmd, lines := startChild(t, kind, root, 0)
		if got := lines.next(); got != "ready" {
			t.Fatalf("the child said %q", got)
		}
		time.Sleep(time.Duration(random.IntN(25_000)) * time.Microsecond)
		_ = cmd.Process.Kill()
		if cmd.Wait() == nil {
			finished++
		} else {
			killed++
		}
		wantWhole(t, kind, root, "a random moment")
		os.RemoveAll(root)
	}
	t.Logf("%d killed, %d finished", killed, finished)
	if killed < runs/10 {
		t.Errorf("only %d of %d were killed in time", killed, runs)
	}
}

func crashRoot(t *testing.T, kind string) string {
	t.Helper()
	root := jptooltest.TempRoot(t)
	if !strings.HasPrefix(kind, "create") {
		jptooltest.Tree(t, root, "dir d")
		if err := os.WriteFile(root+"/d/f", []byte(oldContent), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func wantWhole(t *testing.T, kind, root, when string) {
	t.Helper()
	got, err := os.ReadFile(root + "/d/f")
	switch {
	case err != nil && !strings.HasPrefix(kind, "create"):
		t.Fatalf("killed at %s: %v", when, err)
	case err == nil && string(got) != newContent && (strings.HasPrefix(kind, "create") || string(got) != oldContent):
		t.Fatalf("killed at %s: a mix of %d bytes", when, len(got))
	}
	// The next writing call in the directory cleans up, also one for another file.
	ws := jptooltest.Open(t, root)
	other := target(t, ws, "d/other")
	if _, err := MakeParents(other); err != nil {
		t.Fatal(err)
	}
	if err := Create(other, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if litter, _ := filepath.Glob(root + "/d/.jptool*"); len(litter) > 0 {
		t.Errorf("killed at %s: litter: %q", when, litter)
	}
}

// A kill in the middle of writing in place can leave a mix; then, and only then, the old content is in
// the directory for temporary files, under a name that says so.
func TestKilledInPlaceLeavesACopy(t *testing.T) {
	stopped, mixed := 0, 0
	for stop := 1; ; stop++ {
		root := crashRoot(t, "in-place")
		cmd, lines := startChild(t, "in-place", root, stop)
		lines.next()
		at := lines.next()
		if at == "done" {
			break
		}
		stopped++
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		copies, _ := filepath.Glob(root + "/jptool-*.old")
		got, err := os.ReadFile(root + "/d/f")
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != oldContent && string(got) != newContent {
			mixed++
			if len(copies) != 1 {
				t.Fatalf("%s: a mix, and copies %q", at, copies)
			}
		}
		for _, c := range copies {
			wantFile(t, c, oldContent)
		}
		if at == "at backed up" && len(copies) > 0 {
			t.Errorf("%s: nothing was written, and there is %q", at, copies)
		}
	}
	if stopped < 3 || mixed < 2 {
		t.Errorf("only %d steps were seen, %d with a mix", stopped, mixed)
	}
}

// A signal that asks the process to end, while it writes in place, ends the write first: the file is
// whole, old or new, and nothing is left.
func TestEndedInPlaceIsWhole(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		old, changed := 0, 0
		for stop := 1; ; stop++ {
			root := crashRoot(t, "in-place")
			cmd, lines := startChild(t, "in-place", root, stop, signalEnv+"="+strconv.Itoa(int(sig)))
			lines.next()
			said := lines.next()
			err := cmd.Wait()
			got, readErr := os.ReadFile(root + "/d/f")
			if readErr != nil {
				t.Fatal(readErr)
			}
			switch string(got) {
			case oldContent:
				old++
			case newContent:
				changed++
			default:
				t.Fatalf("%v at step %d: a mix of %d bytes (%q, %v)", sig, stop, len(got), said, err)
			}
			if said != "" { // it lived on
				if (said == "done") != (string(got) == newContent) {
					t.Errorf("%v at step %d: it said %q", sig, stop, said)
				}
				if left, _ := filepath.Glob(root + "/jptool-*"); len(left) > 0 {
					t.Errorf("%v at step %d: left %q", sig, stop, left)
				}
			} else if left, _ := filepath.Glob(root + "/jptool-*" + backupMixed); len(left) > 0 {
				t.Errorf("%v at step %d: the file is whole, and there is %q", sig, stop, left)
			}
			if said == "done" && cmd.ProcessState.Success() && stop > 10 {
				break
			}
		}
		if old < 3 || changed < 2 {
			t.Errorf("%v: %d times old, %d times new", sig, old, changed)
		}
	}
}
