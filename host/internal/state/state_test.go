package state_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/state/testdata/statetest"
)

func TestWorkspaceIsItsCanonicalPath(t *testing.T) {
	base := t.TempDir()
	for _, d := range []string{"a/proj", "b/proj", "weird \x1b[31m name"} {
		if err := os.MkdirAll(filepath.Join(base, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a/proj", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	open := func(p string) state.Workspace {
		w, err := state.OpenWorkspace(filepath.Join(base, p))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	if open("a/proj") != open("link") {
		t.Error("a workspace reached through a symlink is another one")
	}
	if a, b := open("a/proj").ID(), open("b/proj").ID(); a == b || !strings.HasPrefix(a, "proj-") || len(a) != len("proj-")+32 {
		t.Errorf("ids %q and %q", a, b)
	}
	if id := open("weird \x1b[31m name").ID(); !strings.HasPrefix(id, "weird___31m_name-") {
		t.Errorf("id %q", id)
	}
	if _, err := state.OpenWorkspace(filepath.Join(base, "none")); err == nil || !strings.Contains(err.Error(), "\nname an existing directory") {
		t.Errorf("missing workspace: %v", err)
	}
}

func TestConversationIDIsNoPath(t *testing.T) {
	env := func(v string) func(string) string {
		return func(name string) string {
			if name == state.EnvConversation {
				return v
			}
			return ""
		}
	}
	for _, c := range []struct{ flag, env, want string }{
		{"", "", "default"},
		{"", "jp-c17", "jp-c17"},
		{"one", "two", "one"},
		{"A.b_c-9", "", "A.b_c-9"},
		{"..", "", ""},
		{".", "", ""},
		{"a/b", "", ""},
		{`a\b`, "", ""},
		{"../x", "", ""},
		{"", "/etc", ""},
		{"-rf", "", ""},
		{".hidden", "", ""},
		{"a.", "", ""},
		{"nul", "", ""},
		{"COM1.txt", "", ""},
		{"a\x00b", "", ""},
		{"ä", "", ""},
		{strings.Repeat("x", 129), "", ""},
	} {
		got, err := state.ConversationID(c.flag, env(c.env))
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("ConversationID(%q, %q) = %q, %v; want %q", c.flag, c.env, got, err, c.want)
		}
	}
}

func TestSessionID(t *testing.T) {
	id, err := state.SessionID(func(string) string { return "night-run" })
	if err != nil || id != "env:night-run" {
		t.Errorf("%q, %v", id, err)
	}
	if _, err := state.SessionID(func(string) string { return "../x" }); err == nil {
		t.Error("a path was taken for a session id")
	}
}

// TestTerminalSession asks in a process that leads a session of its own: the session the
// tests run in may have no leader that can be named (it has ended, or a container hides it).
func TestTerminalSession(t *testing.T) {
	none := func(string) string { return "" }
	if os.Getenv("STATE_TEST_SESSION") != "" {
		a, err := state.SessionID(none)
		fmt.Println(a, err)
		return
	}
	a, _ := state.SessionID(none)
	if b, _ := state.SessionID(none); a != b {
		t.Errorf("session %q, then %q", a, b)
	}
	if runtime.GOOS != "linux" {
		t.Skip("only Linux starts a session of its own here: this is " + runtime.GOOS)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	asked := make([]string, 2)
	for i := range asked {
		cmd := exec.Command("setsid", "--wait", self, "-test.run=^TestTerminalSession$")
		cmd.Env = append(os.Environ(), "STATE_TEST_SESSION=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("setsid: %v: %s", err, out)
		}
		asked[i], _, _ = strings.Cut(string(out), "\n")
		if !strings.HasPrefix(asked[i], "terminal:") || !strings.HasSuffix(asked[i], " <nil>") {
			t.Errorf("a session leader is in session %q", asked[i])
		}
	}
	if asked[0] == asked[1] {
		t.Errorf("two sessions have one name, %q", asked[0])
	}
}

func TestStateIsPrivate(t *testing.T) {
	d := statetest.Dir(t, t.TempDir(), nil)
	if err := d.Write("x.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{d.Base(): 0o700, d.Path(): 0o700, d.File("x.json"): 0o600} {
		if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != want {
			t.Errorf("%s: %v, %v; want %v", path, fi.Mode(), err, want)
		}
	}
}

func TestNothingIsMadeByReading(t *testing.T) {
	base := t.TempDir()
	d := statetest.Dir(t, base, nil)
	if _, err := d.Read("approvals.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("read: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(base, "data")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("reading made the data directory: %v", err)
	}
}

func TestStateDirectoryThatIsNotPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes mean nothing there")
	}
	for name, c := range map[string]struct {
		spoil func(t *testing.T, path string)
		want  string
	}{
		"others may write": {func(t *testing.T, p string) { must(t, os.Mkdir(p, 0o700)); must(t, os.Chmod(p, 0o770)) }, "can be written by other users"},
		"a symlink":        {func(t *testing.T, p string) { must(t, os.Symlink(t.TempDir(), p)) }, "is not a directory"},
		"a file":           {func(t *testing.T, p string) { must(t, os.WriteFile(p, nil, 0o600)) }, "is not a directory"},
	} {
		for _, level := range []string{"base", "workspace"} {
			t.Run(name+" at "+level, func(t *testing.T) {
				d := statetest.Dir(t, t.TempDir(), nil)
				at := d.Base()
				if level == "workspace" {
					must(t, os.MkdirAll(d.Base(), 0o700))
					at = d.Path()
				} else {
					must(t, os.MkdirAll(filepath.Dir(at), 0o700))
				}
				c.spoil(t, at)
				if err := d.Write("x", nil); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("write: %v; want %q", err, c.want)
				}
			})
		}
	}
	d := statetest.Dir(t, t.TempDir(), nil)
	must(t, os.MkdirAll(d.Path(), 0o755))
	must(t, d.Write("x", nil))
	if fi, _ := os.Stat(d.Path()); fi.Mode().Perm() != 0o700 {
		t.Errorf("a readable directory was left at %v", fi.Mode())
	}
}

