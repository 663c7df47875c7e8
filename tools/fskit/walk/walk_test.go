package walk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func TestWhatIsListed(t *testing.T) {
	const usual = `file a.go x; file b/c.go x; file b/d.md x; file b.txt x; file b/Makefile x; file .hidden x;
		file z/deep/er/f.go x; file z/g.tar.gz x; dir empty; symlink link b; symlink flink a.go; file .git/config x; fifo pipe`
	for _, c := range []struct {
		name, tree string
		o          Options
		ext, glob  string
		want       string
		skipped    Skipped
	}{
		{name: "everything, in order of components", tree: usual, want: ".hidden a.go b/Makefile b/c.go b/d.md b.txt z/deep/er/f.go z/g.tar.gz"},
		{name: "a directory, not its sibling", tree: usual, o: Options{Starts: []string{"b"}}, want: "b/Makefile b/c.go b/d.md"},
		{name: "a trailing slash", tree: usual, o: Options{Starts: []string{"b/"}}, want: "b/Makefile b/c.go b/d.md"},
		{name: "nothing", tree: usual, o: Options{Starts: []string{}}, want: ""},
		{name: "the beginning of names", tree: usual, o: Options{Starts: []string{"z/d"}}, want: "z/deep/er/f.go"},
		{name: "the beginning of names in the root", tree: usual, o: Options{Starts: []string{"a"}}, want: "a.go"},
		{name: "overlapping starts once and in order", tree: usual, o: Options{Starts: []string{"z/deep", ".", "a.go", "z"}}, want: ".hidden a.go b/Makefile b/c.go b/d.md b.txt z/deep/er/f.go z/g.tar.gz"},
		{name: "starts are sorted", tree: usual, o: Options{Starts: []string{"z/deep/er", "b", "a.go"}}, want: "a.go b/Makefile b/c.go b/d.md z/deep/er/f.go"},
		{name: "through a link by its real path", tree: usual, o: Options{Starts: []string{"link/c.go"}}, want: "b/c.go"},
		{name: "no extension is none of them", tree: usual, ext: "go", want: "a.go b/c.go z/deep/er/f.go"},
		{name: "extensions with a dot", tree: usual, ext: ".md .gz", want: "b/d.md z/g.tar.gz"},
		{name: "an extension with a dot in it", tree: usual, ext: "tar.gz", want: "z/g.tar.gz"},
		{name: "a hidden name is no extension", tree: usual, ext: "hidden", want: ""},
		{name: "a glob without a slash", tree: usual, glob: "*.go", want: "a.go b/c.go z/deep/er/f.go"},
		{name: "a glob with a slash", tree: usual, glob: "b/*", want: "b/Makefile b/c.go b/d.md"},
		{name: "double star is also nothing", tree: usual, glob: "**/a.go", want: "a.go"},
		{name: "braces", tree: usual, glob: "{a,b/c}.go", want: "a.go b/c.go"},
		{name: "a glob of a directory", tree: usual, glob: "z/", want: "z/deep/er/f.go z/g.tar.gz"},
		{name: "globs within starts", tree: usual, o: Options{Starts: []string{"z", "b"}}, glob: "z/deep/** b/c.*", want: "b/c.go z/deep/er/f.go"},
		{name: "a glob elsewhere", tree: usual, o: Options{Starts: []string{"b"}}, glob: "z/**", want: ""},
		{name: "glob and extension", tree: usual, glob: "b/**", ext: "md", want: "b/d.md"},
		{name: "a glob from the beginning of names", tree: usual, o: Options{Starts: []string{"z/d"}}, glob: "z/deep/er/*", want: "z/deep/er/f.go"},
		{name: "depth", tree: usual, o: Options{MaxDepth: 1}, want: ".hidden a.go b.txt", skipped: Skipped{Deeper: 3}},
		{name: "depth of a start", tree: usual, o: Options{MaxDepth: 1, Starts: []string{"z", "z/deep/er"}}, want: "z/deep/er/f.go z/g.tar.gz", skipped: Skipped{Deeper: 1}},
		{name: "after", tree: usual, o: Options{After: "b/c.go"}, want: "b/d.md b.txt z/deep/er/f.go z/g.tar.gz"},
		{name: "after something that is gone", tree: usual, o: Options{After: "b/zzz"}, want: "b.txt z/deep/er/f.go z/g.tar.gz"},
		{name: "git's own when named", tree: usual, o: Options{Starts: []string{".git"}}, want: ".git/config"},
		{name: "git's own not by the beginning of its name", tree: usual, o: Options{Starts: []string{".g", "."}}, want: ".hidden a.go b/Makefile b/c.go b/d.md b.txt z/deep/er/f.go z/g.tar.gz"},
		{name: "suppressed", tree: usual, o: Options{Suppress: globs("b/ *.gz")}, want: ".hidden a.go b.txt z/deep/er/f.go", skipped: Skipped{Suppressed: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := jptooltest.Open(t, tree(t, c.tree))
			var err error
			if c.o.Filter, err = NewFilter(strings.Fields(c.ext), strings.Fields(c.glob)); err != nil {
				t.Fatal(err)
			}
			paths, r := listed(t, ws, c.o)
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if r.Skipped != c.skipped {
				t.Errorf("skipped %+v, want %+v", r.Skipped, c.skipped)
			}
		})
	}
}

