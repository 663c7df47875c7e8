package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func sha256Hex(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// Whoever may not read a path gets the same answer whatever stands there, and no
// absolute path (call checks that for every answer).
func TestNoOracle(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file secret/f a", "dir secret/d", "symlink secret/dangling nowhere", "symlink secret/out /",
		"symlink secret/loop loop", "symlink alias secret", "file open/f a", "symlink open/peek ../secret/f", "symlink open/gone ../secret/missing")
	rules := []jptool.FsRule{jptooltest.Rule("", "read"), jptooltest.Rule("secret", "")}
	message := func(a answer, path string) string { return strings.ReplaceAll(a.Message, path, "PATH") }
	want := message(call(t, root, object{"path": "secret/f"}, nil, nil, rules...), "secret/f")
	for _, name := range []string{"f", "d", "missing", "dangling", "out", "loop", "f/below"} {
		path := "secret/" + name
		// An impossible range must not be noticed first either.
		a := call(t, root, object{"path": path, "start_line": 9, "end_line": 3}, nil, nil, rules...)
		wantError(t, a, jptool.CodeAccessDenied, 1, "")
		if got := message(a, path); got != want {
			t.Errorf("%s: %q differs from %q", path, got, want)
		}
	}
	for _, path := range []string{"alias/f", "alias/missing", "open/peek", "open/gone"} {
		wantError(t, call(t, root, object{"path": path}, nil, nil, rules...), jptool.CodeAccessDenied, 1, "secret")
	}
	wantContent(t, call(t, root, object{"path": "open/f"}, nil, nil, rules...), "1: a\n\nNote: the last line has no newline at its end.\n")
}

func TestPathsOutside(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	jptooltest.Tree(t, outside, "file secret a")
	jptooltest.Tree(t, root, "symlink out "+outside, "symlink file "+outside+"/secret")
	wantError(t, call(t, root, object{"path": "/etc/passwd"}, nil, nil), jptool.CodeAbsolutePath, 1, "")
	wantError(t, call(t, root, object{"path": "a/../../x"}, nil, nil), jptool.CodePathEscape, 1, "")
	for _, path := range []string{"out/secret", "file"} {
		a := call(t, root, object{"path": path}, nil, nil)
		wantError(t, a, jptool.CodePathEscape, 1, path)
		if strings.Contains(a.Message, outside) {
			t.Errorf("%s: %s", path, a.Message)
		}
	}
	// An approved mount is read under its own name; with nothing else granted, the
	// workspace is denied.
	mount := jptooltest.Mount("out", outside, "read")
	wantContent(t, call(t, root, object{"path": "out/secret"}, nil, nil, mount), "1: a\n\nNote: the last line has no newline at its end.\n")
	jptooltest.Tree(t, root, "file here a")
	wantError(t, call(t, root, object{"path": "here"}, nil, nil, mount), jptool.CodeAccessDenied, 1, "out")
}

func TestSuppressedUnderEitherName(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file .git/HEAD a", "symlink g .git", "file real/f a", "symlink link real", "file f a")
	for _, c := range []struct{ pattern, path, name string }{
		{".git/", ".git/HEAD", ".git/HEAD"},
		{".git/", "g/HEAD", "g/HEAD"},
		{".git/", ".git/missing", ".git/missing"},
		{".git/", ".git", ".git"},
		{"link", "link/f", "link/f"},
		{"link", "real/f", "real/f"},
	} {
		a := call(t, root, object{"path": c.path, "start_line": 7, "end_line": 3}, object{"suppress": []string{c.pattern}}, nil)
		wantError(t, a, jptool.CodeSuppressed, 1, "path "+c.name+" is suppressed")
		if !strings.Contains(a.Message, "sk the user to provide it") {
			t.Errorf("%s: %s", c.path, a.Message)
		}
	}
	for _, options := range []object{nil, {"suppress": []string{}}, {"suppress": "other/"}} {
		if a := call(t, root, object{"path": ".git/HEAD"}, options, nil); a.Type != "success" {
			t.Errorf("%v: %s", options, a.Message)
		}
	}
	// The policy comes first.
	a := call(t, root, object{"path": ".git/HEAD"}, object{"suppress": ".git/"}, nil, jptooltest.Rule("real", "read"))
	wantError(t, a, jptool.CodeAccessDenied, 1, "")
}

