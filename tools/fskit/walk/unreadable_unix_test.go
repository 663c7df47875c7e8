//go:build unix

package walk

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

const unreadableEnv = "WALK_TEST_UNREADABLE"

// The root and docs may only be passed through, for the kernel as for the rules: what
// rules below grant is found all the same, by root and by an ordinary user.
func TestUnreadableDirectories(t *testing.T) {
	if root := os.Getenv(unreadableEnv); root != "" {
		unreadable(t, root)
		return
	}
	dir, err := os.MkdirTemp("", "walk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, d := range []string{"ws", "ws/docs", "ws/src", "ws/src/shut"} {
			os.Chmod(filepath.Join(dir, d), 0o755)
		}
		os.RemoveAll(dir)
	})
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	root := dir + "/ws"
	jptooltest.Tree(t, root, "file src/x x", "file src/shut/y y", "file docs/a.md a", "file docs/b.md b", "file top x")
	for d, mode := range map[string]os.FileMode{dir: 0o755, root: 0o111, root + "/docs": 0o111, root + "/src": 0o755, root + "/src/shut": 0} {
		if err := os.Chmod(d, mode); err != nil {
			t.Fatal(err)
		}
	}
	unreadable(t, root)
	if !jptooltest.Root(t) {
		return
	}
	// Root is not stopped by these modes; nobody is.
	cmd := jptooltest.Ordinary(t, "-test.run=^TestUnreadableDirectories$")
	cmd.Env = append(cmd.Env, unreadableEnv+"="+root)
	jptooltest.Passed(t, cmd)
}

func unreadable(t *testing.T, root string) {
	ws := jptooltest.Open(t, root, jptooltest.Rule("src", "read"), jptooltest.Rule("docs/a.md", "read"))
	paths, r := listed(t, ws, Options{})
	want, shut := "docs/a.md src/shut/y src/x", int64(0)
	if !jptooltest.Root(t) {
		want, shut = "docs/a.md src/x", 1
	}
	if got := strings.Join(paths, " "); got != want || r.Skipped.Unreadable != shut {
		t.Errorf("uid %d: got %s, want %s; skipped %+v", os.Getuid(), got, want, r.Skipped)
	}
	// The rules grant the root, but the kernel does not: what is known by name is found.
	ws2 := jptooltest.Open(t, root, jptooltest.Rule("", "read"), jptooltest.Rule("docs/a.md", "read execute"))
	paths, r = listed(t, ws2, Options{Starts: []string{".", "src/x"}})
	want = "docs/a.md docs/b.md src/shut/y src/x top"
	if !jptooltest.Root(t) {
		want = "docs/a.md src/x"
	}
	if got := strings.Join(paths, " "); got != want || !jptooltest.Root(t) && r.Skipped.Unreadable != 3 {
		t.Errorf("uid %d, granted: got %s, want %s; skipped %+v", os.Getuid(), got, want, r.Skipped)
	}
	for _, start := range []string{"docs", "docs/a.md", "docs/a"} {
		paths, _ := listed(t, ws, Options{Starts: []string{start}})
		if got := strings.Join(paths, " "); got != "docs/a.md" {
			t.Errorf("uid %d, from %s: got %s", os.Getuid(), start, got)
		}
	}
}