func globs(patterns string) *ignore.Globs {
	g, err := ignore.ParseGlobs(strings.Fields(patterns))
	if err != nil {
		panic(err)
	}
	return g
}

func TestIgnoreFiles(t *testing.T) {
	for _, c := range []struct {
		name, tree, starts string
		off                bool
		want               string
		ignored, dirs      int64
	}{
		{name: "gitignore", tree: `file .gitignore *.log\n/out/; file a.log; file out/x; file b/out/y; file b/c.log; file d`, want: ".gitignore b/out/y d", ignored: 2, dirs: 1},
		{name: "nested wins", tree: `file .gitignore *.log; file b/.gitignore !keep.log; file b/keep.log; file b/c.log`, want: ".gitignore b/.gitignore b/keep.log", ignored: 1},
		{name: "ignore wins over gitignore, also a deeper one", tree: `file .ignore !a.log; file .gitignore *.log; file b/.gitignore a.log; file b/a.log; file c.log`, want: ".gitignore .ignore b/.gitignore b/a.log", ignored: 1},
		{name: "exclude is weakest", tree: `file .git/info/exclude *.tmp; file .gitignore !b.tmp; file a.tmp; file b.tmp`, want: ".gitignore b.tmp", ignored: 1},
		{name: "off", off: true, tree: `file .gitignore *; file a; file .git/HEAD x`, want: ".gitignore a"},
		{name: "the root's rules hold below a start", tree: `file .gitignore /b/x.log; file b/x.log; file b/y`, starts: "b", want: "b/y", ignored: 1},
		{name: "rules between the root and a start", tree: `file a/.gitignore *.log; file a/b/x.log; file a/b/y`, starts: "a/b", want: "a/b/y", ignored: 1},
		{name: "an ignored directory when named", tree: `file .gitignore out\n*.o; file out/x.o; file out/sub/.gitignore no; file out/sub/no; file out/sub/yes; file z`, starts: "out", want: "out/sub/.gitignore out/sub/yes out/x.o", ignored: 1},
		{name: "a place in an ignored directory", tree: `file .gitignore out\n*.o; file out/a/x.o; file out/b/y`, starts: "out/a", want: "out/a/x.o", dirs: 1},
		{name: "an ignored file when named", tree: `file .gitignore *.o; file x.o; file y.o`, starts: "x.o", want: "x.o"},
		{name: "named and unnamed together", tree: `file .gitignore out\n*.o; file out/a/x.o; file out/b/y; file z`, starts: "out/a .", want: ".gitignore out/a/x.o z", dirs: 1},
		{name: "whitelist", tree: `file .gitignore *\n!src\n!src/**; file src/a; file other/b`, want: "src/a", ignored: 1, dirs: 1},
		{name: "a nested repository has its own rules", tree: `file .gitignore *.log; file sub/.git/info/exclude *.tmp; file sub/a.log; file sub/b.tmp; file sub/c/d.log`, want: ".gitignore sub/a.log sub/c/d.log", ignored: 1},
		{name: "but .ignore files reach into it", tree: `file .ignore *.log; file sub/.git/HEAD x; file sub/a.log; file sub/b`, want: ".ignore sub/b", ignored: 1},
		{name: "a start below a nested repository", tree: `file .gitignore *.log; file sub/.git/HEAD x; file sub/c/d.log`, starts: "sub/c", want: "sub/c/d.log"},
		{name: "an ignore file that is a link does nothing", tree: `file rules a; symlink .gitignore rules; file a`, want: "a rules"},
		{name: "a directory of that name", tree: `dir .gitignore; file .gitignore/x; file a`, want: ".gitignore/x a"},
		{name: "the start counts as what is ignored, not its content", tree: `file .gitignore *.md; file docs/a.md; file docs/b`, starts: "docs", want: "docs/b", ignored: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := jptooltest.Open(t, tree(t, c.tree))
			o := Options{NoIgnore: c.off}
			if c.starts != "" {
				o.Starts = strings.Fields(c.starts)
			}
			paths, r := listed(t, ws, o)
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if r.Skipped.Ignored != c.ignored || r.Skipped.IgnoredDirs != c.dirs {
				t.Errorf("ignored %d files and %d directories, want %d and %d", r.Skipped.Ignored, r.Skipped.IgnoredDirs, c.ignored, c.dirs)
			}
		})
	}
}

