package undo

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// Whatever a sequence of calls changes, taking all changes back in reverse gives the tree from before, with its modes; so
// does taking them back together, and taking the undos back gives the tree from after.
func TestRandomCalls(t *testing.T) {
	calls := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		defer func() { os.RemoveAll(w.root); w.close() }()
		for i, name := range []string{"a", "b", "d/c", "d/e/f", "g/h"} {
			w.write(name, strings.Repeat(name, i+1), []fs.FileMode{0o644, 0o600, 0o755, 0o640, 0o664}[i])
		}
		if err := os.Chmod(w.path("g"), 0o700); err != nil {
			t.Fatal(err)
		}
		w.write("keep", "", 0o644)
		if err := os.Symlink("a", w.path("link")); err != nil {
			t.Skip("symlinks cannot be made: ", err)
		}
		before := w.tree()
		var ids []int
		for i := range rapid.IntRange(1, 12).Draw(rt, "calls") {
			all := w.names()
			files := slices.DeleteFunc(slices.Clone(all), func(n string) bool { return !w.isFile(n) })
			target := rapid.SampledFrom([]string{"a", "b", "new", "d/new", "d/e/n", "x/y/z", "g/h", "x"}).Draw(rt, "target")
			id := 0
			kind := rapid.SampledFrom([]string{"create", "modify", "delete", "move"}).Draw(rt, "kind")
			switch kind {
			case "create":
				if w.free(target) {
					id = w.create(target, fmt.Sprint("created ", i))
				}
			case "modify":
				if len(files) > 0 {
					one, two := rapid.SampledFrom(files).Draw(rt, "file"), rapid.SampledFrom(files).Draw(rt, "file")
					id = w.modify(fmt.Sprint("modified ", i), one, two)
				}
			case "delete":
				if len(all) > 0 {
					if name := rapid.SampledFrom(all).Draw(rt, "entry"); !w.isDir(name) {
						id = w.delete(name)
					}
				}
			case "move":
				from := "d"
				if len(all) > 0 {
					from = rapid.SampledFrom(all).Draw(rt, "entry")
				}
				_, inside := below(from, target)
				_, above := below(target, from)
				if fi, err := os.Lstat(w.path(target)); !inside && !above && w.free(target) && w.exists(from) && (err != nil || !fi.IsDir() && !w.isDir(from)) {
					id = w.move(from, target)
				}
			}
			if id > 0 {
				ids = append(ids, id)
				calls[kind]++
			}
		}
		after := w.tree()
		slices.Reverse(ids)
		if rapid.Bool().Draw(rt, "together") {
			if err := w.undo(ids...); err != nil {
				t.Fatalf("%v\n%s", err, after)
			}
		} else {
			for _, id := range ids {
				if err := w.undo(id); err != nil {
					t.Fatalf("change %d: %v\n%s", id, err, after)
				}
			}
		}
		w.want(before)
		list, _ := w.store.List()
		var undos []int
		for _, r := range slices.Backward(list) {
			if r.Undoes != 0 {
				undos = append(undos, r.ID)
			}
		}
		if err := w.undo(undos...); err != nil {
			t.Fatalf("taking the undos back: %v", err)
		}
		w.want(after)
	})
	for _, kind := range []string{"create", "modify", "delete", "move"} {
		if calls[kind] < 10 {
			t.Errorf("only %d calls that %s something", calls[kind], kind)
		}
	}
}

func (w *world) names() (list []string) {
	_ = filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(w.root, path); err == nil && rel != "." && rel != "keep" {
			list = append(list, filepath.ToSlash(rel))
		}
		return nil
	})
	return list
}

func (w *world) isDir(name string) bool {
	fi, err := os.Lstat(w.path(name))
	return err == nil && fi.IsDir()
}

func (w *world) isFile(name string) bool {
	fi, err := os.Lstat(w.path(name))
	return err == nil && fi.Mode().IsRegular()
}

func (w *world) exists(name string) bool {
	_, err := os.Lstat(w.path(name))
	return err == nil
}

// free reports whether a file can be put at a path: nothing on the way is a file, and it is no directory.
func (w *world) free(name string) bool {
	for dir := filepath.ToSlash(filepath.Dir(name)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if w.exists(dir) && !w.isDir(dir) {
			return false
		}
	}
	fi, err := os.Lstat(w.path(name))
	return err != nil || fi.Mode().IsRegular()
}

