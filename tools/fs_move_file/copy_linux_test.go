package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit/testdata/fstest"
)

// call runs the tool on a whole request.
func call(t *testing.T, root, source, target string, rules ...jptool.FsRule) fstest.Answer {
	t.Helper()
	callCtx := map[string]any{"root": root, "action": "run"}
	if len(rules) > 0 {
		callCtx["access"] = jptool.AccessPolicy{FS: rules}
	}
	request, err := json.Marshal(map[string]any{"context": callCtx, "tool": map[string]any{
		"name": "fs_move_file", "arguments": map[string]any{"source": source, "target": target}, "answers": map[string]any{"overwrite_file": true, "move_dirty_source": true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	toolmain.Run(t.Context(), tool, toolmain.Streams{Stdin: bytes.NewReader(request), Stdout: &stdout, Stderr: &stderr})
	var a fstest.Answer
	if err := json.Unmarshal(stdout.Bytes(), &a); err != nil {
		t.Fatalf("output %q: %v", stdout.String(), err)
	}
	if strings.Contains(stdout.String()+stderr.String(), root) {
		t.Errorf("the output names an absolute path: %s%s", stdout.String(), stderr.String())
	}
	return a
}

// withoutRename makes the system refuse to rename.
func withoutRename(t *testing.T, err error) {
	old := renameEntry
	renameEntry = func(*jptool.Target, *jptool.Target, bool) error { return err }
	t.Cleanup(func() { renameEntry = old })
}

// describe lists a tree with everything that moving has to keep.
func describe(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%q %v", rel, fi.Mode())
		switch {
		case fi.Mode()&os.ModeSymlink != 0:
			text, _ := os.Readlink(path)
			fmt.Fprintf(&b, " -> %q", text)
		case fi.Mode().IsRegular():
			content, _ := os.ReadFile(path)
			fmt.Fprintf(&b, " %q", content)
		}
		if fi.Mode()&os.ModeSymlink == 0 {
			buf := make([]byte, 100)
			n, _ := unix.Getxattr(path, "user.note", buf)
			fmt.Fprintf(&b, " %v %q", fi.ModTime().UnixNano(), buf[:max(n, 0)])
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func makeTree(t *testing.T, root string) {
	t.Helper()
	jptooltest.Tree(t, root, "file d/f text", "file d/sub/program x", "dir d/empty", "symlink d/l ../f", "symlink d/dangling nowhere", "file d/\xff odd", "file other/g x")
	past := time.Unix(1_000_000_000, 123456789)
	for path, mode := range map[string]os.FileMode{"d/\xff": 0o644, "d/f": 0o640, "d/sub/program": 0o755, "d/empty": 0o711, "d/sub": 0o555, "d": 0o750} {
		_ = unix.Setxattr(root+"/"+path, "user.note", []byte(path), 0)
		if err := os.Chtimes(root+"/"+path, past, past); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(root+"/"+path, mode); err != nil {
			t.Fatal(err)
		}
	}
	if !jptooltest.Root(t) {
		_ = os.Chmod(root+"/d/sub", 0o755) // else its file cannot be removed
	}
}

// Whatever the system's reason for not renaming, copying keeps everything.
func TestCopyInstead(t *testing.T) {
	for _, why := range []error{syscall.EXDEV, syscall.EACCES} {
		for _, source := range []string{"d", "d/f", "d/l", "d/sub/program"} {
			withoutRename(t, why)
			root := jptooltest.TempRoot(t)
			makeTree(t, root)
			want := describe(t, root+"/"+source)
			a := call(t, root, source, "new/place")
			if a.Type != "success" || a.Data["method"] != "copy" {
				t.Fatalf("%s: %+v", source, a)
			}
			if got := describe(t, root+"/new/place"); got != want {
				t.Errorf("%s: got\n%swant\n%s", source, got, want)
			}
			if _, err := os.Lstat(root + "/" + source); err == nil {
				t.Errorf("%s is still there", source)
			}
		}
	}
}

// Both ends are resolved before anything is moved: either may lead through what is.
func TestCopyThroughItself(t *testing.T) {
	for _, c := range []struct {
		source, target string
		tree           []string
	}{
		{"d", "d/l/x", []string{"symlink d/l ../e", "file d/z", "dir e"}},
		{"d/up/d", "e/x", []string{"symlink d/up ..", "file d/z", "dir e"}},
		{"l", "l/x", []string{"symlink l d", "dir d"}},
	} {
		t.Run(c.source+" to "+c.target, func(t *testing.T) {
			became := map[string]string{}
			for _, method := range []string{"rename", "copy"} {
				root := jptooltest.TempRoot(t)
				jptooltest.Tree(t, root, c.tree...)
				if method == "copy" {
					withoutRename(t, syscall.EXDEV)
				}
				if a := call(t, root, c.source, c.target); a.Type != "success" || a.Data["method"] != method {
					t.Fatalf("%+v", a)
				}
				became[method] = names(t, root)
			}
			if became["copy"] != became["rename"] {
				t.Errorf("a copy gives\n%sa rename\n%s", became["copy"], became["rename"])
			}
		})
	}
}

// names lists the paths of a tree.
func names(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		fmt.Fprintln(&b, strings.TrimPrefix(path, root))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestCopyOver(t *testing.T) {
	withoutRename(t, syscall.EXDEV)
	for _, c := range []struct{ source, target string }{{"a", "b"}, {"l", "b"}, {"a", "l"}, {"l", "l2"}} {
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file a new", "file b old", "symlink l a", "symlink l2 b", "file keep x")
		want := describe(t, root+"/"+c.source)
		a := call(t, root, c.source, c.target)
		if a.Type != "success" || a.Data["overwritten"] != true {
			t.Fatalf("%v: %+v", c, a)
		}
		if got := describe(t, root+"/"+c.target); got != want {
			t.Errorf("%v: got %s, want %s", c, got, want)
		}
		if _, err := os.Lstat(root + "/" + c.source); err == nil {
			t.Errorf("%v: the source is still there", c)
		}
		if litter, _ := filepath.Glob(root + "/.jptool*"); len(litter) > 0 {
			t.Errorf("%v: %q", c, litter)
		}
	}
}

// A copy that fails leaves the source as it is, and nothing of itself.
func TestCopyFails(t *testing.T) {
	withoutRename(t, syscall.EXDEV)
	all := jptooltest.Rule("", "read write")
	for _, c := range []struct {
		name  string
		tree  []string
		rules []jptool.FsRule
		code  jptool.Code
	}{
		{"a FIFO", []string{"fifo d/sub2/pipe"}, nil, jptool.CodeWrongType},
		{"something unreadable inside", nil, []jptool.FsRule{all, jptooltest.Rule("d/sub", "write")}, jptool.CodeAccessDenied},
		{"all unreadable", nil, []jptool.FsRule{jptooltest.Rule("", "write")}, jptool.CodeAccessDenied},
	} {
		root := jptooltest.TempRoot(t)
		makeTree(t, root)
		jptooltest.Tree(t, root, c.tree...)
		want := describe(t, root+"/d")
		a := call(t, root, "d", "new/place", c.rules...)
		if a.Type != "error" || a.Code != c.code {
			t.Errorf("%s: %+v", c.name, a)
		}
		if got := describe(t, root+"/d"); got != want {
			t.Errorf("%s: the source changed: %s", c.name, got)
		}
		if _, err := os.Lstat(root + "/new"); err == nil {
			t.Errorf("%s: something was left: %s", c.name, describe(t, root+"/new"))
		}
	}
}

// The same in the middle, and when somebody changes the source meanwhile.
func TestCopyInterrupted(t *testing.T) {
	root := jptooltest.TempRoot(t)
	makeTree(t, root)
	want := describe(t, root+"/d")
	m, list := moveOf(t, root)
	full := errors.New("full")
	if err := m.undo(list[:0], full); err != full {
		t.Errorf("%v", err)
	}
	// A file in the way of the last entry: all before it is taken back, and it stays.
	last := list[len(list)-1]
	for _, e := range list[:len(list)-1] {
		if err := m.copyEntry(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(root + "/new"); err != nil {
		t.Fatal(err)
	}
	jptooltest.Tree(t, root, "dir away")
	if err := os.Rename(root+"/away", root+"/new"); err != nil {
		t.Fatal(err)
	}
	jptooltest.Tree(t, root, "file new/"+strings.TrimPrefix(last.target.Path(), "new/")+" mine")
	if err := m.copyAll(t.Context(), list); err == nil {
		t.Error("copying over what is there succeeded")
	}
	if got, err := os.ReadFile(root + "/" + last.target.Path()); err != nil || string(got) != "mine" {
		t.Errorf("what was in the way: %q, %v", got, err)
	}
	if got := describe(t, root+"/d"); got != want {
		t.Errorf("the source changed: %s", got)
	}
}

// A source that changed after it was copied is not removed.
func TestSourceChangedMeanwhile(t *testing.T) {
	for name, change := range map[string]func(root string) error{
		"another content": func(root string) error { return os.WriteFile(root+"/d/f", []byte("changed"), 0o666) },
		"another file": func(root string) error {
			return errors.Join(os.WriteFile(root+"/n", []byte("text"), 0o666), os.Rename(root+"/n", root+"/d/f"))
		},
		"one more": func(root string) error { return os.WriteFile(root+"/d/zz", nil, 0o666) },
	} {
		root := jptooltest.TempRoot(t)
		makeTree(t, root)
		m, list := moveOf(t, root)
		if err := m.copyAll(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if err := change(root); err != nil {
			t.Fatal(err)
		}
		n, err := m.removeSource(list)
		if err == nil {
			t.Errorf("%s: removed", name)
		}
		if name != "one more" && n != 0 {
			t.Errorf("%s: %d entries were removed", name, n)
		}
		if name == "one more" {
			if _, err := os.Stat(root + "/d/zz"); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		} else if err := m.undo(list, errors.New("x")); strings.Contains(err.Error(), "left") {
			t.Errorf("%s: %v", name, err)
		} else if _, err := os.Lstat(root + "/new/place"); err == nil {
			t.Errorf("%s: the copy is still there", name)
		}
	}
}

// moveOf prepares moving d to new/place by copying.
func moveOf(t *testing.T, root string) (*move, []entry) {
	t.Helper()
	ws := jptooltest.Open(t, root)
	m, err := locate(&toolmain.Call{Workspace: ws}, &arguments{Source: "d", Target: "new/place"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(m.lookAtSource(), m.lookAtTarget()); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(root+"/new", 0o777); err != nil {
		t.Fatal(err)
	}
	list, err := m.scan(t.Context(), nil, m.source, m.target, m.from)
	if err != nil {
		t.Fatal(err)
	}
	return m, list
}

// Between two real file systems.
func TestOtherFileSystem(t *testing.T) {
	outside, err := os.MkdirTemp("/dev/shm", "fs_move_file-")
	if err != nil {
		t.Skipf("a second file system is needed, /dev/shm: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(outside) })
	root := jptooltest.TempRoot(t)
	var here, there unix.Stat_t
	if unix.Stat(root, &here) != nil || unix.Stat(outside, &there) != nil || here.Dev == there.Dev {
		t.Skip("a second file system is needed, and /dev/shm is none")
	}
	makeTree(t, root)
	jptooltest.Tree(t, root, "symlink fork "+outside)
	rules := []jptool.FsRule{jptooltest.Rule("", "read write"), jptooltest.Mount("fork", outside, "read write")}
	if a := call(t, root, "d", "fork/d", rules...); a.Type != "success" || a.Data["method"] != "copy" {
		t.Fatalf("out: %+v", a)
	}
	if a := call(t, root, "fork/d", "back", rules...); a.Type != "success" || a.Data["method"] != "copy" {
		t.Fatalf("back: %+v", a)
	}
	want := jptooltest.TempRoot(t)
	makeTree(t, want)
	x, y := describe(t, root+"/back"), describe(t, want+"/d")
	if x != y {
		t.Errorf("got\n%swant\n%s", x, y)
	}
}

// A target appears between the look and the move: it is not overwritten.
func TestTargetAppears(t *testing.T) {
	old := renameEntry
	defer func() { renameEntry = old }()
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a mine", "file keep x")
	renameEntry = func(source, target *jptool.Target, over bool) error {
		jptooltest.Tree(t, root, "file b theirs")
		return old(source, target, over)
	}
	if a := call(t, root, "a", "b"); a.Code != jptool.CodeAlreadyExists {
		t.Errorf("%+v", a)
	}
	for path, want := range map[string]string{"a": "mine", "b": "theirs"} {
		if got, err := os.ReadFile(root + "/" + path); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
}