func TestWriteKeepsOldOrNewContent(t *testing.T) {
	old, now := strings.Repeat("old ", 5000), strings.Repeat("new ", 6000)
	for _, crash := range []bool{false, true} {
		for at := 1; ; at++ {
			base := t.TempDir()
			must(t, statetest.Dir(t, base, nil).Write("f", []byte(old)))
			failing := &statetest.Faults{FS: &afero.OsFs{}, At: at, Crash: crash}
			d := statetest.Dir(t, base, failing)
			err := d.Update(context.Background(), "f", func([]byte) ([]byte, error) { return []byte(now), nil })
			got, rerr := statetest.Dir(t, base, nil).Read("f")
			if s := string(got); rerr != nil || s != old && s != now || err == nil && s != now {
				t.Fatalf("crash=%v at operation %d: update said %v, then %d bytes, %v", crash, at, err, len(got), rerr)
			}
			// The next writer gets through and cleans up.
			clean := statetest.Dir(t, base, nil)
			must(t, clean.Update(context.Background(), "f", func([]byte) ([]byte, error) { return []byte("third"), nil }))
			left, _ := filepath.Glob(filepath.Join(clean.Path(), ".f.tmp-*"))
			if len(left) > 0 {
				t.Fatalf("crash=%v at operation %d left %v", crash, at, left)
			}
			if failing.Count() < at {
				if at < 6 {
					t.Fatalf("only %d operations were seen", at)
				}
				break
			}
		}
	}
}

