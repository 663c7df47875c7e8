//go:build linux || darwin

package private

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// holder makes this binary a call that has a private directory in the base that it names, until its
// standard input ends.
const holder = "JPHOST_TEST_HOLD"

func TestMain(m *testing.M) {
	base := os.Getenv(holder)
	if base == "" {
		os.Exit(m.Run())
	}
	s := ShelfIn(base)
	name := s.Name()
	p, err := s.Make(name)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(s.Path(name))
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	runtime.KeepAlive(p) // else its lock could go before
}

// hold starts a holder, and returns its directory and what kills it.
func hold(t *testing.T, base string) (dir string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holder+"="+base)
	stdin, err := cmd.StdinPipe()
	do(t, err)
	stdout, err := cmd.StdoutPipe()
	do(t, err)
	do(t, cmd.Start())
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = stdin.Close()
	}
	t.Cleanup(kill)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	do(t, err)
	return strings.TrimSpace(line), kill
}

// later makes all that is there look unused for an hour.
func later(t *testing.T) {
	was := since
	since = func(at time.Time) time.Duration { return was(at) + time.Hour }
	t.Cleanup(func() { since = was })
}

// call is one call with a private directory, from its beginning to its end.
func call(t *testing.T, base string) {
	t.Helper()
	s := ShelfIn(base)
	name := s.Name()
	p, err := s.Make(name)
	do(t, err)
	do(t, os.WriteFile(filepath.Join(s.dir, name, "file"), nil, 0o600))
	do(t, p.Remove())
	if there(s.Path(name)) {
		t.Error("a call left its directory")
	}
}

func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// TestSweep: what a killed call left goes with a later one, and nothing else does.
func TestSweep(t *testing.T) {
	base := t.TempDir()
	alive, killAlive := hold(t, base)
	dead, kill := hold(t, base)
	do(t, os.MkdirAll(dead+"/a/b", 0o700))
	do(t, os.WriteFile(dead+"/a/b/file", nil, 0o600))
	do(t, os.WriteFile(alive+"/file", nil, 0o600))
	kill()

	// What nobody here made for a call.
	shelf := filepath.Dir(dead)
	kept := filepath.Join(base, "kept")
	do(t, os.Mkdir(kept, 0o700))
	do(t, os.Symlink(kept, shelf+"/link"))
	do(t, os.Symlink(filepath.Base(alive), shelf+"/link2"))
	do(t, os.Mkdir(shelf+"/open", 0o755))
	do(t, os.WriteFile(shelf+"/file", nil, 0o700))
	rest := []string{kept, shelf + "/link", shelf + "/link2", shelf + "/open", shelf + "/file"}
	if jptooltest.Root(t) {
		do(t, os.Mkdir(shelf+"/theirs", 0o700))
		do(t, os.Chown(shelf+"/theirs", 1, 1))
		rest = append(rest, shelf+"/theirs")
	} else {
		t.Log("not tried, as this is not root: a directory of another user")
	}

	call(t, base)
	if !there(dead) {
		t.Error("a young directory was removed")
	}
	later(t)
	call(t, base)
	if there(dead) {
		t.Error("what a killed call left is still there")
	}
	if !there(alive + "/file") {
		t.Error("the directory of a living call was removed")
	}
	for _, path := range rest {
		if !there(path) {
			t.Errorf("%s was removed", path)
		}
	}
	killAlive()
	call(t, base)
	if there(alive) {
		t.Error("what the other call left is still there")
	}
}

// TestSweepIsBounded: a call does a little for others, not all.
func TestSweepIsBounded(t *testing.T) {
	base := t.TempDir()
	call(t, base)
	shelf := ShelfIn(base).dir
	left := func() int {
		list, err := os.ReadDir(shelf)
		do(t, err)
		return len(list)
	}
	for i := range sweepDirs + 2 {
		do(t, os.Mkdir(fmt.Sprintf("%s/%d", shelf, i), 0o700))
	}
	later(t)
	for _, want := range []int{2, 0} {
		if call(t, base); left() != want {
			t.Errorf("%d directories are left, want %d", left(), want)
		}
	}

	many := shelf + "/many"
	do(t, os.Mkdir(many, 0o700))
	for i := range 2*sweepEntries + 1 {
		do(t, os.WriteFile(fmt.Sprintf("%s/%d", many, i), nil, 0o600))
	}
	for i, want := range []bool{true, true, false} {
		if call(t, base); there(many) != want {
			t.Fatalf("call %d: there is %t, want %t", i, there(many), want)
		}
	}
}

// TestShelfOfSomebodyElse: where the name of the shelf is taken, calls do without, and touch nothing
// that is there.
func TestShelfOfSomebodyElse(t *testing.T) {
	for name, take := range map[string]func(dir, elsewhere string) error{
		"for everybody":    func(dir, _ string) error { return os.Mkdir(dir, 0o755) },
		"a symlink":        func(dir, elsewhere string) error { return os.Symlink(elsewhere, dir) },
		"a file":           func(dir, _ string) error { return os.WriteFile(dir, nil, 0o700) },
		"a symlink to air": func(dir, _ string) error { return os.Symlink("nowhere", dir) },
	} {
		t.Run(name, func(t *testing.T) {
			base := t.TempDir()
			elsewhere := filepath.Join(base, "elsewhere")
			do(t, os.MkdirAll(elsewhere+"/old", 0o700))
			dir := ShelfIn(base).dir
			do(t, take(dir, elsewhere))
			later(t)
			if s := ShelfIn(base); s.own || s.dir != base {
				t.Errorf("%+v is used", s)
			}
			call(t, base)
			// And taken between the look and the use.
			if p, err := (Shelf{dir: dir, own: true}).Make("x"); err == nil {
				t.Error("it was used all the same", p.Remove())
			}
			list, err := os.ReadDir(base)
			do(t, err)
			if len(list) != 2 || !there(elsewhere+"/old") {
				t.Errorf("there is %v", list)
			}
		})
	}
}

// A program can use its directory whatever the umask of jphost is.
func TestUmask(t *testing.T) {
	s := ShelfIn(t.TempDir())
	name := s.Name()
	old := syscall.Umask(0o377)
	p, err := s.Make(name)
	syscall.Umask(old)
	do(t, err)
	for _, dir := range []string{s.dir, s.Path(name)} {
		if is, err := os.Stat(dir); err != nil || is.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want mode 0700", dir, is, err)
		}
	}
	do(t, p.Remove())
}
