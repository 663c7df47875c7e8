package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// A link that was put on the way, or in the place itself, is not followed: nothing outside changes. The control follows
// the same path by name and does change it.
func TestLinksAreNotFollowed(t *testing.T) {
	needsLinks(t)
	for _, c := range []struct{ name, link string }{{"on the way", "d"}, {"in its place", "d/a"}} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			outside := jptooltest.OpenRoot(t)
			victim := filepath.Join(outside, "a")
			if err := os.WriteFile(victim, []byte("new"), 0o644); err != nil {
				t.Fatal(err)
			}
			w.write("d/a", "old", 0o644)
			id := w.modify("new", "d/a")
			target := outside
			if c.link == "d/a" {
				target = victim
			}
			if err := errors.Join(os.RemoveAll(w.path(c.link)), os.Symlink(target, w.path(c.link))); err != nil {
				t.Fatal(err)
			}
			if err := w.undo(id); err == nil {
				t.Error("the undo was done")
			}
			if data, _ := os.ReadFile(victim); string(data) != "new" {
				t.Errorf("outside there is %q", data)
			}
			// The control.
			if err := os.WriteFile(w.path("d/a"), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
			if data, _ := os.ReadFile(victim); string(data) != "old" {
				t.Errorf("the link leads nowhere: %q", data)
			}
		})
	}
}

// A directory on the way is swapped for a link to the outside, again and again, while changes are taken back: nothing
// outside changes, and the file has one of its contents.
func TestSwappedWhileUndoing(t *testing.T) {
	needsLinks(t)
	w := newWorld(t)
	outside := jptooltest.OpenRoot(t)
	victim := filepath.Join(outside, "a")
	if err := os.WriteFile(victim, []byte("victim"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.write("d/a", "0", 0o644)
	if err := os.Symlink(outside, w.path("link")); err != nil {
		t.Fatal(err)
	}
	var ids []int
	for i := range 60 {
		ids = append(ids, w.modify(fmt.Sprint(i+1), "d/a"))
	}
	stop := make(chan struct{})
	var group sync.WaitGroup
	swaps := 0
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(w.path("d"), w.path("real"))
			_ = os.Rename(w.path("link"), w.path("d"))
			time.Sleep(100 * time.Microsecond)
			_ = os.Rename(w.path("d"), w.path("link"))
			_ = os.Rename(w.path("real"), w.path("d"))
			swaps++
			time.Sleep(300 * time.Microsecond)
		}
	})
	done, refused := 0, 0
	for i := len(ids) - 1; i >= 0; {
		if err := w.undo(ids[i]); err == nil {
			done++
			i--
		} else if refused++; refused > 5000 {
			break
		}
	}
	close(stop)
	group.Wait()
	t.Logf("%d done, %d refused, %d swaps", done, refused, swaps)
	if done < 10 || swaps < 20 {
		t.Errorf("too few to tell: %d done, %d swaps", done, swaps)
	}
	if data, _ := os.ReadFile(victim); string(data) != "victim" {
		t.Errorf("outside there is %q", data)
	}
	if list, _ := os.ReadDir(outside); len(list) != 1 {
		t.Errorf("outside there are %v", list)
	}
	data, err := os.ReadFile(w.path("d/a"))
	if err != nil || string(data) != fmt.Sprint(len(ids)-done) {
		t.Errorf("the file has %q, %v after %d undos", data, err, done)
	}
}

// A record or a copy that somebody changed is refused, or puts back nothing but what it could have: never a place that is
// protected, or outside.
func TestTampered(t *testing.T) {
	for _, c := range []struct{ name, file, from, to, why string }{
		{"a copy", ".data", "old content", "bad content", "damaged"},
		{"a copy that is shorter", ".data", "old content", "", "damaged"},
		{"a protected place", ".jsonl", `"name":"aa/config"`, `"name":".git/config"`, ""},
		{"a path outside", ".jsonl", `"name":"aa/config"`, `"name":"../x/config"`, ""},
		{"an absolute path", ".jsonl", `"name":"aa/config"`, `"name":"/etc/config"`, ""},
		{"a file of copies outside", ".jsonl", `"file":"00000001.data"`, `"file":"../../../../a"`, "cannot be used"},
		{"another offset", ".jsonl", `"offset":0`, `"offset":7`, "damaged"},
		{"a mode", ".jsonl", `"mode":420`, `"mode":2147484068`, "cannot be used"},
		{"another size", ".jsonl", `"size":11`, `"size":10`, "damaged"},
		{"an unknown key", ".jsonl", `"moved"`, `"Moved"`, ""},
		{"torn", ".jsonl", `"items"`, `"ite`, "cannot be used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.write(".git/config", "[core]", 0o644)
			w.write("aa/config", "old content", 0o644)
			id := w.modify("[core]", "aa/config")
			tree := w.tree()
			file := w.store.file(1, c.file)
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.ReplaceAll(string(data), c.from, c.to)
			changed = strings.ReplaceAll(changed, filepath.ToSlash(w.path("aa/config")), filepath.ToSlash(w.path(".git/config")))
			if c.name == "an unknown key" {
				changed = strings.Replace(string(data), `{"change"`, `{"more":1,"change"`, 1)
				c.why = "cannot be used"
			}
			if c.why != "" && !strings.Contains(c.to, ".git") {
				changed = strings.ReplaceAll(changed, filepath.ToSlash(w.path(".git/config")), filepath.ToSlash(w.path("aa/config")))
			}
			if changed == string(data) {
				t.Fatal("nothing was changed")
			}
			if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
				t.Fatal(err)
			}
			list, broken := w.store.List()
			if c.why == "cannot be used" {
				if len(list) != 0 || len(broken) != 1 || !strings.Contains(broken[0].Error(), c.why) {
					t.Errorf("%d records, %v", len(list), broken)
				}
			} else if err := w.undo(id); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v", err)
			}
			w.want(tree)
		})
	}
}