func TestChangedSince(t *testing.T) {
	for _, c := range []struct {
		name   string
		act    func(w *world) int
		change func(w *world) error
		why    string
		// forced is the tree of a file after a person said yes; "" if nobody can.
		forced string
	}{
		{
			"modified again", func(w *world) int { return w.modify("new", "a") },
			func(w *world) error { return os.WriteFile(w.path("a"), []byte("mine"), 0o644) }, "changed since", "old",
		},
		{
			"another mode", func(w *world) int { return w.modify("new", "a") },
			func(w *world) error { return os.Chmod(w.path("a"), 0o600) }, "changed since", "old",
		},
		{
			"removed", func(w *world) int { return w.modify("new", "a") },
			func(w *world) error { return os.Remove(w.path("a")) }, "changed since", "old",
		},
		{
			"replaced by a directory", func(w *world) int { return w.modify("new", "a") },
			func(w *world) error { os.Remove(w.path("a")); return os.Mkdir(w.path("a"), 0o755) }, "changed since", "",
		},
		{
			"replaced by a link", func(w *world) int { return w.modify("new", "a") },
			func(w *world) error { os.Remove(w.path("a")); return os.Symlink("b", w.path("a")) }, "changed since", "old",
		},
		{
			"made again", func(w *world) int { return w.delete("a") },
			func(w *world) error { return os.WriteFile(w.path("a"), []byte("mine"), 0o644) }, "changed since", "old",
		},
		{
			"moved, and something new there", func(w *world) int { return w.move("a", "c") },
			func(w *world) error { return os.WriteFile(w.path("a"), []byte("mine"), 0o644) }, "something else is there", "",
		},
		{
			"moved and changed", func(w *world) int { return w.move("a", "c") },
			func(w *world) error { return os.WriteFile(w.path("c"), []byte("mine"), 0o644) }, "changed since", "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			needsLinks(t)
			w := newWorld(t)
			w.write("a", "old", 0o644)
			w.write("b", "other", 0o644)
			id := c.act(w)
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			tree := w.tree()
			if err := w.undo(id); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Fatalf("the error is %v", err)
			}
			w.want(tree)
			plan := w.plan(id)
			a := plan.Conflicts()[0]
			if _, err := plan.Apply(plan.Steps[0]); err == nil {
				t.Error("a conflict was passed over")
			}
			w.want(tree)
			if a.Changed != (c.forced != "") {
				t.Fatalf("that a person may allow it is %v", a.Changed)
			}
			if c.forced == "" {
				return
			}
			plan.Diffs()
			if a.Diff == "" {
				t.Error("there is no difference to show")
			}
			a.Conflict = ""
			if _, err := plan.Apply(plan.Steps[0]); err != nil {
				t.Fatal(err)
			}
			if data, err := os.ReadFile(w.path("a")); string(data) != c.forced {
				t.Errorf("a is %q, %v", data, err)
			}
			if data, _ := os.ReadFile(w.path("b")); string(data) != "other" {
				t.Errorf("b is %q", data)
			}
			w.none()
		})
	}
}

// What the policy of a call does not let the tool read is not copied, and what it does not let the tool change is not
// looked at.
func TestWithheld(t *testing.T) {
	w := newWorld(t)
	w.write("secret", "top secret", 0o600)
	w.write("closed", "top secret", 0o600)
	w.access = &jptool.AccessPolicy{FS: []jptool.FsRule{
		jptooltest.Rule(".", "read write"), jptooltest.Rule("secret", "create update delete"), jptooltest.Rule("closed", "read"),
	}}
	id := w.create("secret", "new")
	if b := w.record(id).Items[0].Before; b.Kept != nil || b.NotKept == "" {
		t.Errorf("the state before is %+v", b)
	}
	if err := w.undo(id); err == nil || !strings.Contains(err.Error(), "not kept") {
		t.Errorf("the error is %v", err)
	}
	c := Call{Tool: "fs_modify_file"}
	c.Places("fs_modify_file", map[string]any{"path": "closed"}, w.workspace(w.access))
	if len(c.Changed) != 0 {
		t.Error("a place that the policy closes is looked at")
	}
	w.contains("top secret", false)
}

// contains looks for a text in all files of the store.
func (w *world) contains(text string, want bool) {
	w.t.Helper()
	found := false
	names, err := w.store.names()
	if err != nil || len(names) == 0 {
		w.t.Fatal(names, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(w.store.dir.File(name))
		if err != nil {
			w.t.Fatal(err)
		}
		found = found || strings.Contains(string(data), text)
		if fi, _ := os.Stat(w.store.dir.File(name)); fi.Mode().Perm() != 0o600 && needsModes {
			w.t.Errorf("the mode of %s is %v", name, fi.Mode())
		}
	}
	if found != want {
		w.t.Errorf("that the store has %q is %v", text, found)
	}
}

// A call that changes nothing leaves nothing behind.
func TestNothingChanged(t *testing.T) {
	w := newWorld(t)
	w.write("a", "what is in it", 0o644)
	if id := w.call("fs_modify_file", map[string]any{"path": "a"}, func() error { return nil }); id != 0 {
		t.Errorf("it is change %d", id)
	}
	w.contains("what is in it", false)
	if id := w.modify("what is in it", "a"); id != 0 {
		t.Errorf("the same content is change %d", id)
	}
	w.modify("other", "a")
	w.contains("what is in it", true) // else the test sees nothing
}

func TestPaths(t *testing.T) {
	for _, c := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"path": "a"}, "a"},
		{map[string]any{"path": "a", "patterns": []any{map[string]any{"old": "x", "paths": []any{"b", "c"}}}}, "a b c"},
		{map[string]any{"patterns": `[{"paths":"[\"b\",\"c\"]"},{"paths":"d"}]`}, "b c d"},
		{map[string]any{"patterns": map[string]any{"paths": "b"}}, "b"},
		{map[string]any{"patterns": `{"paths":"b"}`}, "b"},
		{map[string]any{"patterns": "nonsense", "path": float64(1)}, ""},
	} {
		if got := strings.Join(paths(c.args, nil), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.args, got, c.want)
		}
	}
}
