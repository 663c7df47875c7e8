package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit"
)

func TestReplacements(t *testing.T) {
	for _, c := range []struct {
		name, text string
		patterns   []string
		more       object
		want       string
	}{
		{"first line", "hello world\n", []string{"hello world", "hello universe"}, nil, "hello universe\n"},
		{"delete", "a\nb\n", []string{"a\n", ""}, nil, "b\n"},
		{"several lines in", "a\nb\n", []string{"a", "1\n2\n3"}, nil, "1\n2\n3\nb\n"},
		{"no newline at the end", "a\nb", []string{"b", "c"}, nil, "a\nc"},
		{"part of a line", "say hello there", []string{"hello", "bye"}, nil, "say bye there"},
		{"across lines", "a\nb\nc\n", []string{"a\nb", "x"}, nil, "x\nc\n"},
		{"later patterns see earlier results", "foo\n", []string{"foo", "bar", "bar", "baz"}, nil, "baz\n"},
		{"all is the default", "a a a", []string{"a", "b"}, nil, "b b b"},
		{"one of one", "a b", []string{"a", "c"}, object{"replace_all": false}, "c b"},
		{"case ignored", "Foo FOO foo", []string{"foo", "x"}, object{"case_sensitive": false}, "x x x"},
		{"case kept", "Foo foo", []string{"foo", "x"}, object{"case_sensitive": true}, "Foo x"},
		{"case ignored, one", "xFoOx", []string{"foo", "y"}, object{"case_sensitive": false, "replace_all": false}, "xyx"},
		{"regex", "foo123 bar456", []string{`\w+?(\d+)`, "n$1"}, object{"replace_using_regex": true}, "n123 n456"},
		{"regex deletes", "a1b2", []string{`\d`, ""}, object{"replace_using_regex": true}, "ab"},
		{"parentheses are literal", "f(x)", []string{"f(x)", "g(x)"}, nil, "g(x)"},
		{"parentheses are groups", "fx", []string{"f(x)", "g$1"}, object{"replace_using_regex": true}, "gx"},
		{"regex with lookahead", "ab ac", []string{"a(?=c)", "x"}, object{"replace_using_regex": true}, "ab xc"},
		{"CRLF kept", "a\r\nb\r\n", []string{"a\nb", "c\nd"}, nil, "c\r\nd\r\n"},
		{"invalid UTF-8 and mark kept", "\ufeffa\xff\r\nb", []string{"b", "c"}, nil, "\ufeffa\xff\r\nc"},
		{"dollar in a literal", "a", []string{"A", "$1 ${x} $$"}, object{"case_sensitive": false}, "$1 ${x} $$"},
		{"white space only", "a  b", []string{"  ", " "}, nil, "a b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			r.write("f", c.text)
			r.args = c.more
			r.wantOK(r.replace(c.patterns...), "File modified: f\n\n```diff\n--- f\n+++ f\n@@")
			r.wantFile("f", c.want)
		})
	}
}

