package undo

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A host that is killed between any two steps of adding a record leaves a store that works, and a record with its copies.
func TestKilledWhileAdding(t *testing.T) {
	old := strings.Repeat("o", digestMost+1)
	for name, c := range map[string]struct {
		after func(w *world, large string)
		kept  bool
	}{
		"nothing":                 {func(*world, string) {}, true},
		"the copy was moved":      {func(w *world, large string) { w.rename(large, strings.Replace(large, "call", "00000001", 1)) }, true},
		"the copy is lost":        {func(w *world, large string) { w.rename(large, "lost") }, false},
		"the record is there too": {func(w *world, large string) { w.addFirst() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("a", old, 0o644)
			call := Call{Conversation: "default", Tool: "fs_modify_file"}
			call.Places("fs_modify_file", map[string]any{"path": "a"}, w.workspace(nil))
			p, err := w.store.Begin(call)
			if err != nil {
				t.Fatal(err)
			}
			w.write("a", "new", 0o644)
			_ = p.slot.lock.Close() // as when the process ends
			c.after(w, p.large[0])
			if id := w.create("b", "later"); id == 0 {
				t.Fatal("nothing is kept any more")
			}
			list, broken := w.store.List()
			if len(list) != 2 || broken != nil || !list[0].Running {
				t.Fatalf("%+v %v", list, broken)
			}
			plan := w.plan(list[0].ID)
			for _, a := range plan.Conflicts() {
				if a.Changed {
					a.Conflict = "" // a person would be asked
				}
			}
			if _, err := plan.Apply(plan.Steps[0]); (err == nil) != c.kept {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(w.path("a")); err != nil || (string(data) == old) != c.kept {
				t.Errorf("%.10s, %v", data, err)
			}
		})
	}
}

// What a killed process left of a copy goes after some time; the copy of a call that is under way stays.
func TestHalfMadeCopies(t *testing.T) {
	w := newWorld(t)
	w.create("a", "x")
	for name, age := range map[string]time.Duration{"call-AAAAAAAAAAAA.large": time.Hour, "call-BBBBBBBBBBBB.large": 0} {
		file := w.store.dir.File(name)
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	w.create("b", "x")
	if left, err := filepath.Glob(w.store.dir.File("call-*")); len(left) != 1 || !strings.Contains(left[0], "BBB") {
		t.Errorf("%v, %v", left, err)
	}
}

// rename renames a file of the store.
func (w *world) rename(from, to string) {
	w.t.Helper()
	if err := os.Rename(w.store.dir.File(from), w.store.dir.File(to)); err != nil {
		w.t.Fatal(err)
	}
}

// addFirst adds what is in the first slot without emptying that, and begins another segment.
func (w *world) addFirst() {
	w.t.Helper()
	f, err := os.Open(w.store.dir.File(slotPrefix + "0"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	sl := &slot{name: slotPrefix + "0", f: f}
	if _, err := w.store.add(sl.record(), sl); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.setLedger(ledger{Next: 2, Segment: 2, Began: time.Now()}); err != nil {
		w.t.Fatal(err)
	}
}

// child starts a test once more, in a process of its own with the same world, and waits until that prints READY.
func (w *world) child(test string) *exec.Cmd {
	w.t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), "UNDO_TEST_ROOT="+w.root, "UNDO_TEST_DATA="+filepath.Dir(w.store.dir.Base()))
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	buf := make([]byte, 100)
	if n, err := out.Read(buf); err != nil || !strings.Contains(string(buf[:n]), "READY") {
		w.t.Fatalf("%q, %v", buf[:n], err)
	}
	return cmd
}

// childWorld is the world of a process that [world.child] started, nil elsewhere.
func childWorld(t *testing.T) *world {
	root := os.Getenv("UNDO_TEST_ROOT")
	if root == "" {
		return nil
	}
	return &world{t: t, root: root, store: openStore(t, root, os.Getenv("UNDO_TEST_DATA"), Limits{Bytes: 100 << 20, Age: time.Hour})}
}

// An undo that is killed at any moment leaves the old or the new content, never a mix or nothing.
func TestKilledUndo(t *testing.T) {
	old, now := strings.Repeat("old\n", 500_000), strings.Repeat("new!\n", 500_000)
	if w := childWorld(t); w != nil {
		w.write("a", old, 0o644)
		for id := w.create("a", now); ; fmt.Println("READY") { // and then undo of undo
			plan := w.plan(id)
			for _, a := range plan.Conflicts() {
				a.Conflict = "" // of a large file without a digest
			}
			var err error
			if id, err = plan.Apply(plan.Steps[0]); err != nil {
				t.Fatal(err)
			}
			w.close()
		}
	}
	contents := map[string]int{}
	for i := range 12 {
		w := newWorld(t)
		cmd := w.child("TestKilledUndo")
		time.Sleep(time.Duration(7*i) * time.Millisecond) // it undoes one change after the other
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if _ = cmd.Wait(); cmd.ProcessState.Exited() {
			t.Fatalf("it ended by itself: %v", cmd.ProcessState)
		}
		data, err := os.ReadFile(w.path("a"))
		switch {
		case err != nil:
			t.Fatal(err)
		case string(data) == old:
			contents["old"]++
		case string(data) == now:
			contents["new"]++
		default:
			t.Fatalf("the file has %d bytes of neither content", len(data))
		}
	}
	t.Log(contents)
}
