package places

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A target that a configuration names is judged as that of a mount is.
func TestCaution(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".ssh", "code/fork", "ws", "state"} {
		if err := os.MkdirAll(filepath.Join(home, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	home = filepath.ToSlash(home)
	here := Here{Root: home + "/ws", Home: home, State: home + "/state"}
	for target, want := range map[string]string{
		home + "/code/fork": "",
		home:                "The target is your home directory.\nThe target is, or reaches:\n",
		home + "/.ssh":      "The target is, or reaches:\n  " + home + "/.ssh (SSH keys)\n",
		home + "/state":     "The target is, or reaches:\n  " + home + "/state (approvals and state of this program)\n",
	} {
		if got := here.Caution(target); got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %q, want %q", target, got, want)
		}
	}
}
