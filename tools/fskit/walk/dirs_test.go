package walk

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// lines walks with directories: files, and directories with their numbers, in order.
func lines(t require, ws *jptool.Workspace, o Options) (list []string, r *Result) {
	var dirs []*Dir
	var at []int
	o.OnDir = func(d *Dir) {
		dirs, at = append(dirs, d), append(at, len(list))
		list = append(list, "")
	}
	r, err := Walk(context.Background(), ws, o, func(b *Batch) error {
		list = append(list, b.Paths...)
		return nil
	})
	if code := jptool.CodeOf(err); err != nil && code != jptool.CodeAccessDenied && code != jptool.CodeSuppressed {
		t.Fatalf("%+v: %v", o, err)
	}
	for i, d := range dirs {
		list[at[i]] = fmt.Sprintf("%s/%d%s", d.Path, d.Files, map[bool]string{true: "+"}[d.AtLeast])
	}
	return list, r
}

// require is what tests and properties have in common.
type require = rapid.TB

func TestDirectoriesWithNumbers(t *testing.T) {
	const usual = `file a.go x; file b/c.go x; file b/d.md x; file b.txt x; file z/deep/er/f.go x; file z/g.md x; dir empty; dir z/void;
		file out/x x; file .gitignore out/\n*.log; file z/deep/y.log x; file .git/config x; symlink link b`
	rule := jptooltest.Rule
	for _, c := range []struct {
		name  string
		o     Options
		rules []jptool.FsRule
		ext   string
		want  string
	}{
		{name: "the first level", o: Options{MaxDepth: 1}, want: ".gitignore a.go b/2 b.txt empty/0 z/2"},
		{name: "the second level", o: Options{MaxDepth: 2}, want: ".gitignore a.go b/c.go b/d.md b.txt z/deep/1 z/g.md z/void/0"},
		{name: "a start", o: Options{MaxDepth: 1, Starts: []string{"z"}}, want: "z/deep/1 z/g.md z/void/0"},
		{name: "a start in what is only counted", o: Options{MaxDepth: 1, Starts: []string{".", "z/deep/er"}}, want: ".gitignore a.go b/2 b.txt empty/0 z/2 z/deep/er/f.go"},
		{name: "a file in what is only counted", o: Options{MaxDepth: 1, Starts: []string{".", "z/g.md"}}, want: ".gitignore a.go b/2 b.txt empty/0 z/2 z/g.md"},
		{name: "only with a file that is selected", o: Options{MaxDepth: 1}, ext: "md", want: "b/1 z/1"},
		{name: "without ignore files", o: Options{MaxDepth: 1, NoIgnore: true}, want: ".gitignore a.go b/2 b.txt empty/0 out/1 z/3"},
		{name: "suppressed", o: Options{MaxDepth: 1, Suppress: globs("b/ *.md")}, want: ".gitignore a.go b.txt empty/0 z/1"},
		{name: "after a directory", o: Options{MaxDepth: 1, After: "b"}, want: "b.txt empty/0 z/2"},
		{name: "after a file in one", o: Options{MaxDepth: 1, After: "b/c.go"}, want: "b.txt empty/0 z/2"},
		{name: "the tree", o: Options{Tree: true}, want: "/7 b/2 empty/0 z/2 z/deep/1 z/deep/er/1 z/void/0"},
		{name: "the tree of a start", o: Options{Tree: true, Starts: []string{"z"}}, want: "z/2 z/deep/1 z/deep/er/1 z/void/0"},
		{name: "a level of the tree", o: Options{Tree: true, MaxDepth: 1}, want: "/7 b/2 empty/0 z/2"},
		{name: "the tree with a selection", o: Options{Tree: true}, ext: "md", want: "/2 b/1 z/1"},
		{name: "the tree after", o: Options{Tree: true, After: "z"}, want: "z/deep/1 z/deep/er/1 z/void/0"},
		{name: "the tree after something in it", o: Options{Tree: true, After: "z/deep/a"}, want: "z/deep/er/1 z/void/0"},
		{name: "what rules grant", o: Options{Tree: true}, rules: []jptool.FsRule{rule("", "read"), rule("b", ""), rule("z", ""), rule("z/deep", "read")}, want: "/4 empty/0 z/1 z/deep/1 z/deep/er/1"},
		{name: "what lies in a directory that is passed through", o: Options{MaxDepth: 1}, rules: []jptool.FsRule{rule("z/deep", "read"), rule("b/none", "read")}, want: "z/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ws := jptooltest.Open(t, tree(t, usual), c.rules...)
			var err error
			if c.o.Filter, err = NewFilter(strings.Fields(c.ext), nil); err != nil {
				t.Fatal(err)
			}
			for _, v := range variants {
				restore := v.set()
				list, r := lines(t, ws, c.o)
				restore()
				if got := strings.Join(list, " "); got != c.want {
					t.Errorf("%s: got  %s\nwant %s", v.name, got, c.want)
				}
				if r.Skipped.Deeper != 0 {
					t.Errorf("%d directories count as left out", r.Skipped.Deeper)
				}
			}
		})
	}
}

