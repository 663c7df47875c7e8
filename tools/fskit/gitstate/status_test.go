package gitstate

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool/wspath"
)

// fill makes a history with trees that are worth a delta, and one file of each state.
func fill(g gitRepo) map[string]State {
	g.Helper()
	for i := range 120 {
		g.write(fmt.Sprintf("many/some_long_file_name_%03d", i), fmt.Sprint(i))
	}
	g.commit("many")
	for i := range 4 {
		g.write(fmt.Sprintf("many/some_long_file_name_%03d", i), "again")
		g.commit("again")
	}
	want := map[string]State{}
	tracked := []string{
		"clean", "deep/er/clean", "touched", "modified", "samesize", "grown", "staged", "both", "rmcached", "deleted",
		"exec", "tolink", "todir", "assumed", "assumedgone", "a b", "new\nline", "ünï", ":colon", "a*b", "-dash", "[x]", "back\\slash",
		"\xff\xfe", "deep/modified", "tracked.ignored", "conflict", "new\nline modified",
	}
	for _, name := range tracked {
		g.write(name, "content of "+name)
		want[name] = Clean
	}
	g.write(".gitignore", "*.ignored\n/build/\n!keep.ignored\n")
	g.must(os.Symlink("clean", filepath.Join(g.dir, "link")))
	g.must(os.Symlink("clean", filepath.Join(g.dir, "relink")))
	g.must(os.Symlink("nowhere", filepath.Join(g.dir, "dangling")))
	g.must(os.Symlink("clean", filepath.Join(g.dir, "tofile")))
	g.git("add", "-f", "--", "tracked.ignored")
	g.commit("files")
	want["link"], want["dangling"], want["many/some_long_file_name_001"], want[".gitignore"] = Clean, Clean, Clean, Clean

	at := filepath.Join(g.dir, "samesize")
	info, err := os.Lstat(at)
	g.must(err)
	g.write("samesize", "CONTENT of samesize")
	g.must(os.Chtimes(at, info.ModTime(), info.ModTime()))
	g.must(os.Chtimes(filepath.Join(g.dir, "touched"), time.Now(), time.Now().Add(-time.Hour)))
	for _, name := range []string{"modified", "deep/modified", "both", "new\nline modified"} {
		g.write(name, "old")
	}
	g.write("grown", strings.Repeat("x", 200_000))
	g.write("staged", "new")
	g.git("add", "staged", "both")
	g.write("both", "newer")
	g.write("added", "new")
	g.write("deep/intent", "new")
	g.git("add", "added")
	g.git("add", "-N", "deep/intent")
	g.git("rm", "-q", "--cached", "rmcached")
	for _, name := range []string{"deleted", "tolink", "todir", "tofile", "relink", "assumedgone"} {
		g.must(os.Remove(filepath.Join(g.dir, name)))
	}
	g.must(os.Symlink("clean", filepath.Join(g.dir, "tolink")))
	g.must(os.Symlink("clean2", filepath.Join(g.dir, "relink")))
	g.write("tofile", "clean")
	g.write("todir/inner", "new")
	g.must(os.Chmod(filepath.Join(g.dir, "exec"), 0o755))
	g.git("update-index", "--assume-unchanged", "assumed", "assumedgone")
	g.write("assumed", "new")
	for _, name := range []string{
		"untracked", "dir/untracked", "keep.ignored", "un\ntracked", ":(top)x",
		"x.ignored/keep.ignored", "y.ignored", "build/x", "build/deep/y", // git has no ignored files either
	} {
		g.write(name, "new")
		want[name] = Untracked
	}
	blob := strings.TrimSpace(g.input("stage", "hash-object", "-w", "--stdin"))
	zero := strings.Repeat("0", len(blob))
	g.input(fmt.Sprintf("0 %s\tconflict\n100644 %s 2\tconflict\n100644 %s 3\tconflict\n", zero, blob, blob),
		"update-index", "--index-info")

	for _, name := range []string{
		"modified", "samesize", "grown", "both", "deleted", "exec", "tolink", "tofile", "relink", "deep/intent",
		"assumed", "deep/modified", "conflict", "new\nline modified",
	} {
		want[name] = Modified
	}
	want["staged"], want["added"], want["rmcached"] = Staged, Staged, Staged
	want["todir/inner"], want["todir"] = Untracked, Unknown
	want["deep"], want[".git/config"], want["a/../clean"], want["/clean"] = Unknown, Unknown, Unknown, Unknown
	want["not there"], want["deep/not/there"], want["clean/below a file"] = Clean, Clean, Clean
	return want
}