// The failures leave the file as it is.
func TestFailures(t *testing.T) {
	const text = "fn main() {\n    foo   bar;\n}\n  i = i + 1\nx\nx\n"
	paths := func(p any) object { return object{"patterns": []object{{"old": "x", "new": "y", "paths": p}}} }
	for _, c := range []struct {
		name    string
		args    object
		code    jptool.Code
		mention string
	}{
		{"no patterns", object{"patterns": []object{}}, jptool.CodeInvalidArguments, "empty"},
		{"identical", object{"patterns": pairs("a", "b", "x", "x")}, jptool.CodeInvalidArguments, "pattern #2: `old` and `new` are identical"},
		{"no file", object{"path": nil, "patterns": []object{{"old": "x", "new": "y", "paths": "f"}, {"old": "x", "new": "y"}}}, jptool.CodeInvalidArguments, "pattern #2: it has no file"},
		{"empty paths", paths([]string{}), jptool.CodeInvalidArguments, "pattern #1: `paths` is empty"},
		{"empty old", object{"patterns": pairs("", "b")}, jptool.CodeInvalidArguments, "pattern #1: `old` is empty"},
		{"white space that is not there", object{"patterns": pairs("\t\t", "b")}, jptool.CodeNoMatch, "#1"},
		{"not found", object{"patterns": pairs("nowhere", "b")}, jptool.CodeNoMatch, "#1 `nowhere` does not occur in f"},
		{"one of two", object{"patterns": pairs("main", "m", "nowhere", "b")}, jptool.CodeNoMatch, "1 of 2 patterns can be applied, and it is all or none\n#2"},
		{"never fuzzy", object{"patterns": pairs("foo bar;", "b")}, jptool.CodeNoMatch, "closest: line 2, where only white space differs"},
		{"never fuzzy beyond ASCII", object{"patterns": pairs("é  é", "b")}, jptool.CodeNoMatch, "#1"},
		{"never trimmed", object{"patterns": pairs("  i  ", "j")}, jptool.CodeNoMatch, "#1"},
		{"invalid regex", object{"patterns": pairs("(", "b"), "replace_using_regex": true}, jptool.CodeInvalidArguments, "pattern #1: invalid regex: missing closing ): `(`"},
		{"no such group", object{"patterns": pairs("(x)", "$2"), "replace_using_regex": true}, jptool.CodeInvalidArguments, "`$2` in `new` names no group"},
		{"regex that matches nothing", object{"patterns": pairs("x{3}", "y"), "replace_using_regex": true}, jptool.CodeNoMatch, "#1 regex `x{3}` matches nothing in f"},
		{"ambiguous", object{"patterns": pairs("x", "y"), "replace_all": false}, jptool.CodeAmbiguousMatch, "#1 `x` matches 2 times, and replace_all is false: make `old` longer, so that it is unique\n  in f at lines 5, 6"},
		{"fewer than expected", object{"patterns": pairs("x", "y"), "expected_matches": 3}, jptool.CodeAmbiguousMatch, "matches 2 times, expected 3\n  in f at lines 5, 6"},
		{"more than the pattern expects", object{"expected_matches": 2, "patterns": []object{{"old": "x", "new": "y", "expected_matches": 1}}}, jptool.CodeAmbiguousMatch, "expected 1"},
		{"expected but not there", object{"patterns": pairs("nowhere", "y"), "expected_matches": 3}, jptool.CodeNoMatch, "#1"},
		{"stale", object{"patterns": pairs("x", "y"), "expected_digest": fskit.DigestBytes([]byte("other"))}, jptool.CodeStale, "read it again"},
		{"no digest", object{"patterns": pairs("x", "y"), "expected_digest": "abc"}, jptool.CodeInvalidArguments, "expected_digest"},
		{"digest for several files", object{"expected_digest": fskit.DigestBytes(nil), "patterns": []object{{"old": "x", "new": "y", "paths": []string{"f", "g"}}}}, jptool.CodeInvalidArguments, "2; leave it out"},
		{"missing file", paths([]string{"f", "none"}), jptool.CodeNotFound, "none"},
		{"directory", paths("dir"), jptool.CodeWrongType, "dir"},
		{"binary", paths("bin"), jptool.CodeWrongType, "binary"},
		{"UTF-16", paths("wide"), jptool.CodeWrongType, "UTF-16"},
		{"absolute", paths("/etc/passwd"), jptool.CodeAbsolutePath, ""},
		{"escape", paths("../f"), jptool.CodePathEscape, ""},
		{"the same file by a hard link", paths([]string{"f", "hard"}), jptool.CodeInvalidArguments, "same file"},
		{"type of an argument", object{"patterns": pairs("x", "y"), "replace_all": "yes"}, jptool.CodeInvalidArguments, "`replace_all`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, "dir dir", "file g x", "file bin a\x00x", "file wide \xff\xfex\x00")
			r.write("f", text)
			jptooltest.Tree(t, r.root, "hardlink hard f")
			a := r.call(c.args)
			r.wantError(a, c.code, c.mention)
			r.wantFile("f", text)
			r.wantFile("g", "x")
			// What the run refuses the preview says, and never as a crash.
			r.preview = true
			if a := r.call(c.args); a.Type == "needs_input" {
				t.Errorf("the preview asks %s", a.Question.ID)
			}
			r.wantFile("f", text)
		})
	}
}