// The numbers are those of a walk that shows everything, whatever is shown of it, and pages fit together.
func TestNumbersAreThoseOfAFullWalk(t *testing.T) {
	names := []string{"a", "b", "b.o", "d-e", ".h"}
	counted := int64(0)
	rapid.Check(t, func(rt *rapid.T) {
		root := jptooltest.TempRoot(t)
		defer os.RemoveAll(root)
		dirs := []string{""}
		for range rapid.IntRange(1, 10).Draw(rt, "dirs") {
			dir := path.Join(rapid.SampledFrom(dirs).Draw(rt, "parent"), rapid.SampledFrom(names).Draw(rt, "dir"))
			if os.Mkdir(filepath.Join(root, dir), 0o777) == nil {
				dirs = append(dirs, dir)
			}
		}
		for range rapid.IntRange(1, 16).Draw(rt, "files") {
			file := filepath.Join(root, rapid.SampledFrom(dirs).Draw(rt, "in"), rapid.SampledFrom([]string{"x", "y.go", "a", ".gitignore"}).Draw(rt, "file"))
			_ = os.WriteFile(file, []byte(rapid.SampledFrom([]string{"b/", "*.go", "/a"}).Draw(rt, "content")), 0o666) // a directory may be there
		}
		var rules []jptool.FsRule
		if rapid.Bool().Draw(rt, "policy") {
			rules = []jptool.FsRule{jptooltest.Rule("", "read")}
			for _, on := range rapid.SliceOfNDistinct(rapid.SampledFrom(dirs), 0, 3, rapid.ID[string]).Draw(rt, "rules") {
				if on != "" {
					rules = append(rules, jptooltest.Rule(on, rapid.SampledFrom([]string{"read", ""}).Draw(rt, "caps")))
				}
			}
		}
		ws := jptooltest.Open(t, root, rules...)
		o := Options{}
		if rapid.Bool().Draw(rt, "one kind") {
			var err error
			if o.Filter, err = NewFilter([]string{"go"}, nil); err != nil {
				rt.Fatal(err)
			}
		}
		v := rapid.SampledFrom(variants).Draw(rt, "variant")
		defer v.set()()
		all, _, err := collect(ws, o)
		if err != nil {
			rt.Fatal(err)
		}
		o.Tree = rapid.Bool().Draw(rt, "tree")
		o.MaxDepth = rapid.IntRange(map[bool]int{true: 0, false: 1}[o.Tree], 4).Draw(rt, "depth")
		shown, _ := lines(rt, ws, o)
		var got []string
		for _, line := range shown {
			if !strings.HasSuffix(line, "/0") { // an empty directory is in no list of files
				got = append(got, line)
			}
		}
		want := expected(all, o)
		if !slices.Equal(got, want) {
			rt.Fatalf("of %q\ngot  %q\nwant %q", all, got, want)
		}
		counted += int64(len(want))
		if len(shown) < 2 {
			return
		}
		cut := rapid.IntRange(0, len(shown)-2).Draw(rt, "cut")
		o.After = shown[cut]
		if dir, last := path.Split(o.After); last[0] >= '0' && last[0] <= '9' { // no file here has such a name
			o.After = strings.TrimSuffix(dir, "/")
		}
		if o.After == "" {
			return // the root, after which everything comes
		}
		if rest, _ := lines(rt, ws, o); !slices.Equal(rest, shown[cut+1:]) {
			rt.Fatalf("after %q\ngot  %q\nwant %q", o.After, rest, shown[cut+1:])
		}
	})
	if counted == 0 {
		t.Error("nothing was ever shown")
	}
}

// expected makes the lines of a walk from all its files.
func expected(all []string, o Options) []string {
	numbers := map[string]int{}
	var order, list []string
	note := func(dir string) {
		if numbers[dir]++; numbers[dir] == 1 {
			order = append(order, dir)
		}
	}
	for _, file := range all {
		parts := strings.Split(file, "/")
		if o.Tree {
			note("")
		} else if len(parts) <= o.MaxDepth {
			order = append(order, file+"\x00")
		}
		for depth := 1; depth < len(parts); depth++ {
			if o.Tree && (o.MaxDepth == 0 || depth <= o.MaxDepth) || !o.Tree && depth == o.MaxDepth {
				note(strings.Join(parts[:depth], "/"))
			}
		}
	}
	for _, one := range order {
		if file, ok := strings.CutSuffix(one, "\x00"); ok {
			list = append(list, file)
		} else {
			list = append(list, fmt.Sprintf("%s/%d", one, numbers[one]))
		}
	}
	return list
}

// Counting what is not shown ends in time, and then says so.
func TestCountingEnds(t *testing.T) {
	text := "file top x"
	for i := range 200 {
		text += fmt.Sprintf("; file a/%d/%d/x x", i, i)
	}
	ws := jptooltest.Open(t, tree(t, text))
	list, r := lines(t, ws, Options{MaxDepth: 1, CountTime: time.Nanosecond})
	if got := strings.Join(list, " "); got != "a/0+ top" && got != "a/200 top" && !strings.HasSuffix(strings.TrimSuffix(got, " top"), "+") || r.Ended != nil {
		t.Errorf("got %s, %v", got, r.Ended)
	}
	if list, _ = lines(t, ws, Options{MaxDepth: 1, CountTime: time.Hour}); strings.Join(list, " ") != "a/200 top" {
		t.Errorf("got %q", list)
	}
}
