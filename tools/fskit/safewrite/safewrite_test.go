package safewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// target locates path for all that these tests do with it.
func target(t testing.TB, ws *jptool.Workspace, path string) *jptool.Target {
	t.Helper()
	tg, err := ws.CheckEntry(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

func lock(t testing.TB, ws *jptool.Workspace, path string) *File {
	t.Helper()
	f, err := Lock(t.Context(), target(t, ws, path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

func wantFile(t testing.TB, path, want string) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %s, %v; want %s", filepath.Base(path), short(got), err, short([]byte(want)))
	}
}

func short(b []byte) string {
	if len(b) > 60 {
		return fmt.Sprintf("%d bytes %q…", len(b), b[:60])
	}
	return fmt.Sprintf("%q", b)
}

// wantNames checks that a directory holds exactly these entries: no litter.
func wantNames(t testing.TB, dir string, want ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, e.Name())
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s holds %q, want %q", dir, got, want)
	}
}

func wantCode(t testing.TB, err error, want jptool.Code) {
	t.Helper()
	if err == nil || jptool.CodeOf(err) != want {
		t.Errorf("error %v (code %s), want code %s", err, jptool.CodeOf(err), want)
	}
}

// edit replaces the content in one go.
func edit(ctx context.Context, tg *jptool.Target, change func([]byte) []byte) (Method, error) {
	f, err := Lock(ctx, tg)
	if err != nil {
		return "", err
	}
	defer f.Close()
	old, err := f.Content()
	if err != nil {
		return "", err
	}
	if err := f.Stage(change(old)); err != nil {
		return "", err
	}
	return f.Commit()
}

func to(text string) func([]byte) []byte { return func([]byte) []byte { return []byte(text) } }

func TestMethod(t *testing.T) {
	for _, c := range []struct {
		name  string
		rules []jptool.FsRule
		tree  []string
		want  Method
	}{
		{"unrestricted", nil, nil, Replaced},
		{"all write rights", []jptool.FsRule{jptooltest.Rule("", "read write")}, nil, Replaced},
		{"update only", []jptool.FsRule{jptooltest.Rule("", "read update")}, nil, InPlace},
		{"no delete", []jptool.FsRule{jptooltest.Rule("", "read create update")}, nil, InPlace},
		{"a file rule below a directory without rights", []jptool.FsRule{jptooltest.Rule("", "read"), jptooltest.Rule("d/f", "read write")}, nil, InPlace},
		{"a rule below the directory", []jptool.FsRule{jptooltest.Rule("", "read write"), jptooltest.Rule("d/g", "read")}, nil, Replaced},
		{"a second name", nil, []string{"hardlink d/h d/f"}, InPlace},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := jptooltest.TempRoot(t)
			jptooltest.Tree(t, root, append([]string{"file d/f old"}, c.tree...)...)
			ws := jptooltest.Open(t, root, c.rules...)
			before, err := os.Stat(root + "/d/f")
			if err != nil {
				t.Fatal(err)
			}
			got, err := edit(t.Context(), target(t, ws, "d/f"), to("new"))
			if err != nil || got != c.want {
				t.Fatalf("method %q, %v; want %q", got, err, c.want)
			}
			wantFile(t, root+"/d/f", "new")
			after, err := os.Stat(root + "/d/f")
			if err != nil || os.SameFile(before, after) != (c.want == InPlace) {
				t.Errorf("same file: %v, %v", os.SameFile(before, after), err)
			}
			for _, name := range []string{"d"} {
				list, _ := filepath.Glob(root + "/" + name + "/.jptool*")
				if len(list) > 0 {
					t.Errorf("litter: %q", list)
				}
			}
		})
	}
}

