package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// world is a workspace with a store.
type world struct {
	t     testing.TB
	root  string
	store *Store
	// access is the policy of calls.
	access *jptool.AccessPolicy
	opened []*jptool.Workspace
}

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{t: t, root: jptooltest.OpenRoot(t)}
	w.store = openStore(t, w.root, filepath.Join(jptooltest.OpenRoot(t), "data"), Limits{Bytes: 10 << 20, Age: time.Hour})
	t.Cleanup(w.close)
	return w
}

func openStore(t testing.TB, root, data string, l Limits) *Store {
	t.Helper()
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := state.OS(func(string) string { return data }).Workspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, l)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *world) close() {
	for _, ws := range w.opened {
		ws.Close()
	}
	w.opened = nil
}

func (w *world) path(name string) string { return filepath.Join(w.root, filepath.FromSlash(name)) }

func (w *world) write(name, content string, mode fs.FileMode) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Chmod(w.path(name), mode); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) workspace(access *jptool.AccessPolicy) *jptool.Workspace {
	w.t.Helper()
	c := jptool.Context{Root: w.root, Action: jptool.Run, Access: access}
	ws, err := c.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	w.opened = append(w.opened, ws)
	return ws
}

// open opens the workspace for an undo; .git is protected, as the host protects it.
func (w *world) open(string) (*jptool.Workspace, error) {
	return w.workspace(&jptool.AccessPolicy{FS: []jptool.FsRule{
		jptooltest.Rule(".", "read write"), jptooltest.Rule(".git", "read"),
	}}), nil
}

// call is a call of a tool that does act between the two looks, and returns the number of its change.
func (w *world) call(tool string, args map[string]any, act func() error) int {
	w.t.Helper()
	c := Call{Conversation: "default", Tool: tool}
	c.Places(tool, args, w.workspace(w.access))
	p, err := w.store.Begin(c)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := act(); err != nil {
		w.t.Fatal(err)
	}
	told := Told{}
	for _, t := range c.Changed { // as these two tools do
		if f, err := t.Open(); err == nil && (tool == "fs_create_file" || tool == "fs_modify_file") {
			sum, err := digest(f)
			f.Close()
			if err != nil {
				w.t.Fatal(err)
			}
			told[t.Path()] = Digests{After: sum}
		}
	}
	id, err := p.Finish(told)
	if err != nil {
		w.t.Fatal(err)
	}
	return id
}

// create, modify, delete and move do what the tools do.
func (w *world) create(name, content string) int {
	w.t.Helper()
	return w.call("fs_create_file", map[string]any{"path": name}, func() error {
		if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o755); err != nil {
			return err
		}
		return replace(w.path(name), content)
	})
}

func (w *world) modify(content string, names ...string) int {
	w.t.Helper()
	list := []any{}
	for _, name := range names {
		list = append(list, name)
	}
	return w.call("fs_modify_file", map[string]any{"patterns": []any{map[string]any{"paths": list}}}, func() error {
		for _, name := range names {
			if err := replace(w.path(name), content); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *world) delete(name string) int {
	w.t.Helper()
	return w.call("fs_delete_file", map[string]any{"path": name}, func() error {
		err := os.Remove(w.path(name))
		_ = os.Remove(filepath.Dir(w.path(name))) // if it is empty; never the root, which has more in it
		return err
	})
}

func (w *world) move(from, to string) int {
	w.t.Helper()
	return w.call("fs_move_file", map[string]any{"source": from, "target": to}, func() error {
		if err := os.MkdirAll(filepath.Dir(w.path(to)), 0o755); err != nil {
			return err
		}
		err := os.Rename(w.path(from), w.path(to))
		_ = os.Remove(filepath.Dir(w.path(from)))
		return err
	})
}

// replace puts a new file in the place of an old one, with its mode.
func replace(path, content string) error {
	mode := fs.FileMode(0o644)
	fi, err := os.Lstat(path)
	if err == nil {
		mode = fi.Mode().Perm()
	}
	if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
		return err
	}
	return errors.Join(os.Chmod(path+".new", mode), os.Rename(path+".new", path))
}

// undo takes changes back, in this order, and returns the error of the first that cannot be.
func (w *world) undo(ids ...int) error {
	w.t.Helper()
	plan := w.plan(ids...)
	if list := plan.Conflicts(); len(list) > 0 {
		return fmt.Errorf("%s: %s", list[0].Path, list[0].Conflict)
	}
	for _, s := range plan.Steps {
		if _, err := plan.Apply(s); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) plan(ids ...int) *Plan {
	w.t.Helper()
	var records []*Record
	for _, id := range ids {
		records = append(records, w.record(id))
	}
	plan, err := w.store.Plan(records, w.open)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

func (w *world) record(id int) *Record {
	w.t.Helper()
	list, broken := w.store.List()
	for _, r := range list {
		if r.ID == id {
			return r
		}
	}
	w.t.Fatalf("there is no change %d; broken: %v", id, broken)
	return nil
}

// tree is everything in the workspace, with modes and contents.
func (w *world) tree() string {
	w.t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(w.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(w.root, path)
		text := ""
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		case fi.Mode()&fs.ModeSymlink != 0:
			text, _ = os.Readlink(path)
		}
		fmt.Fprintf(&b, "%v %s %.60q\n", fi.Mode(), rel, text)
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.String()
}

// want compares the tree.
func (w *world) want(tree string) {
	w.t.Helper()
	if got := w.tree(); got != tree {
		w.t.Fatalf("the tree is\n%s\nwant\n%s", got, tree)
	}
}

// none expects that no temporary file of an undo is left.
func (w *world) none() {
	w.t.Helper()
	if strings.Contains(w.tree(), ".jphost-undo-") {
		w.t.Errorf("a temporary file is left:\n%s", w.tree())
	}
}

func needsLinks(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("symlinks need a privilege on Windows")
	}
}
