// Package agreement is tests only: they show that the tool's own check and
// the kernel mean the same.
//
// A scene is a random tree with a random policy and a list of operations. The policy is
// fitted and its plan started for real; a probe inside does each operation with raw system
// calls, and what became of the host's tree is compared with the verdict of the check on the
// effective policy. What may differ is in docs/known-differences.md and nowhere else. Each
// operation is first done unprotected on a twin of the tree: it counts only if it works there.
//
// The harness is worth what it can find, so it is run with planted bugs too.
package agreement

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/internal/engine"
)

var (
	casesFlag = flag.Int("agreement.n", 3000, "cases for each way to hold a policy, shared among the users")
	sceneFlag = flag.String("agreement.scene", "", "run only this scene: JSON, or the name of a file")
)

// opsPerScene is how many operations are drawn for one start; some do not work unprotected.
const opsPerScene = 20

// TestMain is the probe, too.
func TestMain(m *testing.M) {
	engine.Main(os.RemoveAll)
	if os.Args[0] == probeName {
		syscall.Exit(probe(os.Stdin, os.Stdout)) // os.Exit takes a second under the race detector
	}
	if code, ran := privately(); ran {
		os.Exit(code)
	}
	flag.Parse()
	// A run is as many scenes as its cases need; rapid counts scenes. A failure
	// is printed as a scene to run again, which needs no file.
	set := func(name, value string) {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	set("rapid.checks", strconv.Itoa(max(20, cases()/opsPerScene*4)))
	set("rapid.nofailfile", "true")
	os.Exit(m.Run())
}

// privateVariable is set where mounts can be made that nobody else sees.
const privateVariable = "AGREEMENT_PRIVATE"

// privately runs the tests again in a mount namespace of their own, so that scenes can have
// mounts. It does nothing there, and where there can be none.
func privately() (code int, ran bool) {
	if os.Geteuid() != 0 || os.Getenv(privateVariable) != "" {
		return 0, false
	}
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), privateVariable+"=yes")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(os.Stderr, "scenes have no mounts: there is no mount namespace: %v\n", err)
		return 0, false
	}
	_ = cmd.Wait()
	return max(cmd.ProcessState.ExitCode(), 0) | map[bool]int{true: 1}[!cmd.ProcessState.Success()], true
}

// mounts reports whether scenes can have mounts.
func mounts() bool { return os.Geteuid() == 0 && os.Getenv(privateVariable) != "" }

// cases is how many this process is to see in each way.
func cases() int {
	if os.Geteuid() == 0 || os.Getenv(halfVariable) != "" {
		return *casesFlag / 2 // the other half is the other user's
	}
	return *casesFlag
}

// halfVariable is set where another process does the other half.
const halfVariable = "AGREEMENT_HALF"

const probeName = "agreement-probe"

// asUsers runs a test as root and as an ordinary user, as far as the test's own user
// may: the test is started again in a process of that user.
func asUsers(t *testing.T, test func(t *testing.T)) {
	if !jptooltest.Root(t) {
		t.Run("user", func(t *testing.T) { test(t) })
		t.Log("not run as root: the tests are not root's")
		return
	}
	t.Run("root", func(t *testing.T) { test(t) })
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		top, _, _ := strings.Cut(t.Name(), "/")
		args := []string{"-test.run=^" + top + "$"}
		flag.Visit(func(f *flag.Flag) {
			switch f.Name {
			case "test.run", "test.v", "test.testlogfile", "test.paniconexit0", "test.coverprofile", "test.gocoverdir", "test.outputdir", "test.cpuprofile":
			default:
				args = append(args, "-"+f.Name+"="+f.Value.String())
			}
		})
		cmd := jptooltest.Ordinary(t, args...)
		cmd.Env, cmd.Dir = append(cmd.Env, halfVariable+"=yes"), mustGetwd(t)
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		out := jptooltest.Passed(t, cmd)
		for line := range strings.Lines(out) {
			if strings.Contains(line, "cases") {
				t.Log(strings.TrimSpace(line))
			}
		}
	})
}

func mustGetwd(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// self is the test binary at its own path.
func self(t testing.TB) string {
	t.Helper()
	path, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(fmt.Sprintf("the harness itself failed: %v", err))
	}
	return v
}

func do(err error) { must(0, err) }
