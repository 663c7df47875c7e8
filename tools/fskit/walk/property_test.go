package walk

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// A walk finds what the obvious program finds: all files, less those that git ignores,
// less those for which CheckRead fails.
func TestAgainstTheObviousProgram(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git to compare with")
	}
	names := []string{"a", "b", "b.o", "c.log", "d-e", "Z", ".h", "ü"}
	patterns := []string{"*.o", "*.log", "/a", "b/", "!b.o", "a/b", "**/c.log", "*", "!*/", "!a", "d-?", "/b/**", "#x", ".h"}
	listed, withheld := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		root := jptooltest.TempRoot(t)
		defer os.RemoveAll(root)
		dirs := []string{""}
		for range rapid.IntRange(1, 8).Draw(rt, "dirs") {
			dir := filepath.Join(rapid.SampledFrom(dirs).Draw(rt, "parent"), rapid.SampledFrom(names).Draw(rt, "dir"))
			if err := os.Mkdir(filepath.Join(root, dir), 0o777); err == nil {
				dirs = append(dirs, dir)
			}
		}
		files := 0
		for range rapid.IntRange(1, 16).Draw(rt, "files") {
			path := filepath.Join(root, rapid.SampledFrom(dirs).Draw(rt, "in"), rapid.SampledFrom(names).Draw(rt, "file"))
			if rapid.IntRange(0, 9).Draw(rt, "link") == 0 {
				_ = os.Symlink(rapid.SampledFrom([]string{"a", "..", "b"}).Draw(rt, "to"), path)
			} else if f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666); err == nil {
				f.Close()
				files++
			}
		}
		for range rapid.IntRange(0, 3).Draw(rt, "ignore files") {
			path := filepath.Join(root, rapid.SampledFrom(dirs).Draw(rt, "in"), ".gitignore")
			lines := rapid.SliceOfN(rapid.SampledFrom(patterns), 1, 4).Draw(rt, "patterns")
			_ = os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666)
		}
		rules := map[string]string{}
		for range rapid.IntRange(0, 4).Draw(rt, "rules") {
			path := rapid.SampledFrom(dirs).Draw(rt, "on")
			if rapid.Bool().Draw(rt, "below") {
				path = filepath.Join(path, rapid.SampledFrom(append(names, ".gitignore")).Draw(rt, "entry"))
			}
			rules[path] = rapid.SampledFrom([]string{"read", "", "write"}).Draw(rt, "caps")
		}
		var list_ []jptool.FsRule
		for path, caps := range rules {
			if fi, err := os.Lstat(filepath.Join(root, path)); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
				continue
			}
			list_ = append(list_, jptooltest.Rule(path, caps))
		}
		ctx := jptool.Context{Root: root, Action: jptool.Run}
		if len(list_) > 0 {
			ctx.Access = &jptool.AccessPolicy{FS: list_}
		}
		ws, err := ctx.Open()
		if err != nil {
			rt.Skip(err)
		}
		defer ws.Close()

		want := obvious(rt, root, ws)
		v := rapid.SampledFrom(variants).Draw(rt, "variant")
		restore := v.set()
		got, _, err := collect(ws, Options{})
		restore()
		if err != nil && jptool.CodeOf(err) == jptool.CodeAccessDenied && len(want) == 0 {
			return
		}
		if err != nil || !slices.Equal(got, want) {
			rt.Fatalf("%s: got %q (%v)\nwant %q\nrules %v", v.name, got, err, want, rules)
		}
		listed += len(want)
		withheld += files - len(want)
	})
	if listed == 0 || withheld == 0 {
		t.Errorf("%d files listed and %d withheld: the test says nothing", listed, withheld)
	}
}

func obvious(rt *rapid.T, root string, ws *jptool.Workspace) []string {
	// git sees only the ignore files that may be read.
	var all, hidden []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.Type().IsRegular() {
			all = append(all, rel)
			if _, err := ws.CheckRead(rel); err != nil && d.Name() == ".gitignore" {
				hidden = append(hidden, path)
			}
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
	for _, h := range hidden {
		if err := os.Rename(h, h+".hidden"); err != nil {
			rt.Fatal(err)
		}
	}
	defer func() {
		for _, h := range hidden {
			os.Rename(h+".hidden", h)
		}
	}()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "core.excludesFile=", "-C", root}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		cmd.Stdin = strings.NewReader(in)
		var out, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &stderr
		if err := cmd.Run(); err != nil && (cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1) {
			rt.Fatal(fmt.Errorf("git %v: %w: %s", args, err, &stderr))
		}
		return out.String()
	}
	git("", "init", "-q")
	defer os.RemoveAll(filepath.Join(root, ".git"))
	ignored := strings.Split(git(strings.Join(all, "\x00"), "check-ignore", "--stdin", "-z", "--no-index"), "\x00")
	want := []string{}
	for _, path := range all {
		_, err := ws.CheckRead(path)
		if err == nil && !slices.Contains(ignored, path) {
			want = append(want, path)
		}
	}
	slices.SortFunc(want, Compare)
	return want
}