func TestUpdateLosesNothingBetweenGoroutines(t *testing.T) {
	d := statetest.Dir(t, t.TempDir(), nil)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			err := d.Update(context.Background(), "f", func(old []byte) ([]byte, error) {
				return fmt.Appendf(old, "%d\n", i), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, _ := d.Read("f")
	if n := strings.Count(string(got), "\n"); n != 20 {
		t.Errorf("%d of 20 updates are there", n)
	}
}

func TestLockedGivesUp(t *testing.T) {
	d := statetest.Dir(t, t.TempDir(), nil)
	err := d.Locked(context.Background(), "f", func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		return d.Locked(ctx, "f", func() error { t.Error("both hold the lock"); return nil })
	})
	if err == nil || !strings.Contains(err.Error(), "locked by another process") {
		t.Errorf("got %v", err)
	}
}

// Who gives up leaves nothing locked: what it waited for is given back as soon as it is had.
func TestGivenUpLockIsFreed(t *testing.T) {
	d := statetest.Dir(t, t.TempDir(), nil)
	err := d.Locked(context.Background(), "f", func() error {
		for range 3 {
			ctx, cancel := context.WithCancel(context.Background())
			time.AfterFunc(20*time.Millisecond, cancel)
			if err := d.Locked(ctx, "f", func() error { return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("cancelled: %v", err)
			}
		}
		return nil
	})
	must(t, err)
	for range 3 {
		must(t, d.Locked(context.Background(), "f", func() error { return nil }))
	}
}

func TestSetAsideNeverOverwrites(t *testing.T) {
	d := statetest.Dir(t, t.TempDir(), nil)
	seen := map[string]bool{}
	for i := range 3 {
		must(t, d.Write("f", []byte{byte('0' + i)}))
		to, err := d.SetAside("f")
		if err != nil || seen[to] || !strings.HasPrefix(filepath.Base(to), "f.broken-20260526T130000Z") {
			t.Fatalf("%q, %v", to, err)
		}
		seen[to] = true
	}
	if len(seen) != 3 {
		t.Errorf("%v", seen)
	}
}

func TestOncePerSession(t *testing.T) {
	ctx := context.Background()
	d := statetest.Dir(t, t.TempDir(), nil)
	s, err := d.Session("env:a")
	must(t, err)
	if first, err := s.Once(ctx, "warned"); !first || err != nil {
		t.Errorf("first: %v, %v", first, err)
	}
	if again, err := s.Once(ctx, "warned"); again || err != nil {
		t.Errorf("again: %v, %v", again, err)
	}
	other, err := d.Session("env:b")
	must(t, err)
	if first, err := other.Once(ctx, "warned"); !first || err != nil {
		t.Errorf("another session: %v, %v", first, err)
	}
	// What cannot be understood is warned of again, and then remembered.
	for _, e := range entries(t, filepath.Join(d.Path(), "sessions"), ".json") {
		must(t, os.WriteFile(e, []byte("{"), 0o600))
	}
	for _, want := range []bool{true, false} {
		if first, err := s.Once(ctx, "warned"); first != want || err != nil {
			t.Errorf("after damage: %v, %v; want %v", first, err, want)
		}
	}
	none, err := d.Session("")
	must(t, err)
	for range 2 {
		if first, err := none.Once(ctx, "k"); !first || err != nil {
			t.Errorf("without a session: %v, %v", first, err)
		}
	}
}

// entries are the files of a directory whose names end so; there must be some.
func entries(t *testing.T, dir, suffix string) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %q, %v", dir, list, err)
	}
	return list
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refusing is a file system where nothing can be looked at, or nothing made.
type refusing struct {
	state.FS
	look, make error
}

func (r refusing) LstatIfPossible(name string) (fs.FileInfo, bool, error) {
	if r.look != nil {
		return nil, true, &fs.PathError{Op: "lstat", Path: name, Err: r.look}
	}
	return r.FS.LstatIfPossible(name)
}

func (r refusing) MkdirAll(name string, _ fs.FileMode) error {
	return &fs.PathError{Op: "mkdir", Path: name, Err: r.make}
}

// Who became another user keeps that one's HOME on some systems; others have a home that is not there.
func TestStateElsewhere(t *testing.T) {
	const help = "\nset XDG_DATA_HOME to a directory of your own, or HOME if it is not yours"
	for _, c := range []struct {
		look, make error
		want       bool
	}{
		{fs.ErrPermission, nil, true},
		{nil, syscall.EACCES, true},
		{nil, syscall.EROFS, true},
		{nil, syscall.ENOSPC, false},
	} {
		dir := t.TempDir()
		ws, err := state.OpenWorkspace(dir)
		if err != nil {
			t.Fatal(err)
		}
		sys := statetest.System(dir)
		sys.FS = refusing{&afero.OsFs{}, c.look, c.make}
		d, err := sys.Workspace(ws)
		if err == nil {
			err = d.Ensure()
		}
		if err == nil || strings.HasSuffix(err.Error(), help) != c.want {
			t.Errorf("looking fails with %v, making with %v: got %v, with help: %v", c.look, c.make, err, c.want)
		}
	}
}
