package safewrite

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
)

// at runs do once, at the first step of that name.
func at(t *testing.T, name string, do func()) {
	t.Helper()
	next := onStep
	done := false
	onStep = func(s string) error {
		if s == name && !done {
			done = true
			do()
		}
		if next != nil {
			return next(s)
		}
		return nil
	}
	t.Cleanup(func() {
		onStep = nil
		if !done {
			t.Errorf("there was no step %q", name)
		}
	})
}

// survives checks that some file with a name that can be seen holds each content.
func survives(t *testing.T, root string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		content, err := os.ReadFile(root + "/" + e.Name())
		if err == nil && !strings.HasPrefix(e.Name(), ".") {
			all = append(all, string(content))
		}
	}
	for _, w := range want {
		found := false
		for _, content := range all {
			found = found || content == w
		}
		if !found {
			t.Errorf("%q is lost: there is %q", w, all)
		}
	}
}

func replaceFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path+"~", []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+"~", path); err != nil {
		t.Fatal(err)
	}
}

// Whatever others do between the comparison, the exchange and the swap back, nothing of
// theirs is lost, and nothing is left under a name that nobody sees.
func TestStrangerBetweenExchanges(t *testing.T) {
	swap := func(t *testing.T, a, b string) {
		if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
			t.Skipf("entries cannot be exchanged here: %v", err)
		}
	}
	for _, step := range []string{"to swap back", "looked before swapping back"} {
		for name, c := range map[string]struct {
			do   func(t *testing.T, root string)
			says string
			want []string
		}{
			"nothing":     {func(*testing.T, string) {}, "read it again", []string{"second"}},
			"replaced":    {func(t *testing.T, root string) { replaceFile(t, root+"/f", "third") }, "now called f.saved-", []string{"second", "third"}},
			"removed":     {func(_ *testing.T, root string) { _ = os.Remove(root + "/f") }, "is back", []string{"second"}},
			"moved":       {func(t *testing.T, root string) { _ = os.Rename(root+"/f", root+"/g") }, "went where they moved it", []string{"second", "new"}},
			"exchanged":   {func(t *testing.T, root string) { swap(t, root+"/f", root+"/k") }, "now called f.saved-", []string{"second", "k"}},
			"written to":  {func(t *testing.T, root string) { _ = os.WriteFile(root+"/f", []byte("new and more"), 0o666) }, "now called f.saved-", []string{"second", "new and more"}},
			"a directory": {func(t *testing.T, root string) { _ = os.Remove(root + "/f"); _ = os.Mkdir(root+"/f", 0o777) }, "now called f.saved-", []string{"second"}},
		} {
			t.Run(step+", "+name, func(t *testing.T) {
				root := jptooltest.TempRoot(t)
				jptooltest.Tree(t, root, "file f old", "file k k")
				ws := jptooltest.Open(t, root)
				at(t, "temporary named", func() { replaceFile(t, root+"/f", "second") })
				at(t, step, func() { c.do(t, root) })
				_, err := edit(t.Context(), target(t, ws, "f"), to("new"))
				onStep = nil
				wantCode(t, err, jptool.CodeStale)
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("the error does not say %q: %v", c.says, err)
				}
				Sweep(target(t, ws, "."))
				survives(t, root, c.want...)
				survives(t, root, "k")
				if step == "to swap back" && name == "replaced" {
					wantFile(t, root+"/f", "third") // the last of them, as without us
				}
				list, _ := os.ReadDir(root)
				for _, e := range list {
					if strings.HasPrefix(e.Name(), ".jptool") {
						t.Errorf("%s is left", e.Name())
					}
				}
			})
		}
	}
}

// Two strangers that exchange names all the time, as fast as they can.
func TestStrangersExchangeAllTheTime(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f public", "file h second", "file k third")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, root+"/f", unix.AT_FDCWD, root+"/h", unix.RENAME_EXCHANGE)
				_ = unix.Renameat2(unix.AT_FDCWD, root+"/f", unix.AT_FDCWD, root+"/k", unix.RENAME_EXCHANGE)
			}
		}
	}()
	ws := jptooltest.Open(t, root)
	refused := 0
	for end := time.Now().Add(time.Second); time.Now().Before(end); {
		// Nothing is changed, so that every content has to be there in the end.
		if _, err := edit(t.Context(), target(t, ws, "f"), bytes.Clone); err != nil {
			refused++
		}
	}
	close(stop)
	<-stopped
	Sweep(target(t, ws, "."))
	survives(t, root, "public", "second", "third")
	if refused == 0 {
		t.Error("the race was not run")
	}
}

