//go:build unix

package jptooltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// OrdinaryID is the user and group that Ordinary runs as, who owns nothing.
const OrdinaryID = 54321

// Ordinary is a command that runs the calling test binary again as an ordinary user, with these
// arguments. The binary is copied to a directory that is the user's own, its working directory, TMPDIR
// and HOME; beside these the environment has PATH only. It takes root, who calls it.
func Ordinary(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := OpenRoot(t)
	binary := filepath.Join(dir, "ordinary.test")
	self, err := os.Executable()
	must(err)
	content, err := os.ReadFile(self)
	must(err)
	must(os.WriteFile(binary, content, 0o755))
	must(os.Chmod(binary, 0o755)) // whatever the umask
	must(os.Chown(dir, OrdinaryID, OrdinaryID))
	cmd := exec.Command(binary, args...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + dir, "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: OrdinaryID, Gid: OrdinaryID}}
	return cmd
}

// Passed runs a command of [Ordinary] with -test.v, fails the test unless tests ran in it and all
// passed, and returns what it printed.
func Passed(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Args = append(cmd.Args, "-test.v")
	text, err := cmd.CombinedOutput()
	out := string(text)
	if err != nil || !strings.HasSuffix(out, "\nPASS\n") || !strings.Contains(out, "--- PASS: ") {
		t.Errorf("as an ordinary user: %v\n%s", err, out)
	}
	return out
}
