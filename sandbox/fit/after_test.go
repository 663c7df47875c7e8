package fit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/sandbox/fit"
)

// node is what stands at a path, as Survey would find it.
func node(t testing.TB, path string) fit.Node {
	t.Helper()
	n, err := fit.Look(path)
	if err != nil || n.Kind == fit.Missing {
		t.Fatalf("%s: %+v, %v", path, n, err)
	}
	return n
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestVerify makes one change after a snapshot, and reads what is said of it.
func TestVerify(t *testing.T) {
	for _, c := range []struct {
		name, want string
		change     func(t *testing.T, dir string)
	}{
		{"nothing", "", func(*testing.T, string) {}},
		{"read", "", func(t *testing.T, dir string) { _, err := os.ReadFile(dir + "/hooks/a"); do(t, err) }},
		{"rewritten with the same content", "", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/hooks/a", []byte("one"), 0o644)) }},
		{"times", "", func(t *testing.T, dir string) { do(t, os.Chtimes(dir+"/hooks/a", time.Now(), time.Unix(1, 0))) }},
		{"content", "hooks/a content", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/hooks/a", []byte("two"), 0o644)) }},
		{"content with its old time", "hooks/a content", func(t *testing.T, dir string) {
			fi, err := os.Stat(dir + "/hooks/a")
			do(t, err)
			do(t, os.WriteFile(dir+"/hooks/a", []byte("two"), 0o644))
			do(t, os.Chtimes(dir+"/hooks/a", time.Time{}, fi.ModTime()))
		}},
		{"content of a large file", "hooks/big content", func(t *testing.T, dir string) {
			f, err := os.OpenFile(dir+"/hooks/big", os.O_WRONLY, 0)
			do(t, err)
			_, err = f.WriteAt([]byte("x"), 1<<21-1)
			do(t, errors.Join(err, f.Close()))
		}},
		{"mode", "hooks/a mode", func(t *testing.T, dir string) { do(t, os.Chmod(dir+"/hooks/a", 0o755)) }},
		{"mode of the directory", "hooks mode", func(t *testing.T, dir string) { do(t, os.Chmod(dir+"/hooks", 0o700)) }},
		{"appeared", "hooks/sub/new appeared", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/hooks/sub/new", nil, 0o644)) }},
		{"another name", "hooks/a name", func(t *testing.T, dir string) { do(t, os.Link(dir+"/hooks/a", dir+"/x")) }},
		{"disappeared", "hooks/a disappeared", func(t *testing.T, dir string) { do(t, os.Remove(dir+"/hooks/a")) }},
		{"replaced", "hooks/a replaced", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/x", []byte("one"), 0o644))
			do(t, os.Rename(dir+"/x", dir+"/hooks/a"))
		}},
		{"replaced altogether", "hooks replaced, hooks/open disappeared, hooks/opened disappeared", func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/hooks", dir+"/old"))
			do(t, os.Mkdir(dir+"/hooks", 0o755))
		}},
		{"hooks gone", "hooks disappeared, hooks/open disappeared, hooks/opened disappeared", func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/hooks")) }},
		{"pin moved", "pin disappeared", func(t *testing.T, dir string) { do(t, os.Rename(dir+"/pin", dir+"/x")) }},
		{"pin became a link", "pin replaced", func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/pin", dir+"/x"))
			do(t, os.Symlink("x", dir+"/pin"))
		}},
		{"content of a pin", "", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/pin/x", nil, 0o644)) }},
		{"content of what is open", "", func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/hooks/open/x", []byte("two"), 0o644))
			do(t, os.WriteFile(dir+"/hooks/open/new", nil, 0o644))
			do(t, os.WriteFile(dir+"/hooks/opened", []byte("two, and longer"), 0o644))
		}},
		{"what is open replaced", "hooks/open replaced, hooks/opened disappeared", func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/hooks/open", dir+"/x"))
			do(t, os.Mkdir(dir+"/hooks/open", 0o755))
			do(t, os.Remove(dir+"/hooks/opened"))
		}},
		{"beside what is open", "hooks/open2 appeared", func(t *testing.T, dir string) { do(t, os.WriteFile(dir+"/hooks/open2", nil, 0o644)) }},
		{"missing appeared", "missing appeared", func(t *testing.T, dir string) { do(t, os.Mkdir(dir+"/missing", 0o755)) }},
		{"missing dangling link", "missing appeared", func(t *testing.T, dir string) { do(t, os.Symlink("nowhere", dir+"/missing")) }},
		{"no link made", "", func(t *testing.T, dir string) { do(t, os.MkdirAll(dir+"/grant/deep", 0o755)) }},
		{"link made", "grant/deep link", func(t *testing.T, dir string) {
			do(t, os.Mkdir(dir+"/grant", 0o755))
			do(t, os.Symlink("../hooks", dir+"/grant/deep"))
		}},
		{"link made above", "grant/deep link", func(t *testing.T, dir string) { do(t, os.Symlink("hooks", dir+"/grant")) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := jptooltest.TempRoot(t)
			jptooltest.Tree(t, dir, "file hooks/a one", "file hooks/open/x one", "file hooks/opened one", "dir hooks/sub", "file hooks/big "+strings.Repeat("x", 1<<21-1)+"y", "dir pin")
			before, err := fit.Snapshot(context.Background(), []fit.Check{
				{Path: dir + "/hooks", Want: fit.Unchanged, Node: node(t, dir+"/hooks")},
				{Path: dir + "/hooks/open", Want: fit.Opened, Node: node(t, dir+"/hooks/open")},
				{Path: dir + "/hooks/opened", Want: fit.Opened, Node: node(t, dir+"/hooks/opened")},
				{Path: dir + "/pin", Want: fit.SameEntry, Node: node(t, dir+"/pin")},
				{Path: dir + "/missing", Want: fit.StillMissing},
				{Path: dir + "/grant/deep", Want: fit.NoLink},
			})
			do(t, err)
			if len(before.Incomplete) > 0 {
				t.Errorf("incomplete: %v", before.Incomplete)
			}
			c.change(t, dir)
			var got []string
			for _, x := range before.Verify(context.Background()) {
				got = append(got, strings.TrimPrefix(x.Path, dir+"/")+" "+x.What)
				if s := x.String(); !strings.Contains(s, x.Path) || len(s) < len(x.Path)+8 {
					t.Errorf("String: %s", s)
				}
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("got %q, want %q", s, c.want)
			}
		})
	}
}

// TestTouched: what was put back is no change, and is told all the same.
func TestTouched(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, dir string){
		"": func(t *testing.T, dir string) {
			_, err := os.ReadFile(dir + "/hooks/a")
			do(t, err)
			do(t, os.WriteFile(dir+"/hooks/open/x", []byte("two"), 0o644))
			do(t, os.WriteFile(dir+"/hooks/open/new", nil, 0o644))
		},
		"hooks/a": func(t *testing.T, dir string) {
			for _, text := range []string{"two", "one"} {
				do(t, os.WriteFile(dir+"/hooks/a", []byte(text), 0o644))
			}
		},
		"hooks/sub": func(t *testing.T, dir string) {
			do(t, os.WriteFile(dir+"/hooks/sub/new", nil, 0o644))
			do(t, os.Remove(dir+"/hooks/sub/new"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := jptooltest.TempRoot(t)
			jptooltest.Tree(t, dir, "file hooks/a one", "dir hooks/sub", "file hooks/open/x one")
			before, err := fit.Snapshot(context.Background(), []fit.Check{
				{Path: dir + "/hooks", Want: fit.Unchanged, Node: node(t, dir+"/hooks")},
				{Path: dir + "/hooks/open", Want: fit.Opened, Node: node(t, dir+"/hooks/open")},
			})
			do(t, err)
			change(t, dir)
			if c := before.Verify(context.Background()); len(c) > 0 {
				t.Errorf("changes: %v", c)
			}
			if got := strings.ReplaceAll(strings.Join(before.Touched, ", "), dir+"/", ""); got != name {
				t.Errorf("touched: %q", got)
			}
		})
	}
}

// TestVerifyTooMuch: what is beyond the limit is said, and is no change.
func TestVerifyTooMuch(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file small/a", "dir large")
	fill(t, dir+"/large", 17_000)
	before, err := fit.Snapshot(context.Background(), []fit.Check{
		{Path: dir + "/small", Want: fit.Unchanged, Node: node(t, dir+"/small")},
		{Path: dir + "/large", Want: fit.Unchanged, Node: node(t, dir+"/large")},
	})
	do(t, err)
	if len(before.Incomplete) != 1 || before.Incomplete[0] != dir+"/large" {
		t.Errorf("incomplete: %v", before.Incomplete)
	}
	if c := before.Verify(context.Background()); len(c) > 0 {
		t.Errorf("changes: %v", c)
	}
	do(t, os.WriteFile(dir+"/small/b", nil, 0o644))
	if c := before.Verify(context.Background()); len(c) != 1 || c[0].What != "appeared" {
		t.Errorf("changes: %v", c)
	}
}

// TestVerifyGrown: nobody can hide a change behind more entries than are compared.
func TestVerifyGrown(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	jptooltest.Tree(t, dir, "file hooks/a one")
	before, err := fit.Snapshot(context.Background(), []fit.Check{
		{Path: dir + "/hooks", Want: fit.Unchanged, Node: node(t, dir+"/hooks")},
	})
	do(t, err)
	do(t, os.WriteFile(dir+"/hooks/a", []byte("two"), 0o644))
	fill(t, dir+"/hooks", 17_000)
	if c := before.Verify(context.Background()); len(c) != 1 || c[0].Path != dir+"/hooks" || c[0].What != "grown" {
		t.Errorf("changes: %v", c)
	}
}

// fill makes so many empty files.
func fill(t *testing.T, dir string, n int) {
	t.Helper()
	for i := range n {
		do(t, os.WriteFile(fmt.Sprintf("%s/%d", dir, i), nil, 0o644))
	}
}

// TestVerifySameNumber: file systems give a new symlink the number of the one that was just removed.
func TestVerifySameNumber(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	link := dir + "/link"
	for try := 0; ; try++ {
		do(t, os.Symlink("a", link))
		old := node(t, link)
		before, err := fit.Snapshot(context.Background(), []fit.Check{{Path: link, Want: fit.SameEntry, Node: old}})
		do(t, err)
		if c := before.Verify(context.Background()); len(c) > 0 {
			t.Fatalf("changes: %v", c)
		}
		do(t, os.Remove(link))
		do(t, os.Symlink("b", link))
		same := node(t, link).ID == old.ID
		if c := before.Verify(context.Background()); len(c) != 1 || c[0].What != "replaced" {
			t.Fatalf("same number: %v, changes: %v", same, c)
		}
		if same {
			return
		}
		if try == 20 {
			t.Skip("this file system gives new symlinks numbers of their own")
		}
		do(t, os.Remove(link))
	}
}

// TestWasKnowsNoReplacedDirectory: what stands there again may have anything in it.
func TestWasKnowsNoReplacedDirectory(t *testing.T) {
	for name, replace := range map[string]func(t *testing.T, dir string){
		"another directory": func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/git/hooks", dir+"/old"))
		},
		"a link on the way": func(t *testing.T, dir string) {
			do(t, os.Rename(dir+"/git", dir+"/old"))
			do(t, os.Symlink("old", dir+"/git"))
		},
		"gone": func(t *testing.T, dir string) { do(t, os.RemoveAll(dir+"/git/hooks")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := jptooltest.TempRoot(t)
			hooks := dir + "/git/hooks"
			do(t, os.MkdirAll(hooks, 0o755))
			before, err := fit.Snapshot(t.Context(), []fit.Check{{Path: hooks, Want: fit.Unchanged, Node: node(t, hooks)}})
			do(t, err)
			replace(t, dir)
			changes := before.Verify(t.Context())
			do(t, os.RemoveAll(dir+"/git"))
			if len(changes) != 1 || before.Was(changes[0]) == fit.State(hooks) {
				t.Errorf("%v counts as put right when it is missing", changes)
			}
			do(t, os.MkdirAll(hooks, 0o755))
			do(t, os.WriteFile(hooks+"/post-checkout", []byte("id"), 0o755))
			if len(changes) == 1 && before.Was(changes[0]) == fit.State(hooks) {
				t.Errorf("%v counts as put right with another directory there", changes)
			}
		})
	}
}