func TestPolicy(t *testing.T) {
	const usual = `file src/a x; file src/pub/b x; file src/pub/no/c x; file docs/a.md x; file docs/b.md x; file top x`
	rule := jptooltest.Rule
	for _, c := range []struct {
		name   string
		rules  []jptool.FsRule
		starts string
		want   string
		denied int64
		fails  jptool.Code
	}{
		{name: "only what is granted", rules: []jptool.FsRule{rule("src", "read")}, want: "src/a src/pub/b src/pub/no/c", denied: 1},
		{name: "a file", rules: []jptool.FsRule{rule("src", "read"), rule("docs/a.md", "read")}, want: "docs/a.md src/a src/pub/b src/pub/no/c"},
		{name: "a rule that takes away", rules: []jptool.FsRule{rule("", "read"), rule("src/pub", ""), rule("docs/b.md", "")}, want: "docs/a.md src/a top", denied: 2},
		{name: "and one that gives again", rules: []jptool.FsRule{rule("", "read"), rule("src", ""), rule("src/pub/no", "read")}, want: "docs/a.md docs/b.md src/pub/no/c top", denied: 1},
		{name: "an unreadable start with readable places below", rules: []jptool.FsRule{rule("src/pub", "read"), rule("src/pub/no", "")}, starts: "src", want: "src/pub/b", denied: 2},
		{name: "one bad start of several", rules: []jptool.FsRule{rule("src", "read")}, starts: "docs src", want: "src/a src/pub/b src/pub/no/c"},
		{name: "nothing usable", rules: []jptool.FsRule{rule("src", "read")}, starts: "docs missing", fails: jptool.CodeAccessDenied},
		{name: "the beginning of a granted name", rules: []jptool.FsRule{rule("src", "read")}, starts: "sr", want: "src/a src/pub/b src/pub/no/c"},
		{name: "the beginning of a granted name, where the name itself is denied", rules: []jptool.FsRule{rule("src", ""), rule("src2", "read")}, starts: "src", fails: jptool.CodeAccessDenied},
		{name: "nothing at all", rules: []jptool.FsRule{rule("", "write")}, fails: jptool.CodeAccessDenied},
		{name: "a granted place that is not there", rules: []jptool.FsRule{rule("gone/x", "read")}, want: ""},
		{name: "ignore files that may not be read do nothing", rules: []jptool.FsRule{rule("", "read"), rule(".gitignore", "")}, want: "docs/a.md docs/b.md src/a src/pub/b src/pub/no/c top", denied: 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, usual)
			if strings.Contains(c.name, "ignore files") {
				jptooltest.Tree(t, root, "file .gitignore *")
			}
			ws := jptooltest.Open(t, root, c.rules...)
			o := Options{}
			if c.starts != "" {
				o.Starts = strings.Fields(c.starts)
			}
			if c.fails != "" {
				paths, _, err := collect(ws, o)
				if err == nil || jptool.CodeOf(err) != c.fails || len(paths) > 0 {
					t.Fatalf("got %q, %v; want code %s", paths, err, c.fails)
				}
				return
			}
			paths, r := listed(t, ws, o)
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if c.denied != 0 && r.Skipped.Denied != c.denied {
				t.Errorf("denied %d, want %d", r.Skipped.Denied, c.denied)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	outside := tree(t, `file lib/a x; file lib/.gitignore *.o; file lib/b.o x; file lib/secret/c x; symlink lib/in lib; file one.txt hello; symlink lib/up ..`)
	lib, one := outside+"/lib", outside+"/one.txt"
	root := tree(t, fmt.Sprintf(`file src/x x; symlink fork %s; symlink deep/m %s; symlink notes.txt %s; symlink other %s; file .gitignore a`, lib, lib, one, lib))
	rules := []jptool.FsRule{
		jptooltest.Rule("", "read"), jptooltest.Mount("fork", lib, "read"), jptooltest.Mount("notes.txt", one, "read"),
		jptooltest.Rule("fork/secret", ""),
	}
	ws := jptooltest.Open(t, root, rules...)
	for _, c := range []struct{ starts, want string }{
		// The other links to the same place are no mounts, and symlinks in a mount are not followed.
		{".", ".gitignore fork/.gitignore fork/a notes.txt src/x"},
		{"fork", "fork/.gitignore fork/a"},
		{"fork/a", "fork/a"},
		{"fork/b.o", "fork/b.o"},
		// A mount of a file.
		{"notes.txt", "notes.txt"},
		{"note", "notes.txt"},
		{"src notes.txt fork/a", "fork/a notes.txt src/x"},
	} {
		t.Run(c.starts, func(t *testing.T) {
			paths, _ := listed(t, ws, Options{Starts: strings.Fields(c.starts)})
			if got := strings.Join(paths, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
	t.Run("in a root that is not readable", func(t *testing.T) {
		ws := jptooltest.Open(t, root, rules[1:]...)
		paths, _ := listed(t, ws, Options{})
		if got := strings.Join(paths, " "); got != "fork/.gitignore fork/a notes.txt" {
			t.Errorf("got %s", got)
		}
	})
	t.Run("without read", func(t *testing.T) {
		ws := jptooltest.Open(t, root, rules[0], jptooltest.Mount("fork", lib, "write"))
		paths, r := listed(t, ws, Options{})
		if got := strings.Join(paths, " "); got != ".gitignore src/x" || r.Skipped.Denied != 1 {
			t.Errorf("got %s, %+v", got, r.Skipped)
		}
	})
	t.Run("suppressed by the mount's name", func(t *testing.T) {
		paths, r := listed(t, ws, Options{Suppress: globs("fork/a")})
		if got := strings.Join(paths, " "); got != ".gitignore fork/.gitignore notes.txt src/x" || r.Skipped.Suppressed != 1 {
			t.Errorf("got %s, %+v", got, r.Skipped)
		}
	})
	t.Run("of a directory that holds the workspace", func(t *testing.T) {
		above := jptooltest.TempRoot(t)
		jptooltest.Tree(t, above, "file ws/x x", "file y y", "symlink ws/up "+above)
		ws := jptooltest.Open(t, above+"/ws", jptooltest.Rule("", "read"), jptooltest.Mount("up", above, "read"))
		paths, _ := listed(t, ws, Options{})
		if got := strings.Join(paths, " "); got != "up/y x" {
			t.Errorf("got %s", got)
		}
	})
}

func TestStartsThatCannotBeUsed(t *testing.T) {
	root := tree(t, `file a x; fifo pipe; symlink gone nowhere; symlink out /etc; file hid/x x`)
	ws := jptooltest.Open(t, root)
	for _, c := range []struct {
		start string
		code  jptool.Code
	}{
		{"/etc", jptool.CodeAbsolutePath},
		{"../x", jptool.CodePathEscape},
		{"a/../../x", jptool.CodePathEscape},
		{"out", jptool.CodePathEscape},
		{"out/passwd", jptool.CodePathEscape},
		{"gone", jptool.CodeNotFound},
		{"pipe", jptool.CodeWrongType},
		{"missing/", jptool.CodeNotFound},
		{"a/b", jptool.CodeWrongType},
		{"hid", jptool.CodeSuppressed},
		{"hid/x", jptool.CodeSuppressed},
		{"x\x00", jptool.CodeInvalidArguments},
	} {
		o := Options{Starts: []string{c.start}, Suppress: globs("hid")}
		paths, _, err := collect(ws, o)
		if jptool.CodeOf(err) != c.code || len(paths) > 0 || strings.Contains(err.Error(), root) {
			t.Errorf("%q: got %q, %v; want code %s", c.start, paths, err, c.code)
		}
		// With another one it is only told.
		o.Starts = append(o.Starts, "a")
		paths, r := listed(t, ws, o)
		if strings.Join(paths, " ") != "a" || r.Starts[0].Err == nil || len(r.Notes()) != 1 {
			t.Errorf("%q with another start: got %q, %v", c.start, paths, r.Notes())
		}
	}
	paths, r := listed(t, ws, Options{Starts: []string{"nothing/so", "zzz"}})
	if len(paths) > 0 || !r.Starts[0].Nothing || !r.Starts[1].Nothing || len(r.Notes()) != 2 {
		t.Errorf("beginnings of no name: %q, %v", paths, r.Notes())
	}
}

func TestNamesThatAreNotUTF8(t *testing.T) {
	root := tree(t, `file ok x; dir d`)
	for _, name := range []string{"bad\xff", "d/\xc3"} {
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o666); err != nil {
			t.Skipf("this file system takes no such names: %v", err)
		}
	}
	if err := os.Mkdir(filepath.Join(root, "\x80dir"), 0o777); err != nil {
		t.Fatal(err)
	}
	paths, r := listed(t, jptooltest.Open(t, root), Options{})
	if strings.Join(paths, " ") != "ok" || r.Skipped.NotAddressable != 3 {
		t.Errorf("got %q, %+v", paths, r.Skipped)
	}
}

func TestContextEnds(t *testing.T) {
	root := tree(t, `file a/1 x; file a/2 x; file b/3 x; file c/4 x`)
	ws := jptooltest.Open(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	var paths []string
	r, err := Walk(ctx, ws, Options{}, func(b *Batch) error {
		paths = append(paths, b.Paths...)
		cancel()
		return nil
	})
	if err != nil || !errors.Is(r.Ended, context.Canceled) || strings.Join(paths, " ") != "a/1 a/2" {
		t.Errorf("got %q, %v, ended %v", paths, err, r.Ended)
	}
	stop := errors.New("stop")
	if _, err := Walk(t.Context(), ws, Options{}, func(*Batch) error { return stop }); err != stop {
		t.Errorf("an error of emit: got %v", err)
	}
}

func TestCompare(t *testing.T) {
	order := []string{"", ".a", "a", "a/b", "a/b/c", "a-b", "a.b", "a.b/c", "ab", "b"}
	for i, a := range order {
		for j, b := range order {
			if got := Compare(a, b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("Compare(%q, %q) = %d", a, b, got)
			}
		}
	}
}

func TestFilterRefusesWhatCannotMatch(t *testing.T) {
	for _, g := range []string{"/abs/*", "../x", "a/../b", "a//b", "[a", "{a,b", "!a", "a/./b"} {
		if _, err := NewFilter(nil, []string{g}); jptool.CodeOf(err) != jptool.CodeInvalidArguments {
			t.Errorf("glob %q: %v", g, err)
		}
	}
	if _, err := NewFilter([]string{"*.{a,b}"}, nil); jptool.CodeOf(err) != jptool.CodeInvalidArguments {
		t.Error("an extension with wildcards was taken")
	}
}