// A write between the comparison and the exchange, or into the old file right after it, is
// found, and stays; however large the file is.
func TestWrittenAfterTheComparison(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		old   bool // not written to lately
		plain bool
		step  string
	}{
		{"small", 100, false, false, "temporary named"},
		{"small, later", 100, true, false, "exchanged"},
		{"large", 5 << 20, true, false, "temporary named"},
		{"large, later", 5 << 20, true, false, "exchanged"},
		{"large, written to lately", 5 << 20, false, false, "temporary named"},
		{"without exchange", 100, false, true, "renamed"},
		{"large, without exchange", 5 << 20, true, true, "renamed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.plain {
				withoutFeatures(t)
			}
			root := jptooltest.TempRoot(t)
			path := root + "/f"
			old := bytes.Repeat([]byte("x"), c.size)
			if err := os.WriteFile(path, old, 0o666); err != nil {
				t.Fatal(err)
			}
			if c.old {
				past := time.Now().Add(-time.Hour)
				if err := os.Chtimes(path, past, past); err != nil {
					t.Fatal(err)
				}
			}
			w, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			at(t, c.step, func() {
				if _, err := w.WriteAt([]byte("theirs"), 10); err != nil {
					t.Error(err)
				}
			})
			_, err = edit(t.Context(), target(t, jptooltest.Open(t, root), "f"), to("new"))
			onStep = nil
			wantCode(t, err, jptool.CodeStale)
			copy(old[10:], "theirs")
			wantFile(t, path, string(old))
			wantNames(t, root, "f")
		})
	}
}

// Times tell of a write only where the clock has ticked since the last one.
func TestSettled(t *testing.T) {
	const ms, now = 1_000_000, 1_700_000_000_500_000_000
	for age, want := range map[int64]bool{-5000: false, 0: false, 10: false, 99: false, 101: true, 500: false, 2500: false, 3500: true} {
		if got := (stamp{mtime: now - age*ms}).settled(now); got != want {
			t.Errorf("%d ms: %v", age, got)
		}
	}
}

// What somebody wrote into the new content does not go with it.
func TestRollbackOfWhatWasWrittenTo(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	f := lock(t, jptooltest.Open(t, root), "f")
	if err := f.Stage([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/f", []byte("new and theirs"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantCode(t, f.Rollback(), jptool.CodeStale)
	f.Close()
	wantFile(t, root+"/f", "old")
	survives(t, root, "old", "new and theirs")
}

// When nothing can be given another name either, the error says where it is.
func TestSwapBackFails(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	at(t, "temporary named", func() { replaceFile(t, root+"/f", "second") })
	defer func(old func(*wspath.Dir, string, string) error) { exchange = old }(exchange)
	real, n := exchange, 0
	exchange = func(d *wspath.Dir, a, b string) error {
		if n++; n > 1 {
			return unix.EIO
		}
		return real(d, a, b)
	}
	ws := jptooltest.Open(t, root)
	_, err := edit(t.Context(), target(t, ws, "f"), to("new"))
	onStep = nil
	wantCode(t, err, jptool.CodeStale)
	if err == nil || !strings.Contains(err.Error(), "is now called f.saved-") || strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("%v", err)
	}
	survives(t, root, "second", "new")
}

// A process killed between the exchange and the swap back leaves what somebody else put
// there, and no sweep takes it for its own.
func TestKilledBeforeSwapBack(t *testing.T) {
	for _, kind := range []string{"replaced", "written"} {
		root := crashRoot(t, "replace")
		cmd, lines := startChild(t, "stranger "+kind, root, 0)
		for _, want := range []string{"ready", "stopped"} {
			if got := lines.next(); got != want {
				t.Fatalf("the child said %q, want %q", got, want)
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		ws := jptooltest.Open(t, root)
		if err := Create(target(t, ws, "d/other"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := edit(t.Context(), target(t, ws, "d/f"), to("x")); err != nil {
			t.Fatal(err)
		}
		list, _ := os.ReadDir(root + "/d")
		found := false
		for _, e := range list {
			content, _ := os.ReadFile(root + "/d/" + e.Name())
			found = found || bytes.HasPrefix(content, []byte("theirs"))
		}
		if !found {
			t.Errorf("%s: what somebody else wrote was swept: %v", kind, list)
		}
	}
}

// strangerChild changes the file right before the exchange and stops right after it.
func strangerChild(kind, root string) {
	path := root + "/d/f"
	onStep = func(s string) error {
		switch {
		case s == "temporary named" && kind == "replaced":
			return errors.Join(os.WriteFile(path+"~", []byte("theirs"), 0o666), os.Rename(path+"~", path))
		case s == "temporary named":
			w, err := os.OpenFile(path, os.O_WRONLY, 0)
			if err == nil {
				_, err = w.WriteAt([]byte("theirs"), 0)
			}
			return err
		case s == "exchanged":
			fmt.Println("stopped")
			time.Sleep(time.Hour)
		}
		return nil
	}
}