func TestStates(t *testing.T) {
	variants := []struct {
		name   string
		init   []string
		prefix string
		after  func(g gitRepo)
	}{
		{name: "loose"},
		{name: "below the root", prefix: "some/where"},
		{name: "packed", after: func(g gitRepo) {
			g.git("gc", "-q")
			if !strings.Contains(g.git("verify-pack", "-v", onePack(g)), "chain length") {
				g.Fatal("no deltas in the pack")
			}
			if _, err := os.Stat(filepath.Join(g.dir, ".git/refs/heads/main")); err == nil {
				g.Fatal("the ref is not packed")
			}
		}},
		{name: "packed with named bases", after: func(g gitRepo) {
			g.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-q", "-a", "-d", "-f")
		}},
		{name: "index version 4", after: func(g gitRepo) { g.git("update-index", "--index-version", "4"); indexVersion(g, 4) }},
		{name: "sha256", init: []string{"--object-format=sha256"}},
		{name: "sha256 packed", init: []string{"--object-format=sha256"}, after: func(g gitRepo) {
			g.git("gc", "-q")
			g.git("update-index", "--index-version", "4")
		}},
		{name: "detached", after: func(g gitRepo) {
			g.must(os.WriteFile(filepath.Join(g.dir, ".git/HEAD"), []byte(g.git("rev-parse", "HEAD")), 0o644))
		}},
		{name: "no checksum", after: func(g gitRepo) {
			file := filepath.Join(g.dir, ".git/index")
			data, err := os.ReadFile(file)
			g.must(err)
			clear(data[len(data)-20:])
			g.must(os.WriteFile(file, data, 0o644))
		}},
		{name: "separate git dir", init: []string{"--separate-git-dir=../away/repo.git"}, prefix: "work"},
	}
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			root := realTemp(t)
			needGit(t)
			if len(v.init) > 0 && strings.HasPrefix(v.init[0], "--separate") {
				if err := os.MkdirAll(filepath.Join(root, "away"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			g := initRepo(t, filepath.Join(root, v.prefix), v.init...)
			want := fill(g)
			if v.after != nil {
				v.after(g)
			}
			check(t, root, v.prefix, want)
			dirty := g.porcelain()
			delete(dirty, "assumed")
			got := CountDirty(t.Context(), dirFS{root: root}, v.prefix, 0, Options{Root: root})
			if got.Unknown || got.Dirty != len(dirty)+1 { // git does not look at "assumed"
				t.Errorf("counted %+v, git has %d and one it does not look at", got, len(dirty))
			}
			if got := CountDirty(t.Context(), dirFS{root: root}, v.prefix, 3, Options{Root: root}); got.Dirty != 3 || !got.More {
				t.Errorf("with a limit of 3 counted %+v", got)
			}
			for dir, n := range map[string]int{"deep": 2, "many": 0, "build": 2, "todir": 1, "dir": 1, "gone": 0, "x.ignored": 1} {
				got := CountDirty(t.Context(), dirFS{root: root}, wspath.JoinSlash(v.prefix, dir), 0, Options{Root: root})
				if got.Unknown || got.Dirty != n {
					t.Errorf("below %s counted %+v, want %d", dir, got, n)
				}
			}
		})
	}
}