// The preview obeys the policy, shows nothing of the content, and fails where the run would.
func TestPreviewObeysThePolicy(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file secret/f topsecret", "file src/f hello\\n2\\n3 and more\\n4\\n5\\n6\\n7\\n8\\n9\\n", "symlink link src/f")
	preview := object{"action": "format_arguments"}
	rules := []jptool.FsRule{jptooltest.Rule("", "read"), jptooltest.Rule("secret", "")}
	for _, c := range []struct {
		args object
		want string
	}{
		{object{"path": "src/f"}, "Read src/f"},
		{object{"path": "./src//f"}, "Read src/f"},
		{object{"path": "link"}, "Read link (src/f)"},
		{object{"path": "src/f", "start_line": 3, "end_line": 7}, "Read src/f, lines 3-7"},
		{object{"path": "src/f", "start_line": 3}, "Read src/f, lines 3 to the end"},
		{object{"path": "src/f", "start_line": 3, "end_line": 3}, "Read src/f, line 3"},
		{object{"path": "src/f", "tail": 1}, "Read src/f, the last line"},
		{object{"path": "src/f", "tail": 20}, "Read src/f, the last 20 lines"},
		{object{"path": "src/f", "start_line": 3, "start_byte": 9}, "Read src/f, line 3 from byte 9"},
		{object{"path": "src/f", "ranges": []object{{"start_line": 9}, {"end_line": 2}}}, "Read src/f, lines 1-2, 9 to the end"},
	} {
		wantContent(t, call(t, root, c.args, nil, preview, rules...), c.want)
	}
	wantError(t, call(t, root, object{"path": "secret/f"}, nil, preview, rules...), jptool.CodeAccessDenied, 1, "secret/f")
	wantError(t, call(t, root, object{"path": "src/f"}, object{"suppress": "src"}, preview, rules...), jptool.CodeSuppressed, 1, "src/f")
	wantError(t, call(t, root, object{"path": "src/missing"}, nil, preview, rules...), jptool.CodeNotFound, 1, "src/missing")
	wantError(t, call(t, root, object{"path": "src/f", "start_line": 10}, nil, preview, rules...), jptool.CodeInvalidArguments, 2, "start_line 10")
	wantError(t, call(t, root, object{"path": "../x"}, nil, preview, rules...), jptool.CodePathEscape, 1, "")
	wantError(t, call(t, root, object{"path": "src/f", "start_line": 3, "end_line": 1}, nil, preview, rules...), jptool.CodeInvalidArguments, 2, "start_line 3")
}

// Long names and deep paths are ordinary.
func TestLongAndDeepPaths(t *testing.T) {
	root := jptooltest.TempRoot(t)
	path := strings.Repeat("d/", 40) + strings.Repeat("n", 200)
	jptooltest.Tree(t, root, "file "+path+" deep\\n")
	wantContent(t, call(t, root, object{"path": path}, nil, nil), "1: deep\n")
	wantContent(t, call(t, root, object{"path": "./x/../" + path}, nil, nil), "1: deep\n")
}

func TestNamesWithControlCharacters(t *testing.T) {
	root := jptooltest.TempRoot(t)
	name := "a\nb\x1b[31m"
	if err := os.WriteFile(filepath.Join(root, name), []byte("x\n"), 0o666); err != nil {
		t.Skip(err)
	}
	a := call(t, root, object{"path": name}, nil, nil)
	wantContent(t, a, "1: x\n")
	if a.Data.Path != name {
		t.Errorf("path %q", a.Data.Path)
	}
	a = call(t, root, object{"path": name, "start_line": 5}, nil, nil)
	wantError(t, a, jptool.CodeInvalidArguments, 2, `"a\nb\x1b[31m"`)
}
