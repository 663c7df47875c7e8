package fskit

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/toolmain"
)

func list(items ...string) toolmain.Strings { return toolmain.Strings{Items: items, Set: true} }

func TestSuppress(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file .git/HEAD x", "file src/a.go x", "file target/debug/x x", "file deep/target/y x",
		"symlink g .git", "symlink code src", "file odd/a{b}[c] x", "symlink o odd/a{b}[c]", "symlink self .", "dir real", "symlink l1 real")
	ws := jptooltest.Open(t, root)
	for _, c := range []struct {
		patterns string // separated by blanks
		path     string
		want     bool
	}{
		{"", ".git/HEAD", false},
		{".git/", ".git/HEAD", true},
		{".git/", ".git", true},
		{".git/", "g/HEAD", true},        // by its canonical path
		{".git/", "src/../.git/x", true}, // and one that does not exist
		{".git/", "src/a.go", false},
		{".git/", ".gitignore", false},
		{"**/target/", "target/debug/x", true},
		{"**/target/", "deep/target/y", true},
		{"*.go", "src/a.go", true},
		{"*.go !src/a.go", "src/a.go", false},
		{"code", "code/a.go", true}, // by its spelling
		{"*", ".", false},           // the root is never covered
		{"self", "src/a.go", false}, // a link to the root covers its own name only
		{"self", "self/src/a.go", true},
		{"o", "odd/a{b}[c]", true},
		{"o", "odd/abc", false},
	} {
		g, err := Suppress(ws, list(strings.Fields(c.patterns)...))
		if err != nil {
			t.Fatalf("%q: %v", c.patterns, err)
		}
		_, err = CheckContent(ws, g, c.path, jptool.Read)
		if (err != nil) != c.want || err != nil && jptool.CodeOf(err) != jptool.CodeSuppressed {
			t.Errorf("suppress %q, path %q: got %v, want suppressed %v", c.patterns, c.path, err, c.want)
		}
	}
}

// The real path of what a suppressed link leads to is suppressed too.
func TestPatternOnALinkCoversWhatItLeadsTo(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file real/secret x", "file other x", "symlink link real", "symlink dangling nowhere",
		"symlink fork "+outside, "symlink infork fork/private", "file dir/x x")
	jptooltest.Tree(t, outside, "file private/x x", "file public x")
	ws := jptooltest.Open(t, root, jptooltest.Rule("", "read"), jptooltest.Mount("fork", outside, "read"))
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"link", "link/secret", true},
		{"link", "real/secret", true},
		{"/link/", "real", true},
		{"link/secret", "real/secret", true},
		{"link", "other", false},
		{"dangling", "other", false},
		{"infork", "fork/private/x", true},
		{"infork", "fork/public", false},
		{"!link", "real/secret", false},
	} {
		g, err := Suppress(ws, list(c.pattern))
		if err != nil {
			t.Fatalf("%q: %v", c.pattern, err)
		}
		target, err := ws.CheckRead(c.path)
		if err != nil {
			t.Fatalf("%q: %v", c.path, err)
		}
		if got := suppressed(g, target); got != c.want {
			t.Errorf("suppress %q, path %q: got %v, want %v", c.pattern, c.path, got, c.want)
		}
	}
}

func TestSuppressRefusesBadPatterns(t *testing.T) {
	ws := jptooltest.Open(t, jptooltest.TempRoot(t))
	for _, bad := range []string{"a[", "a{b,c}", "", "!", "a/../b", "a\\", "a\x00"} {
		g, err := Suppress(ws, list("fine", bad))
		if g != nil || jptool.CodeOf(err) != jptool.CodeInvalidArguments || !strings.Contains(err.Error(), "suppress") {
			t.Errorf("%q: got %v, %v", bad, g, err)
		}
	}
}

// Denied beats suppressed, and suppressed beats whatever the file system would say.
func TestCheckContentTellsNothing(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file hidden/here x", "file denied/here x", "file f x", "symlink hidden/dangling nowhere",
		"symlink hidden/out /", "symlink alias hidden")
	ws := jptooltest.Open(t, root, jptooltest.Rule("", "read"), jptooltest.Rule("denied", ""))
	g, err := Suppress(ws, list("hidden", "denied"))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]jptool.Code{
		"f":               "",
		"../x":            jptool.CodePathEscape,
		"/hidden/here":    jptool.CodeAbsolutePath,
		"denied/here":     jptool.CodeAccessDenied,
		"denied/missing":  jptool.CodeAccessDenied,
		"hidden/here":     jptool.CodeSuppressed,
		"hidden/missing":  jptool.CodeSuppressed,
		"hidden/dangling": jptool.CodeSuppressed,
		"hidden/out":      jptool.CodeSuppressed,
		"hidden/here/x":   jptool.CodeSuppressed,
		"alias/here":      jptool.CodeSuppressed,
		"alias/missing":   jptool.CodeSuppressed,
	} {
		target, err := CheckContent(ws, g, path, jptool.Read)
		if want == "" {
			if err != nil || target == nil {
				t.Errorf("%q: %v", path, err)
			}
			continue
		}
		if target != nil || err == nil || jptool.CodeOf(err) != want {
			t.Errorf("%q: got %v, want code %s", path, err, want)
		}
		if err != nil && strings.Contains(err.Error(), root) {
			t.Errorf("%q: the message names an absolute path: %v", path, err)
		}
	}
	// What is suppressed reads the same whether it exists or not.
	if err := os.RemoveAll(filepath.Join(root, "hidden")); err != nil {
		t.Fatal(err)
	}
	if _, err := CheckContent(ws, g, "hidden/here", jptool.Read); jptool.CodeOf(err) != jptool.CodeSuppressed {
		t.Errorf("after removal: %v", err)
	}
}
