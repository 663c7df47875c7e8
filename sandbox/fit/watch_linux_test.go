package fit_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"golang.org/x/sys/unix"
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
			w, err := fit.Watch(fit.Watched{Entries: []fit.Node{node(t, dir+"/a/mask"), node(t, dir+"/a/file"), node(t, dir+"/a"), node(t, dir+"/l")}})
			do(t, err)
			defer w.Close()
			c.change(t, dir)
			wait := 5 * time.Second
			if c.lost == "" {
				wait = 50 * time.Millisecond
			}
			got := ""
			select {
			case l, ok := <-w.Lost():
				if !ok || l.Kind != fit.Replaced {
					t.Fatalf("told %+v, %v", l, ok)
				}
				got = l.Path
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
			w.Close()
			if _, ok := <-w.Lost(); ok {
				t.Error("lost twice")
			}
			w.Close()
		})
	}
}

// TestWatchLate: what was lost before the watch began is told too, so that nothing is started.
func TestWatchLate(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "dir a/mask")
	n := node(t, dir+"/a/mask")
	do(t, os.Rename(dir+"/a/mask", dir+"/x"))
	if _, err := fit.Watch(fit.Watched{Entries: []fit.Node{n}}); !failure.Is(err, failure.Changed) || !strings.Contains(err.Error(), n.Path) {
		t.Errorf("Watch: %v", err)
	}
}

// TestWatchAbsent: whatever comes to be at a path where nothing may be is told, also when it is gone again
// at once and the watcher is closed before it has had a look.
func TestWatchAbsent(t *testing.T) {
	for _, c := range []struct {
		name, lost string
		change     func(t *testing.T, dir string)
	}{
		{"nothing", "", func(*testing.T, string) {}},
		{"other names", "", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/git/index.lock", nil, 0o644))
			do(t, os.Rename(dir+"/git/index.lock", dir+"/git/index"))
			do(t, os.Mkdir(dir+"/git/objects", 0o755))
			do(t, os.WriteFile(dir+"/commondir", nil, 0o644))
		}},
		{"file", "git/commondir", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/git/commondir", nil, 0o644)) }},
		{"file for a moment", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/git/commondir", nil, 0o644))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"directory for a moment", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.Mkdir(dir+"/git/commondir", 0o755))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"symlink for a moment", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.Symlink("nowhere", dir+"/git/commondir"))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"hard link for a moment", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.Link(dir+"/git/config", dir+"/git/commondir"))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"fifo for a moment", "git/commondir", func(t *testing.T, dir string) {
			do(t, unix.Mkfifo(dir+"/git/commondir", 0o644))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"renamed there and back", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/git/config", dir+"/git/commondir"))
			do(t, os.Rename(dir+"/git/commondir", dir+"/git/config"))
		}},
		{"unnamed file linked in", "git/commondir", func(t *testing.T, dir string) {
			fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o644)
			do(t, err)
			defer unix.Close(fd)
			do(t, unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, dir+"/git/commondir", unix.AT_SYMLINK_FOLLOW))
			do(t, os.Remove(dir+"/git/commondir"))
		}},
		{"directory that holds it exchanged", "git/commondir", func(t *testing.T, dir string) {
			do(t, os.Mkdir(dir+"/x", 0o755))
			do(t, os.WriteFile(dir+"/x/commondir", nil, 0o644))
			do(t, unix.Renameat2(unix.AT_FDCWD, dir+"/x", unix.AT_FDCWD, dir+"/git", unix.RENAME_EXCHANGE))
		}},
		{"directory on the way, alone", "", func(t *testing.T, dir string) {
			do(t, os.MkdirAll(dir+"/a/b", 0o755))
			do(t, os.WriteFile(dir+"/a/c", nil, 0o644))
		}},
		{"below a directory that is made", "a/b/c", func(t *testing.T, dir string) {
			do(t, os.MkdirAll(dir+"/a/b", 0o755))
			do(t, os.WriteFile(dir+"/a/b/c", nil, 0o644))
		}},
		{"in a tree that is moved there", "a/b/c", func(t *testing.T, dir string) {
			do(t, os.MkdirAll(dir+"/x/b/c", 0o755))
			do(t, os.Rename(dir+"/x", dir+"/a"))
		}},
		{"directory on the way, for a moment", "a/b/c", func(t *testing.T, dir string) {
			do(t, os.MkdirAll(dir+"/x/b/c", 0o755))
			do(t, os.Rename(dir+"/x", dir+"/a"))
			do(t, os.Rename(dir+"/a", dir+"/x"))
		}},
		{"symlink on the way", "a/b/c", func(t *testing.T, dir string) {
			do(t, os.MkdirAll(dir+"/x/b/c", 0o755))
			do(t, os.Symlink("x", dir+"/a"))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := jptooltest.TempRoot(t)
			jptooltest.Tree(t, dir, "file git/config x")
			w, err := fit.Watch(fit.Watched{Absent: []string{dir + "/git/commondir", dir + "/a/b/c"}, Trees: []fit.Node{node(t, dir)}})
			do(t, err)
			c.change(t, dir)
			got := ""
			if l := w.Close(); l != nil {
				got = l.Path
				if l.Kind != fit.Appeared {
					t.Errorf("kind %s", l.Kind)
				}
			}
			want := c.lost
			if want != "" {
				want = dir + "/" + want
			}
			if got != want {
				t.Errorf("lost %q, want %q", got, want)
			}
		})
	}
}

// TestWatchAbsentLater: a directory on the way is watched once it is there.
func TestWatchAbsentLater(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	w, err := fit.Watch(fit.Watched{Absent: []string{dir + "/a/b/c"}, Trees: []fit.Node{node(t, dir)}})
	do(t, err)
	defer w.Close()
	for _, made := range []string{dir + "/a", dir + "/a/b"} {
		do(t, os.Mkdir(made, 0o755))
		select {
		case l := <-w.Lost():
			t.Fatalf("%s: lost %+v", made, l)
		case <-time.After(50 * time.Millisecond):
		}
	}
	do(t, os.WriteFile(dir+"/a/b/c", nil, 0o644))
	do(t, os.RemoveAll(dir+"/a"))
	select {
	case l := <-w.Lost():
		if l.Path != dir+"/a/b/c" || l.Kind != fit.Appeared {
			t.Errorf("lost %+v", l)
		}
	case <-time.After(5 * time.Second):
		t.Error("nothing was told")
	}
}

// TestWatchAgainAndAgain: who makes a directory on the way and removes it, over and over, is not let.
func TestWatchAgainAndAgain(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	w, err := fit.Watch(fit.Watched{Absent: []string{dir + "/a/b"}, Trees: []fit.Node{node(t, dir)}})
	do(t, err)
	defer w.Close()
	for range 100_000 {
		do(t, os.Mkdir(dir+"/a", 0o755))
		do(t, os.Remove(dir+"/a"))
		select {
		case <-w.Lost():
			return
		default:
		}
	}
	t.Error("nothing was told")
}

// TestWatchNoMore: where there is no inotify left, it is said at once.
func TestWatchNoMore(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	trees := []fit.Node{node(t, dir)}
	var limit unix.Rlimit
	do(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: limit.Max}))
	_, err := fit.Watch(fit.Watched{Absent: []string{dir + "/x"}, Trees: trees})
	do(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	if !errors.Is(err, fit.ErrNoWatch) {
		t.Errorf("got %v", err)
	}
}
