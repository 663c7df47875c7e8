package wspath_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
)

func rel(t testing.TB, s string) wspath.Rel {
	t.Helper()
	r, err := wspath.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCanonicalize(t *testing.T) {
	base := jptooltest.TempRoot(t)
	jptooltest.Tree(t, base,
		"file ws/src/lib.rs x", "dir ws/docs", "file out/secret x",
		"symlink ws/in src", "symlink ws/abs $ROOT/ws/src", "symlink ws/up src/../docs",
		"symlink ws/esc ../out", "symlink ws/back ../out/home", "symlink out/home ../ws/src",
		"symlink ws/dangling nowhere", "symlink ws/far ../out/missing/x", "symlink ws/chain dangling",
		"symlink ws/loop loop", "symlink ws/a b", "symlink ws/b a",
		"symlink ws/tail src/", "symlink ws/dots ./././src/.",
		"symlink ws/top /",
	)
	above := strings.Repeat("../", strings.Count(base, "/")+3)
	jptooltest.Tree(t, base, "symlink ws/over "+above+strings.TrimPrefix(base, "/")+"/out")
	root := base + "/ws"
	for _, c := range []struct {
		in      string
		entry   bool
		want    string // below root; with a leading / below base's parent directory tree
		missing bool
		err     error
	}{
		{in: "src/lib.rs", want: "src/lib.rs"},
		{in: "", want: ""},
		{in: "in/lib.rs", want: "src/lib.rs"},
		{in: "abs/lib.rs", want: "src/lib.rs"},
		{in: "up/new/file", want: "docs/new/file", missing: true},
		{in: "tail/lib.rs", want: "src/lib.rs"},
		{in: "dots/lib.rs", want: "src/lib.rs"},
		{in: "new/dir/file.txt", want: "new/dir/file.txt", missing: true},
		{in: "esc/secret", want: "../out/secret"},
		{in: "esc/none", want: "../out/none", missing: true},
		{in: "back/lib.rs", want: "src/lib.rs"},
		{in: "dangling", want: "nowhere", err: wspath.ErrDangling},
		{in: "dangling/x", want: "nowhere/x", err: wspath.ErrDangling},
		{in: "chain", want: "nowhere", err: wspath.ErrDangling},
		{in: "far", want: "../out/missing/x", err: wspath.ErrDangling},
		{in: "loop", err: wspath.ErrLoop, want: "loop"},
		{in: "a/x", err: wspath.ErrLoop, want: "b/x"},
		{in: "in", entry: true, want: "in"},
		{in: "dangling", entry: true, want: "dangling"},
		{in: "in/new", entry: true, want: "src/new"},
		{in: "esc/new", entry: true, want: "../out/new"},
		{in: "dangling/new", entry: true, want: "nowhere/new", err: wspath.ErrDangling},
	} {
		got, err := wspath.Canonicalize(root, rel(t, c.in), c.entry, nil)
		want := root + "/" + c.want
		if c.want == "" {
			want = root
		}
		if rest, ok := strings.CutPrefix(c.want, "../"); ok {
			want = base + "/" + rest
		}
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("Canonicalize(%q, entry=%v): error %v, want %v", c.in, c.entry, err, c.err)
		}
		if !errors.Is(c.err, wspath.ErrLoop) && (got.Abs != want || got.Missing != c.missing) {
			t.Errorf("Canonicalize(%q, entry=%v) = %+v, want %q missing=%v", c.in, c.entry, got, want, c.missing)
		}
	}
	if got, err := wspath.Canonicalize(root, rel(t, "top"), false, nil); err != nil || got.Abs != "/" {
		t.Errorf("link to /: %+v, %v", got, err)
	}
	if got, err := wspath.Canonicalize(root, rel(t, "over/secret"), false, nil); err != nil || got.Abs != base+"/out/secret" {
		t.Errorf("link above /: %+v, %v", got, err)
	}
}

// A resolution is done with the readlink it is given: no other I/O.
func TestCanonicalizeIsPure(t *testing.T) {
	links := map[string]string{"/ws/l": "/ws/d", "/ws/d/m": "../e"}
	read := func(p string) (string, error) {
		if to, ok := links[p]; ok {
			return to, nil
		}
		return "", errNoLink
	}
	got, err := wspath.Canonicalize("/ws", rel(t, "l/m/f"), false, read)
	if err != nil || got.Abs != "/ws/e/f" {
		t.Errorf("got %+v, %v; want /ws/e/f", got, err)
	}
}