// porcelain gives the paths that git lists as dirty.
func (g gitRepo) porcelain() map[string]bool {
	g.Helper()
	dirty := map[string]bool{}
	for line := range strings.SplitSeq(g.git("status", "--porcelain", "-z", "-uall", "--ignored=traditional", "--no-renames"), "\x00") {
		if len(line) > 3 {
			dirty[strings.TrimSuffix(line[3:], "/")] = true
		}
	}
	return dirty
}

func onePack(g gitRepo) string {
	packs, err := filepath.Glob(filepath.Join(g.dir, ".git/objects/pack/*.idx"))
	if err != nil || len(packs) != 1 {
		g.Fatal("packs: ", packs, err)
	}
	return packs[0]
}

func indexVersion(g gitRepo, want uint32) {
	g.Helper()
	data, err := os.ReadFile(filepath.Join(g.dir, ".git/index"))
	g.must(err)
	if got := binary.BigEndian.Uint32(data[4:]); got != want {
		g.Fatalf("the index has version %d, want %d", got, want)
	}
}

func TestIndexVersion2(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("a/b", "x")
	g.write("long/"+strings.Repeat(strings.Repeat("d", 200)+"/", 12)+"f", "x") // 0xfff does not hold its length
	g.write("c", "x")
	g.must(os.MkdirAll(filepath.Join(root, "e"), 0o755))
	g.commit("1")
	indexVersion(g, 2)
	g.write("c", "y")
	check(t, root, "", map[string]State{"a/b": Clean, "c": Modified, "long/" + strings.Repeat(strings.Repeat("d", 200)+"/", 12) + "f": Clean})
}

func TestSkipWorktree(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("in/a", "x")
	g.write("out/a", "x")
	g.write("out/b", "x")
	g.commit("1")
	g.git("sparse-checkout", "set", "--no-cone", "/in/")
	indexVersion(g, 3)
	g.write("out/b", "local")
	check(t, root, "", map[string]State{"in/a": Clean, "out/a": Clean, "out/b": Modified})
	if got := CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{}); got.Dirty != 1 || got.Unknown {
		t.Error(got)
	}
}

func TestUnborn(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("new", "x")
	check(t, root, "", map[string]State{"new": Untracked, "none": Clean}) // there is not even an index
	g.write("added", "x")
	g.git("add", "added")
	check(t, root, "", map[string]State{"new": Untracked, "added": Staged})
}

func TestNoRepository(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, filepath.Join(root, "projects/one"))
	g.write("a", "x")
	g.write("b", "x")
	g.must(os.WriteFile(filepath.Join(root, "projects/plain"), nil, 0o644))
	check(t, root, "", map[string]State{"projects/plain": Clean, "projects/one/a": Untracked})
	if got := CountDirty(t.Context(), dirFS{root: root}, "projects", 0, Options{}); got.Dirty != 2 || got.Unknown {
		t.Errorf("a repository below a plain directory: %+v", got)
	}
	got := Status(t.Context(), dirFS{root: root}, "projects/plain", Options{Enclosed: true})
	if got.State != Unknown {
		t.Errorf("with a repository above the root: %+v", got)
	}
	if got := CountDirty(t.Context(), dirFS{root: root}, "projects", 0, Options{Enclosed: true}); !got.Unknown {
		t.Errorf("with a repository above the root: %+v", got)
	}
}

func TestFileMode(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("a", "x")
	g.commit("1")
	g.must(os.Chmod(filepath.Join(root, "a"), 0o755))
	check(t, root, "", map[string]State{"a": Modified})
	g.git("config", "core.fileMode", "false")
	check(t, root, "", map[string]State{"a": Clean})
}

