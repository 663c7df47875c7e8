package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/machine"
	"golang.org/x/sys/unix"
)

// asUser makes the test binary run TestReal and nothing else.
const asUser = "JPTOOLS_TEST_AS_USER"

// TestReal looks at this very computer, as this user and as an ordinary one.
func TestReal(t *testing.T) {
	i := machine.Look()
	d := machine.Describe(os.Getenv)
	t.Logf("uid %d: %+v, %+v", os.Geteuid(), i, d)
	if d.Kernel == "" || d.Arch == "" {
		t.Errorf("details without a kernel: %+v", d)
	}
	if i.Machine.Landlock == 0 && i.Machine.Why[machine.Landlock] == "" || !i.Machine.Seccomp && i.Machine.Why[machine.Seccomp] == "" {
		t.Errorf("something is missing without a reason: %+v", i.Machine)
	}
	start := time.Now()
	a := Try(t.Context())
	t.Logf("attempt: %v after %v", a, time.Since(start))
	if i.Doubt == "" && a.OK() != i.Machine.Namespaces {
		t.Errorf("the quick look said namespaces=%t without a doubt, the attempt: %v", i.Machine.Namespaces, a)
	}
	if m := i.Settle(a); m.Namespaces != (i.Machine.Namespaces && a.OK()) {
		t.Errorf("%+v after the attempt %v", m, a)
	}
	if _, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); err != unix.ECHILD {
		t.Errorf("a child is left: %v", err)
	}
	if os.Getenv(asUser) != "" {
		return
	}
	if !jptooltest.Root(t) {
		t.Log("not root: the look of a second user is left out")
		return
	}
	cmd := jptooltest.Ordinary(t, "-test.run=^TestReal$")
	cmd.Env = append(cmd.Env, asUser+"=1")
	t.Log(jptooltest.Passed(t, cmd))
}

// An attempt that is refused says at which step, and one that is cancelled ends.
func TestTryRefused(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := Try(ctx); a.Step != machine.StepChild {
		t.Errorf("cancelled: %v", a)
	}
	if os.Getenv(asUser) == "" {
		// In a chroot the kernel refuses user namespaces.
		if !jptooltest.Root(t) {
			t.Skip("making a chroot needs root")
		}
		self, err := os.Open("/proc/self/exe")
		if err != nil {
			t.Fatal(err)
		}
		defer self.Close()
		root := t.TempDir()
		if err := os.Chmod(root, 0o755); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile("/proc/self/exe")
		if err == nil {
			err = os.WriteFile(filepath.Join(root, "test"), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/test", "-test.run=^TestTryRefused$", "-test.v")
		cmd.Dir, cmd.Env = "/", []string{asUser + "=chroot"}
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
		out, err := cmd.CombinedOutput()
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("the test binary is not static: its loader is missing in the chroot (build with CGO_ENABLED=0)")
		}
		if err != nil {
			t.Fatalf("in a chroot: %v\n%s", err, out)
		}
		if !strings.Contains(string(out), machine.StepClone+": 1") {
			t.Errorf("in a chroot:\n%s", out)
		}
		return
	}
	a := Try(t.Context())
	t.Logf("%s: %d", a.Step, a.Errno)
}

func BenchmarkTry(b *testing.B) {
	for b.Loop() {
		if a := Try(b.Context()); !a.OK() {
			b.Skip(a)
		}
	}
}