func TestSeveralFiles(t *testing.T) {
	r := newRig(t, "file a/f foo", "file b/f foo bar foo", "file c/f bar")
	a := r.call(object{"path": "c/f", "patterns": []object{
		{"old": "foo", "new": "FOO", "paths": []string{"a/f", "b/../b/f", "c/f"}},
		{"old": "bar", "new": "BAR"},
		{"old": "FOO bar", "new": "x", "paths": `["b/f"]`},
	}})
	r.wantOK(a, "Files modified: a/f, b/f, c/f")
	r.wantOK(a, "3/3 patterns applied.\n#1 replaced 3 times (a/f 1, b/f 2, c/f 0)\n#2 replaced once\n#3 replaced once")
	r.wantFile("a/f", "FOO")
	r.wantFile("b/f", "x FOO")
	r.wantFile("c/f", "BAR")
	want := `{"files":[` +
		`{"path":"a/f","replacements":1,"added":1,"removed":1,"old_digest":"%s","digest":"%s","method":"replaced"},` +
		`{"path":"b/f","replacements":3,"added":1,"removed":1,"old_digest":"%s","digest":"%s","method":"replaced"},` +
		`{"path":"c/f","replacements":1,"added":1,"removed":1,"old_digest":"%s","digest":"%s","method":"replaced"}],` +
		`"patterns":[{"index":1,"matches":3},{"index":2,"matches":1},{"index":3,"matches":1}],"dry_run":false}`
	var digests []any
	for _, s := range []string{"foo", "FOO", "foo bar foo", "x FOO", "bar", "BAR"} {
		digests = append(digests, fskit.DigestBytes([]byte(s)))
	}
	if want = fmt.Sprintf(want, digests...); string(a.Data) != want {
		t.Errorf("data\n%s\nwant\n%s", a.Data, want)
	}
}

// Nothing is written unless every file can be, and every pattern matched.
func TestAllOrNothing(t *testing.T) {
	r := newRig(t, "file a foo", "file b foo", "file c other")
	r.wantError(r.call(object{"patterns": []object{
		{"old": "foo", "new": "x", "paths": []string{"a", "b"}},
		{"old": "foo", "new": "x", "paths": "c"},
	}}), jptool.CodeNoMatch, "#2 `foo` does not occur in c")
	r.wantFile("a", "foo")

	// The second file cannot be replaced: its directory is gone when it comes to it.
	r.rules = []jptool.FsRule{jptooltest.Rule("", "read write"), jptooltest.Rule("b", "read")}
	r.wantError(r.call(object{"patterns": []object{{"old": "foo", "new": "x", "paths": []string{"a", "b"}}}}), jptool.CodeAccessDenied, "cannot read and update b")
	r.wantFile("a", "foo")
	r.wantFile("b", "foo")
}

func TestOneFileByTwoSpellings(t *testing.T) {
	r := newRig(t, "file d/f a", "symlink l d/f")
	a := r.call(object{"patterns": []object{{"old": "a", "new": "b", "paths": []string{"d/f", "l", "./d/../l"}}}})
	r.wantOK(a, "File modified: d/f")
	r.wantFile("d/f", "b")
	if n := a.result(t).Files[0].Replacements; n != 1 {
		t.Errorf("%d replacements", n)
	}
	if fi, err := os.Lstat(filepath.Join(r.root, "l")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v %v", fi, err)
	}
}

func TestModeStays(t *testing.T) {
	r := newRig(t, "file f a")
	path := filepath.Join(r.root, "f")
	if err := os.Chmod(path, 0o750); err != nil {
		t.Fatal(err)
	}
	jptooltest.Tree(t, r.root, "hardlink h f")
	r.wantOK(r.replace("a", "b"), "written in place")
	r.wantFile("h", "b")
	if fi, _ := os.Stat(path); fi.Mode().Perm() != 0o750 {
		t.Errorf("mode %v", fi.Mode())
	}
}

func TestNoNetChange(t *testing.T) {
	r := newRig(t, "file f a")
	r.answers = nil // nothing to ask about
	a := r.replace("a", "b", "b", "a")
	r.wantOK(a, "No change: all patterns matched")
	if res := a.result(t); len(res.Files) != 0 || len(res.Patterns) != 2 {
		t.Errorf("data %s", a.Data)
	}
}

func TestExpectedMatches(t *testing.T) {
	r := newRig(t, "file f a a", "file g a")
	r.args = object{"expected_matches": 3}
	r.wantOK(r.call(object{"patterns": []object{{"old": "a", "new": "b", "paths": []string{"f", "g"}}}}), "Files modified")
	r.args = object{"expected_matches": 3, "expected_digest": fskit.DigestBytes([]byte("b b"))}
	r.wantOK(r.call(object{"patterns": []object{{"old": "b", "new": "c", "expected_matches": 2}}}), "File modified")
	r.wantFile("f", "c c")
}

