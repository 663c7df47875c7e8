package jptool_test

import (
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// TestRaces swaps a directory, and a file, for a symlink to a denied or outside place
// while checks and reads run. Allowed outcomes: the public content, or an error. The
// number of attempts is JPTOOLS_RACES (default 20000; the long run has 200000 and more).
func TestRaces(t *testing.T) {
	attempts := 20_000
	if v := os.Getenv("JPTOOLS_RACES"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatalf("JPTOOLS_RACES: %v", err)
		}
		attempts = n
	}
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(
		t, base, "file ws/pub/d/f public", "file ws/denied/f SECRET", "file out/f SECRET",
		"symlink ws/pub/l1 ../denied", "symlink ws/pub/l2 ../../out", "symlink ws/pub/d/lf ../../denied/f",
	)
	ws := jptooltest.Open(t, base+"/ws", rule(".", "read"), rule("pub", "read write"), rule("denied", ""))
	var stop atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		dir := base + "/ws/pub/"
		for i := 0; !stop.Load(); i++ {
			link := dir + "l" + strconv.Itoa(1+i%2)
			if err := unix.Renameat2(unix.AT_FDCWD, dir+"d", unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swap: %v", err)
				return
			}
			if err := unix.Renameat2(unix.AT_FDCWD, dir+"d", unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
				t.Errorf("swap back: %v", err)
				return
			}
			if i%16 == 0 {
				_ = unix.Renameat2(unix.AT_FDCWD, dir+"d/f", unix.AT_FDCWD, dir+"d/lf", unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(unix.AT_FDCWD, dir+"d/f", unix.AT_FDCWD, dir+"d/lf", unix.RENAME_EXCHANGE)
			}
		}
	}()
	var read, refused int
	for range attempts {
		target, err := ws.CheckRead("pub/d/f")
		if err != nil {
			refused++
			continue
		}
		f, err := target.Open()
		if err != nil {
			refused++
			continue
		}
		text, err := io.ReadAll(f)
		f.Close()
		if err != nil || string(text) != "public" {
			t.Fatalf("escaped: read %q, %v (checked as %s)", text, err, target.Path())
		}
		read++
	}
	// Writing: create below the swapped directory must land in the public one.
	for i := range attempts / 10 {
		target, err := ws.CheckCreate("pub/d/new" + strconv.Itoa(i))
		if err != nil {
			continue
		}
		f, err := create(target)
		if err != nil {
			continue
		}
		f.Close()
		if code := jptool.CodeOf(unlinkBack(target)); code != jptool.CodeIO && code != jptool.CodeBusy && code != jptool.CodeNotFound {
			t.Fatalf("unexpected code %s", code)
		}
	}
	stop.Store(true)
	<-done
	for _, dir := range []string{"/ws/denied", "/out"} {
		entries, err := os.ReadDir(base + dir)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s holds %v (%v); want only f", dir, entries, err)
		}
	}
	if read == 0 || refused == 0 {
		t.Errorf("the race never happened both ways: %d reads, %d refusals", read, refused)
	}
	t.Logf("%d reads, %d refusals, no escape", read, refused)
}

func unlinkBack(target *jptool.Target) error {
	dir, path, err := target.Base()
	if err != nil {
		return err
	}
	return target.Fail(dir.Remove(path))
}

func create(t *jptool.Target) (*os.File, error) {
	dir, path, err := t.Base()
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	return f, t.Fail(err)
}
