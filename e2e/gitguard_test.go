package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// The look at git is a part of the call: it takes at most half of the time that the call has, so that the
// question still comes. A sparse file has to be hashed, all of it.
func TestDeadlineBoundsTheLookAtGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the git binary, which makes the repository of this test, is missing")
	}
	root := jptooltest.TempRoot(t)
	for _, name := range []string{"big", "small"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	if err := os.Truncate(filepath.Join(root, "big"), 1<<42+1); err != nil {
		t.Skipf("no sparse file of that size can be made: %v", err)
	}
	for _, test := range []struct {
		tool      string
		arguments map[string]any
		question  string
	}{
		{"fs_delete_file", map[string]any{"path": "big"}, "delete_dirty_file"},
		{"fs_create_file", map[string]any{"path": "big", "content": "y"}, "overwrite_file"},
		{"fs_move_file", map[string]any{"source": "big", "target": "moved"}, "move_dirty_source"},
		{"fs_move_file", map[string]any{"source": "small", "target": "big"}, "overwrite_file"},
	} {
		start := time.Now()
		o := runTool(t, test.tool, withOptions(t, request(t, root, nil, test.tool, test.arguments, nil), map[string]any{"deadline": 4}))
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s %v took %v", test.tool, test.arguments, took)
		}
		if o.Question == nil || o.Question.ID != test.question {
			t.Errorf("%s %v: %s", test.tool, test.arguments, o.raw)
		}
	}
}