func TestLineEnds(t *testing.T) {
	for _, c := range []struct {
		name, config, attributes string
		content                  string
		want                     State
	}{
		{"no conversion", "", "", "a\r\nb\r\n", Modified},
		{"autocrlf", "core.autocrlf=true", "", "a\r\nb\r\n", Clean},
		{"autocrlf and a change", "core.autocrlf=true", "", "a\r\nB\r\n", Modified},
		{"autocrlf input", "core.autocrlf=input", "", "a\r\nb\r\n", Clean},
		{"autocrlf false", "core.autocrlf=false", "", "a\r\nb\r\n", Modified},
		{"text", "", "*.txt text", "a\r\nb\r\n", Clean},
		{"text, mixed", "", "*.txt text", "a\nb\r\n", Clean},
		{"text auto", "", "* text=auto", "a\r\nb\r\n", Clean},
		{"eol", "", "*.txt eol=crlf", "a\r\nb\r\n", Clean},
		{"not text", "core.autocrlf=true", "*.txt -text", "a\r\nb\r\n", Modified},
		{"binary", "core.autocrlf=true", "*.txt binary", "a\r\nb\r\n", Modified},
		{"last one wins", "", "* text\n*.txt -text\n", "a\r\nb\r\n", Modified},
		{"other file", "", "*.md text\n", "a\r\nb\r\n", Modified},
		{"filter", "", "*.txt filter=lfs", "a\r\nb\r\n", Unknown},
		{"filter, unchanged", "", "*.txt filter=lfs", "a\nb\n", Clean},
		{"ident", "", "* ident", "a\nb\nc", Unknown},
		{"encoding", "", "* working-tree-encoding=UTF-16", "a\nb\nc", Unknown},
		{"macro", "", "[attr]m text\n*.txt m", "a\r\nb\r\n", Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := realTemp(t)
			g := initRepo(t, root)
			g.write("d/f.txt", "a\nb\n")
			g.commit("1")
			if key, value, ok := strings.Cut(c.config, "="); ok {
				g.git("config", key, value)
			}
			if c.attributes != "" {
				g.write("d/.gitattributes", c.attributes+"\n")
			}
			g.write("d/f.txt", c.content)
			check(t, root, "", map[string]State{"d/f.txt": c.want})
			if c.want != Unknown {
				// A changed size hides an unchanged file from git; adding it in a copy of the index does not.
				g.git("add", "d/f.txt")
				changed := g.git("diff", "--cached", "--name-only", "--", "d/f.txt") != ""
				if changed != (c.want != Clean) {
					t.Errorf("git: changed %v, want %s", changed, c.want)
				}
			}
		})
	}
}

// TestLineEndsOfBinaryFiles: git's automatic conversion leaves files with a NUL or a lone CR alone, "text" does not.
func TestLineEndsOfBinaryFiles(t *testing.T) {
	for _, committed := range []string{"a\nb\x00\n", "a\nb\rc\n", "a\nb\n\r", "a\n\r\r\n"} {
		for attributes, want := range map[string]State{"* text=auto": Modified, "* text": Clean} {
			root := realTemp(t)
			g := initRepo(t, root)
			text := strings.ReplaceAll(committed, "\r\n", "\n")
			g.write("f", text)
			g.commit("1")
			g.write(".gitattributes", attributes+"\n")
			g.write("f", strings.ReplaceAll(text, "\n", "\r\n"))
			check(t, root, "", map[string]State{"f": want})
			g.git("add", "f")
			if changed := g.git("diff", "--cached", "--name-only", "--", "f") != ""; changed != (want != Clean) {
				t.Errorf("git with %s, %q: changed %v", attributes, committed, changed)
			}
		}
	}
}

func TestCheckedOutWithCRLF(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.git("config", "core.autocrlf", "true")
	g.write("f", strings.Repeat("line\n", 40_000))
	g.commit("1")
	g.must(os.Remove(filepath.Join(root, "f")))
	g.git("checkout", "-q", "f")
	data, err := os.ReadFile(filepath.Join(root, "f"))
	if err != nil || !strings.HasPrefix(string(data), "line\r\n") {
		t.Fatalf("git wrote %.10q, %v", data, err)
	}
	check(t, root, "", map[string]State{"f": Clean})
	g.write("f", strings.Repeat("line\n", 40_000)) // as committed, with another size than in the index
	check(t, root, "", map[string]State{"f": Clean})
}
