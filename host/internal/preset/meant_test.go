package preset

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// A program is known by the file that PATH has outside of the workspace, not by its name.
func TestMeant(t *testing.T) {
	w := newWorld(t)
	script(t, w.dir+"/bin", "claude", "exit 0")
	script(t, w.dir+"/other", "claude", "exit 1")
	script(t, w.ws, "claude", "exit 2")
	script(t, w.ws+"/bin", "npm", "exit 3")
	script(t, w.dir+"/lib/node/bin", "npm", "exit 4")
	jptooltest.Tree(t, w.dir, "symlink ws/alias ../bin/claude", "symlink bin/codex ../ws/claude", "symlink bin/npm ../lib/node/bin/npm")
	if err := os.Link(w.dir+"/bin/claude", w.ws+"/bin/claude"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, program, want string }{
		{"$DIR/bin", "claude", "claude"},
		{"$DIR/bin", "$DIR/bin/claude", "claude"},
		{"$DIR/bin", "npm", "npm"},
		{"$WS/bin:$DIR/bin", "$DIR/bin/npm", "npm"},
		{"$DIR/bin", "./claude", ""},
		{"$DIR/bin", "$WS/claude", ""},
		{"$DIR/bin", "alias", ""},
		{"$DIR/bin", "$DIR/other/claude", ""},
		{"$DIR/bin", "bin/claude", ""},         // the same file, but the workspace's name
		{"$DIR/bin", "codex", ""},              // a link to the workspace
		{"$WS/bin:$DIR/bin", "npm", ""},        // what is started is the workspace's
		{".:bin:$DIR/bin", "claude", "claude"}, // relative entries do not count
		{"$DIR/bin", "gone", ""},
		{"", "claude", ""},
	} {
		w.environ = nil
		w.set("HOME=$HOME", "PATH="+c.path)
		program := w.replace(c.program)
		if got := Meant(program, filepath.FromSlash(w.ws), w.environ); got != c.want {
			t.Errorf("PATH=%s %s: %q, want %q", c.path, c.program, got, c.want)
		}
	}
}