func TestPinnedIsWrittenInPlace(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/f old", "file d/g old")
	ctx := jptool.Context{Root: root, Access: &jptool.AccessPolicy{
		FS: []jptool.FsRule{jptooltest.Rule("", "read write")}, Pinned: []string{"d", "d/f"},
	}}
	ws, err := ctx.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for path, want := range map[string]Method{"d/f": InPlace, "d/g": Replaced} {
		if got, err := edit(t.Context(), target(t, ws, path), to("new")); got != want || err != nil {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
		wantFile(t, root+"/"+path, "new")
	}
}

func TestSizes(t *testing.T) {
	for _, rules := range [][]jptool.FsRule{nil, {jptooltest.Rule("", "read update")}} {
		root := jptooltest.TempRoot(t)
		ws := jptooltest.Open(t, root, rules...)
		sizes := []int{0, 1, 4096, 5000, 3<<20 + 7}
		for _, from := range sizes {
			for _, into := range sizes {
				old, want := bytes.Repeat([]byte("o"), from), bytes.Repeat([]byte("n"), into)
				copy(want, old[:min(from, into)/2]) // a common start
				if err := os.WriteFile(root+"/f", old, 0o666); err != nil {
					t.Fatal(err)
				}
				if _, err := edit(t.Context(), target(t, ws, "f"), func([]byte) []byte { return want }); err != nil {
					t.Fatal(err)
				}
				wantFile(t, root+"/f", string(want))
			}
		}
		wantNames(t, root, "f")
	}
}

func TestStale(t *testing.T) {
	read := map[string]func(*File) error{
		"content": func(f *File) error { _, err := f.Content(); return err },
		"digest":  func(f *File) error { _, err := f.Digest(); return err },
	}
	change := map[string]func(path string) error{
		"same size, same times": func(path string) error {
			fi, err := os.Stat(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
				return err
			}
			return os.Chtimes(path, fi.ModTime(), fi.ModTime())
		},
		"appended": func(path string) error { return os.WriteFile(path, []byte("text more"), 0o666) },
		"replaced by another file": func(path string) error {
			if err := os.WriteFile(path+"~", []byte("text"), 0o666); err != nil {
				return err
			}
			return os.Rename(path+"~", path)
		},
		"removed": os.Remove,
	}
	for _, rules := range [][]jptool.FsRule{nil, {jptooltest.Rule("", "read update")}} {
		for how, read := range read {
			for what, change := range change {
				root := jptooltest.TempRoot(t)
				jptooltest.Tree(t, root, "file f text")
				f := lock(t, jptooltest.Open(t, root, rules...), "f")
				if err := read(f); err != nil {
					t.Fatal(err)
				}
				if err := f.Stage([]byte("new")); err != nil {
					t.Fatal(err)
				}
				if err := change(root + "/f"); err != nil {
					t.Fatal(err)
				}
				want, _ := os.ReadFile(root + "/f")
				if _, err := f.Commit(); jptool.CodeOf(err) != jptool.CodeStale {
					t.Errorf("%s, %s: %v, want stale", how, what, err)
				}
				f.Close()
				got, _ := os.ReadFile(root + "/f")
				if !bytes.Equal(got, want) {
					t.Errorf("%s, %s: the change was lost: %q", how, what, got)
				}
			}
		}
	}
}

func TestRollback(t *testing.T) {
	for want, rules := range map[Method][]jptool.FsRule{Replaced: nil, InPlace: {jptooltest.Rule("", "read update")}} {
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file f old")
		f := lock(t, jptooltest.Open(t, root, rules...), "f")
		if err := f.Stage([]byte("a longer new one")); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Commit(); got != want || err != nil {
			t.Fatalf("commit: %q, %v", got, err)
		}
		wantFile(t, root+"/f", "a longer new one")
		if err := f.Rollback(); err != nil {
			t.Fatal(err)
		}
		wantFile(t, root+"/f", "old")
		// And once more, for good.
		if err := f.Stage([]byte("third")); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		wantFile(t, root+"/f", "third")
		wantNames(t, root, "f")
	}
}

func TestCloseGivesUp(t *testing.T) {
	for _, rules := range [][]jptool.FsRule{nil, {jptooltest.Rule("", "read update")}} {
		root := jptooltest.TempRoot(t)
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		jptooltest.Tree(t, root, "file f old")
		f := lock(t, jptooltest.Open(t, root, rules...), "f")
		if err := f.Stage(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
		f.Close()
		wantFile(t, root+"/f", "old")
		wantNames(t, root, "f")
		wantNames(t, tmp)
	}
}

// An error in the middle of writing in place brings the old content back.
func TestInPlaceFailureRestores(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	old := strings.Repeat("old", 1<<20)
	for _, at := range []string{"partly overwritten", "overwritten"} {
		for _, size := range []int{0, 5, 2 << 20, 9 << 20} {
			root := jptooltest.TempRoot(t)
			if err := os.WriteFile(root+"/f", []byte(old), 0o666); err != nil {
				t.Fatal(err)
			}
			ws := jptooltest.Open(t, root, jptooltest.Rule("", "read update"))
			hit := false
			onStep = func(s string) error {
				if s == at {
					hit = true
					return errors.New("the disk is on fire")
				}
				return nil
			}
			_, err := edit(t.Context(), target(t, ws, "f"), func([]byte) []byte { return make([]byte, size) })
			onStep = nil
			if hit != (err != nil) || !hit && size > 0 {
				t.Errorf("%s, %d bytes: hit %v, %v", at, size, hit, err)
			}
			if hit {
				wantFile(t, root+"/f", old)
			}
			wantNames(t, tmp)
		}
	}
}

func TestBusy(t *testing.T) {
	defer func(d time.Duration) { lockWait = d }(lockWait)
	lockWait = 50 * time.Millisecond
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f text")
	ws := jptooltest.Open(t, root)
	held := lock(t, ws, "f")
	_, err := Lock(t.Context(), target(t, ws, "f"))
	wantCode(t, err, jptool.CodeBusy)
	var e *jptool.Error
	if !errors.As(err, &e) || !e.Transient {
		t.Errorf("%v is not transient", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	lockWait = time.Hour
	_, err = Lock(ctx, target(t, ws, "f"))
	wantCode(t, err, jptool.CodeDeadline)
	held.Close()
	lock(t, ws, "f")
}

func TestLockNeedsUpdate(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f text", "dir d", "symlink l f", "fifo p")
	_, err := Lock(t.Context(), target(t, jptooltest.Open(t, root, jptooltest.Rule("", "read create delete")), "f"))
	wantCode(t, err, jptool.CodeAccessDenied)
	ws := jptooltest.Open(t, root)
	for path, want := range map[string]jptool.Code{
		"d": jptool.CodeWrongType, "p": jptool.CodeWrongType, "l": jptool.CodeBusy, "none": jptool.CodeNotFound,
	} {
		_, err := Lock(t.Context(), target(t, ws, path))
		wantCode(t, err, want)
	}
}

// Without `read` nothing is read, so there is nothing to compare and no way back.
func TestUpdateWithoutRead(t *testing.T) {
	for want, caps := range map[Method]string{Replaced: "write", InPlace: "update"} {
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file f old")
		f := lock(t, jptooltest.Open(t, root, jptooltest.Rule("", caps)), "f")
		if _, err := f.Content(); jptool.CodeOf(err) != jptool.CodeAccessDenied {
			t.Errorf("content: %v", err)
		}
		if _, err := f.Digest(); jptool.CodeOf(err) != jptool.CodeAccessDenied {
			t.Errorf("digest: %v", err)
		}
		if err := f.Stage([]byte("new")); err != nil {
			t.Fatal(err)
		}
		if got, err := f.Commit(); got != want || err != nil {
			t.Errorf("commit: %q, %v", got, err)
		}
		f.Close()
		wantFile(t, root+"/f", "new")
		wantNames(t, root, "f")
	}
}

// Edits that run at the same time are all there in the end.
func TestParallelEdits(t *testing.T) {
	defer func(d time.Duration) { lockWait = d }(lockWait)
	lockWait = 2 * time.Minute // a slow disk is not what is tested
	for _, rules := range [][]jptool.FsRule{nil, {jptooltest.Rule("", "read update")}} {
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file f", "file g")
		ws := jptooltest.Open(t, root, rules...)
		const n = 200
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				_, err := edit(t.Context(), target(t, ws, "f"), func(old []byte) []byte {
					return fmt.Appendf(bytes.Clone(old), "edit %d\n", i)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		got, err := os.ReadFile(root + "/f")
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			if !bytes.Contains(got, fmt.Appendf(nil, "edit %d\n", i)) {
				t.Errorf("edit %d was lost", i)
			}
		}
		wantNames(t, root, "f", "g")
	}
}

func TestLockAllInAnyOrder(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file a 0", "file b 0", "file c 0", "hardlink d a")
	ws := jptooltest.Open(t, root)
	orders := [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "a"}, {"c", "a"}}
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			var targets []*jptool.Target
			for _, name := range orders[i%len(orders)] {
				targets = append(targets, target(t, ws, name))
			}
			files, err := LockAll(t.Context(), targets)
			if err != nil {
				t.Error(err)
				return
			}
			for j, f := range files {
				if f.t != targets[j] {
					t.Error("the files are not in the order of the targets")
				}
				old, err := f.Content()
				if err == nil {
					err = f.Stage(append(bytes.Clone(old), '+'))
				}
				if err == nil {
					_, err = f.Commit()
				}
				if err != nil {
					t.Error(err)
				}
			}
			for _, f := range files {
				f.Close()
			}
		})
	}
	wg.Wait()
	wantFile(t, root+"/b", "0"+strings.Repeat("+", 30))
	wantFile(t, root+"/c", "0"+strings.Repeat("+", 30))
	_, err := LockAll(t.Context(), []*jptool.Target{target(t, ws, "a"), target(t, ws, "b"), target(t, ws, "a")})
	wantCode(t, err, jptool.CodeInvalidArguments)
	lock(t, ws, "a") // nothing stayed locked
}