// Many calls and undos at once keep all records apart, and two undos of one change do it once.
func TestAtOnce(t *testing.T) {
	w := newWorld(t)
	const calls = 30
	for i := range calls {
		w.write(fmt.Sprint("f", i), "old", 0o644)
	}
	ids := make([]int, calls)
	var group sync.WaitGroup
	for i := range calls {
		mine := *w // the helper notes what it opens
		mine.opened = nil
		t.Cleanup(mine.close)
		group.Go(func() { ids[i] = mine.modify("new", fmt.Sprint("f", i)) })
	}
	group.Wait()
	seen := map[int]bool{}
	for i, id := range ids {
		if id < 1 || id > calls || seen[id] {
			t.Fatalf("the numbers are %v", ids)
		}
		seen[id] = true
		if name := w.record(id).Items[0].Name; name != fmt.Sprint("f", i) {
			t.Fatalf("change %d is of %s", id, name)
		}
	}
	var done, failed int
	var lock sync.Mutex
	for range 2 {
		plan := w.plan(ids[0])
		group.Go(func() {
			id, err := plan.Apply(plan.Steps[0])
			lock.Lock()
			defer lock.Unlock()
			if err == nil && id > 0 {
				done++
			} else {
				failed++
			}
		})
	}
	group.Wait()
	if data, _ := os.ReadFile(w.path("f0")); string(data) != "old" || done != 1 || failed != 1 {
		t.Errorf("f0 has %q after %d undos, %d failed", data, done, failed)
	}
	w.none()
}

// An undo that ends at any step leaves every file with the old or the new content, and the same undo can be made again.
func TestStoppedUndo(t *testing.T) {
	needsLinks(t)
	defer func() { step = func(string) error { return nil } }()
	stopped := 0
	for at := 1; ; at++ {
		w := newWorld(t)
		w.write("a", "old a", 0o644)
		w.write("b", "old b", 0o600)
		w.write("gone/c", "old c", 0o640)
		if err := os.Symlink("a", w.path("link")); err != nil {
			t.Fatal(err)
		}
		before := w.tree()
		ids := []int{w.move("b", "x/y"), w.delete("link"), w.delete("gone/c"), w.create("new/n", "n"), w.modify("new a", "a")}
		n := 0
		step = func(string) error {
			if n++; n == at {
				return errors.New("stopped")
			}
			return nil
		}
		err := w.undo(ids[4], ids[3], ids[2], ids[1], ids[0])
		step = func(string) error { return nil }
		for name, contents := range map[string]string{"a": "old a|new a", "b": "old b|", "gone/c": "old c|", "new/n": "n|", "x/y": "old b|"} {
			data, _ := os.ReadFile(w.path(name))
			if !strings.Contains("|"+contents+"|", "|"+string(data)+"|") {
				t.Fatalf("stopped at %d: %s has %q", at, name, data)
			}
		}
		if err == nil {
			break
		}
		stopped++
		for _, id := range []int{ids[4], ids[3], ids[2], ids[1], ids[0]} {
			if err := w.undo(id); err != nil {
				t.Fatalf("stopped at %d, again: change %d: %v\n%s", at, id, err, w.tree())
			}
		}
		for _, name := range w.names() { // of an undo that was stopped between two steps
			if strings.HasPrefix(filepath.Base(name), ".jphost-undo-") {
				_ = os.Remove(w.path(name))
			}
		}
		w.want(before)
	}
	if stopped < 8 {
		t.Errorf("it was stopped only %d times", stopped)
	}
}