func TestDryRunAndPreview(t *testing.T) {
	r := newRig(t, "file f a")
	r.answers = nil
	args := object{"patterns": pairs("a", "b"), "dry_run": true}
	a := r.call(args)
	r.wantOK(a, "Would modify f; nothing was written.\n\n```diff\n--- f\n+++ f\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline")
	if res := a.result(t); !res.DryRun || res.Files[0].Digest != fskit.DigestBytes([]byte("b")) || res.Files[0].Method != "" {
		t.Errorf("data %s", a.Data)
	}
	r.wantError(r.call(object{"patterns": pairs("c", "b"), "dry_run": true}), jptool.CodeNoMatch, "#1")
	r.wantError(r.call(object{"patterns": []object{{"old": ".*", "new": "", "regex": true, "paths": "none"}}, "dry_run": true}), jptool.CodeNotFound, "none")
	r.preview = true
	r.wantOK(r.replace("a", "b"), "Would modify f")
	r.wantError(r.replace("c", "b"), jptool.CodeNoMatch, "#1")
	r.wantFile("f", "a")
}

func TestReport(t *testing.T) {
	r := newRig(t)
	many := strings.Repeat("ab ", 10_000)
	long := strings.Repeat("x", 50) + "middle" + strings.Repeat("y", 14)
	for _, c := range []struct {
		name, text, old, new, want string
	}{
		{"what a greedy class took", "a = b; c = d", `= .*`, "=", `#1 replaced once; matched "= b; c = d"`},
		{"identical matches are counted", "a b a", `[ab]`, "c", `#1 replaced 3 times; matched "a" ×2, "b"`},
		{"10,000 matches are one entry", many, `ab`, "c", `#1 replaced 10000 times; matched "ab" ×10000` + "\n"},
		{"lines are told apart", "a\nb", `(?s)a.b`, "c", `matched "a\nb"`},
		{"both ends of a long one", long, `x+middley+`, "c", `matched "` + strings.Repeat("x", 40) + "…le" + strings.Repeat("y", 14) + ` (70 chars)"`},
		{"at most eight", "abcdefghij", `[a-j]`, "-", `"h", 2 other texts`},
		{"probably a group", "ab", `(a)b`, `\1`, "note: `\\1` in `new` was put in as it is; a group is written $1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r.T = t
			r.write("f", c.text)
			a := r.call(object{"patterns": []object{{"old": c.old, "new": c.new, "regex": true}}})
			a.Content += "\n"
			r.wantOK(a, c.want)
		})
	}
	r.T = t
	r.write("f", "a b")
	if a := r.replace("a", "c"); !strings.HasSuffix(a.Content, "```") {
		t.Errorf("one literal says more than its diff: %s", a.Content)
	}
	r.write("f", "```\na\n````\n")
	r.wantOK(r.replace("a", "b"), "\n`````diff\n")
}

// What is returned is bounded, however large the change.
func TestResultIsBounded(t *testing.T) {
	r := newRig(t)
	r.answers["broad_change"] = true
	r.write("f", strings.Repeat("some line of text\n", 200_000)+strings.Repeat("text", 100_000))
	a := r.replace("text", "words")
	r.wantOK(a, "more changed lines are not shown")
	if len(a.Content) > diffBytes+4096 {
		t.Errorf("%d bytes", len(a.Content))
	}
	r.write("f", strings.Repeat("x\n", 100_000))
	a = r.call(object{"patterns": pairs("x", "y"), "replace_all": false})
	r.wantError(a, jptool.CodeAmbiguousMatch, "18, 19, 20 and 99980 more")
	var old []string
	for i := range 300 {
		old = append(old, fmt.Sprintf("no such text %d %s", i, strings.Repeat("x\n", 500)), "y")
	}
	if a := r.replace(old...); a.Code != jptool.CodeNoMatch || len(a.Message) > messageMost+10 {
		t.Errorf("%s: %d bytes", a.Code, len(a.Message))
	}
}

func TestErrorDataIsMachineReadable(t *testing.T) {
	r := newRig(t)
	r.write("f", "a\n\tfoo(1)\nb\nb\n")
	var data struct{ Patterns []failureData }
	a := r.call(object{"replace_all": false, "patterns": pairs("foo( 1 )", "x", "b", "c")})
	if err := json.Unmarshal(a.Data, &data); err != nil || len(data.Patterns) != 2 {
		t.Fatalf("%s: %v", a.Data, err)
	}
	first, second := data.Patterns[0], data.Patterns[1]
	if first.Problem != jptool.CodeNoMatch || !reflect.DeepEqual(first.Closest[0], placeData{"f", edit.Place{Line: 2, EndLine: 2, Text: "\tfoo(1)\n"}}) {
		t.Errorf("%+v", first)
	}
	if second.Problem != jptool.CodeAmbiguousMatch || second.Matches != 2 || fmt.Sprint(second.Lines) != "[{f [3 4]}]" {
		t.Errorf("%+v", second)
	}
}
