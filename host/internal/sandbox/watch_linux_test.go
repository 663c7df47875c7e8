package sandbox_test

import (
	"os"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/sandbox"
	"github.com/jptools/jptools/jptool/jptooltest"
)

// TestWatch makes one change from outside while entries are watched.
func TestWatch(t *testing.T) {
	for _, c := range []struct {
		name, lost string
		change     func(t *testing.T, dir string)
	}{
		{"nothing", "", func(*testing.T, string) {}},
		{"changes in it", "", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/a/mask/x", nil, 0o644)) }},
		{"changes beside it", "", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/a/x", nil, 0o644))
			do(t, os.Rename(dir+"/a/x", dir+"/a/y"))
			do(t, os.Remove(dir+"/a/y"))
		}},
		{"moved", "a/mask", func(t *testing.T, dir string) { do(t, os.Rename(dir+"/a/mask", dir+"/x")) }},
		{"moved away and back", "a/mask", func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/a/mask", dir+"/x"))
			do(t, os.Rename(dir+"/x", dir+"/a/mask"))
		}},
		{"removed", "a/file", func(t *testing.T, dir string) { do(t, os.Remove(dir+"/a/file")) }},
		{"replaced", "a/file", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/x", nil, 0o644))
			do(t, os.Rename(dir+"/x", dir+"/a/file"))
		}},
		{"the way to it moved", "a", func(t *testing.T, dir string) { do(t, os.Rename(dir+"/a", dir+"/x")) }},
		{"link replaced", "l", func(t *testing.T, dir string) {
			do(t, os.Symlink("elsewhere", dir+"/x"))
			do(t, os.Rename(dir+"/x", dir+"/l"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := jptooltest.TempRoot(t)
			jptooltest.Tree(t, dir, "dir a/mask", "file a/file", "symlink l a/file")
			w, err := sandbox.Watch([]sandbox.Node{node(t, dir+"/a/mask"), node(t, dir+"/a/file"), node(t, dir+"/a"), node(t, dir+"/l")})
			do(t, err)
			defer w.Close()
			c.change(t, dir)
			wait := 5 * time.Second
			if c.lost == "" {
				wait = 50 * time.Millisecond
			}
			got := ""
			select {
			case n, ok := <-w.Lost():
				if !ok {
					t.Fatal("the watcher ended")
				}
				got = n.Path
			case <-time.After(wait):
			}
			want := c.lost
			if want != "" {
				want = dir + "/" + want
			}
			// Moving a directory is moving what is in it: either may be told.
			if got != want && !(c.lost == "a" && (got == dir+"/a/mask" || got == dir+"/a/file")) {
				t.Errorf("lost %q, want %q", got, want)
			}
			do(t, w.Close())
			if _, ok := <-w.Lost(); ok {
				t.Error("lost twice")
			}
			do(t, w.Close())
		})
	}
}

// TestWatchLate: what was lost before the watch began is told too.
func TestWatchLate(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir a/mask")
	n := node(t, dir+"/a/mask")
	do(t, os.Rename(dir+"/a/mask", dir+"/x"))
	w, err := sandbox.Watch([]sandbox.Node{n})
	do(t, err)
	defer w.Close()
	select {
	case got := <-w.Lost():
		if got != n {
			t.Errorf("lost %v", got)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing was told")
	}
}