// A call whose process is killed is found later, and what it did can be taken back after a question; one that is under
// way is left alone.
func TestKilledCall(t *testing.T) {
	if w := childWorld(t); w != nil {
		w.call("fs_modify_file", map[string]any{"patterns": []any{map[string]any{"paths": []any{"a", "b"}}}}, func() error {
			if err := replace(w.path("a"), "new a"); err != nil {
				return err
			}
			fmt.Println("READY")
			time.Sleep(time.Hour)
			return nil
		})
		return
	}
	w := newWorld(t)
	w.write("a", "old a", 0o644)
	w.write("b", strings.Repeat("b", digestMost+1), 0o644)
	before := w.tree()
	cmd := w.child("TestKilledCall")
	if list, broken := w.store.List(); len(list)+len(broken) != 0 {
		t.Errorf("a call that is under way is listed: %v %v", list, broken)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	list, broken := w.store.List()
	if len(list) != 1 || !list[0].Running || broken != nil {
		t.Fatalf("%v, %v", list, broken)
	}
	if again, _ := w.store.List(); len(again) != 1 {
		t.Errorf("listed twice there are %d records", len(again))
	}
	plan := w.plan(1)
	conflicts := plan.Conflicts()
	if len(conflicts) != 1 || conflicts[0].Path != "a" || !conflicts[0].Changed {
		t.Fatalf("the conflicts are %+v", conflicts)
	}
	conflicts[0].Conflict = ""
	if _, err := plan.Apply(plan.Steps[0]); err != nil {
		t.Fatal(err)
	}
	w.want(before)
}

// The oldest go first when the budget or their time is over, and what is too large is not kept.
func TestBudget(t *testing.T) {
	w := newWorld(t)
	w.store.limits.Bytes = 1 << 20
	w.write("huge", strings.Repeat("x", 300<<10), 0o644)
	if b := w.record(w.modify("small", "huge")).Items[0].Before; b.Kept != nil || !strings.Contains(b.NotKept, "quarter") {
		t.Errorf("the huge file: %+v", b)
	}
	var last int
	for i := range 60 {
		w.write("a", fmt.Sprint(i, strings.Repeat("x", 100<<10)), 0o644)
		last = w.modify("new", "a")
		total := int64(0)
		names, _ := w.store.names()
		for _, name := range names {
			if fi, err := os.Stat(w.store.dir.File(name)); err == nil {
				total += fi.Size()
			}
		}
		if total > w.store.limits.Bytes+150<<10 {
			t.Fatalf("the store has %d bytes", total)
		}
	}
	list, broken := w.store.List()
	if len(list) < 5 || len(list) > 12 || broken != nil || list[len(list)-1].ID != last || last != 61 {
		t.Errorf("%d records are left, the last is %d; %v", len(list), last, broken)
	}
	if err := w.undo(last); err != nil {
		t.Error(err)
	}
	w.store.limits.Age = time.Nanosecond
	if list, _ := w.store.List(); len(list) != 0 {
		t.Errorf("%d records are too old and still there", len(list))
	}
	w.store.limits.Age = time.Hour
	if err := os.WriteFile(w.store.dir.File(ledgerFile), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id := w.create("new", "x"); id != last+2 {
		t.Errorf("without the ledger the next change is %d, the last was %d", id, last+1)
	}
}

// A large file is put back as it was; one with two names stays one file.
func TestLargeAndLinked(t *testing.T) {
	needsLinks(t)
	w := newWorld(t)
	w.store.limits.Bytes = 100 << 20
	w.write("large", strings.Repeat("0123456789", 200_000), 0o640)
	w.write("one", "old", 0o644)
	if err := os.Link(w.path("one"), w.path("two")); err != nil {
		t.Skip("hard links cannot be made: ", err)
	}
	before := w.tree()
	first := w.modify(strings.Repeat("abcdefghij", 200_000), "large")
	second := w.modify("small", "large")
	third := w.move("large", "moved/large")
	linked := w.call("fs_modify_file", map[string]any{"path": "one"}, func() error {
		return os.WriteFile(w.path("one"), []byte("new"), 0o644) // in place
	})
	for _, id := range []int{linked, third, second, first} {
		if err := w.undo(id); err != nil {
			t.Fatalf("change %d: %v", id, err)
		}
	}
	w.want(before)
	one, err := os.Stat(w.path("one"))
	two, err2 := os.Stat(w.path("two"))
	if err != nil || err2 != nil || !os.SameFile(one, two) {
		t.Error("the two names are two files now")
	}
	names, _ := w.store.names()
	for _, name := range names {
		if strings.HasSuffix(name, ".large") && strings.HasPrefix(name, "call-") {
			t.Errorf("the copy %s of a finished call is left", name)
		}
	}
}
