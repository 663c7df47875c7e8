package gitstate

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestWorktree(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, filepath.Join(root, "repo"))
	g.write("a", "x")
	g.write("b", "x")
	g.commit("1")
	g.git("worktree", "add", "-q", "../linked", "-b", "other")
	g.write("../linked/a", "y")
	g.write("../linked/c", "y")
	g.git("-C", "../linked", "add", "c")
	g.write("../linked/excluded", "y")
	g.write(".git/info/exclude", "excluded\n")
	want := map[string]State{"linked/a": Modified, "linked/b": Clean, "linked/c": Staged, "linked/excluded": Untracked, "repo/a": Clean}
	check(t, root, "", want)
	for name, opt := range map[string]Options{"no root": {}, "other root": {Root: root + "x"}, "root below": {Root: filepath.Join(root, "linked")}} {
		if got := Status(t.Context(), dirFS{root: root}, "linked/b", opt); got.State != Unknown {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// A relative link needs no root.
	g.write("../linked/.git", "gitdir: ../repo/.git/worktrees/linked\n")
	if got := Status(t.Context(), dirFS{root: root}, "linked/b", Options{}); got.State != Clean {
		t.Errorf("relative: %+v", got)
	}
	g.git("config", "extensions.worktreeConfig", "true")
	g.git("-C", "../linked", "config", "--worktree", "core.fileMode", "false")
	g.must(os.Chmod(filepath.Join(root, "linked/b"), 0o755))
	g.must(os.Chmod(filepath.Join(root, "repo/b"), 0o755))
	check(t, root, "", map[string]State{"linked/b": Clean, "repo/b": Modified})
}

func TestWorktreeOfBareRepository(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, filepath.Join(root, "repo"))
	g.write("a", "x")
	g.commit("1")
	g.git("clone", "-q", "--bare", ".", "../bare.git")
	g.git("-C", "../bare.git", "worktree", "add", "-q", "../linked", "main")
	check(t, root, "", map[string]State{"linked/a": Clean})
}

func TestSubmodule(t *testing.T) {
	root := realTemp(t)
	lib := initRepo(t, filepath.Join(root, "lib"))
	lib.write("in", "x")
	lib.commit("1")
	g := initRepo(t, filepath.Join(root, "app"))
	g.write("a", "x")
	g.git("submodule", "--quiet", "add", "../lib", "sub")
	g.commit("1")
	count := func(dir string) Count {
		t.Helper()
		return CountDirty(t.Context(), dirFS{root: root}, dir, 0, Options{Root: root})
	}
	check(t, root, "app", map[string]State{"a": Clean, "sub/in": Clean, "sub": Unknown, "sub/new": Clean})
	if got := count("app"); got != (Count{}) {
		t.Errorf("clean: %+v", got)
	}
	g.write("sub/in", "y")
	g.write("sub/new", "y")
	check(t, root, "app", map[string]State{"sub/in": Modified, "sub/new": Untracked})
	if got := count("app"); got.Dirty != 1 || got.Unknown {
		t.Errorf("changed submodule: %+v", got)
	}
	if got := count("app/sub"); got.Dirty != 2 || got.Unknown {
		t.Errorf("inside the submodule: %+v", got)
	}
	g.git("-C", "sub", "add", "-A")
	g.git("-C", "sub", "commit", "-q", "-m", "2")
	if got := count("app"); got.Dirty != 1 || got.Unknown {
		t.Errorf("other commit: %+v", got)
	}
	g.must(os.RemoveAll(filepath.Join(root, "app/sub")))
	g.must(os.Mkdir(filepath.Join(root, "app/sub"), 0o755))
	if got := count("app"); got != (Count{}) {
		t.Errorf("not checked out: %+v", got)
	}
	g.write("sub/stray", "x")
	check(t, root, "app", map[string]State{"sub/stray": Unknown})
	if got := count("app"); !got.Unknown {
		t.Errorf("files without a repository: %+v", got)
	}
	if got := count("app/sub"); !got.Unknown {
		t.Errorf("files without a repository: %+v", got)
	}
}

func TestNestedRepository(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write(".gitignore", "ignored/\n")
	g.commit("1")
	for _, dir := range []string{"nested", "ignored/nested"} {
		n := initRepo(t, filepath.Join(root, dir))
		n.write("a", "x")
		n.write("b", "x")
	}
	if got := CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{}); got.Dirty != 2 || got.Unknown {
		t.Errorf("from above: %+v", got)
	}
	if got := CountDirty(t.Context(), dirFS{root: root}, "nested", 0, Options{}); got.Dirty != 2 || got.Unknown {
		t.Errorf("itself: %+v", got)
	}
	if got := CountDirty(t.Context(), dirFS{root: root}, "ignored", 0, Options{}); got != (Count{Dirty: 1}) {
		t.Errorf("in an ignored directory: %+v", got)
	}
}

// TestUnknown breaks a healthy repository in every way we know; no answer may be Clean then.
func TestUnknown(t *testing.T) {
	type env struct {
		gitRepo
		fs dirFS
	}
	file := func(e env, name string) string { return filepath.Join(e.dir, name) }
	index := func(f func(b []byte) []byte) func(e env) {
		return func(e env) {
			b, err := os.ReadFile(file(e, ".git/index"))
			e.must(err)
			e.must(os.WriteFile(file(e, ".git/index"), f(b), 0o644))
		}
	}
	config := func(args ...string) func(e env) {
		return func(e env) { e.git(append([]string{"config"}, args...)...) }
	}
	for name, damage := range map[string]func(e env){
		"split index":     func(e env) { e.git("update-index", "--split-index") },
		"sparse index":    func(e env) { e.git("sparse-checkout", "set", "--sparse-index", "other") },
		"index checksum":  index(func(b []byte) []byte { b[30] ^= 1; return b }),
		"index truncated": index(func(b []byte) []byte { return b[:60] }),
		"index empty":     index(func([]byte) []byte { return nil }),
		"index version 5": index(func(b []byte) []byte { b[7] = 5; return b }),
		"index is a link": func(e env) {
			e.must(os.Rename(file(e, ".git/index"), file(e, "i")))
			e.must(os.Symlink("../i", file(e, ".git/index")))
		},
		"index is a directory": func(e env) { e.must(os.Remove(file(e, ".git/index"))); e.must(os.Mkdir(file(e, ".git/index"), 0o755)) },
		".git is a link": func(e env) {
			e.must(os.Rename(file(e, ".git"), file(e, "g")))
			e.must(os.Symlink("g", file(e, ".git")))
		},
		".git is empty":   func(e env) { e.must(os.RemoveAll(file(e, ".git"))); e.must(os.Mkdir(file(e, ".git"), 0o755)) },
		".git is garbage": func(e env) { e.must(os.RemoveAll(file(e, ".git"))); e.write(".git", "gitdir:") },
		".git leads out": func(e env) {
			e.must(os.Rename(file(e, ".git"), e.dir+"-g"))
			e.write(".git", "gitdir: ../"+filepath.Base(e.dir)+"-g")
		},
		".git leads to itself":      func(e env) { e.must(os.RemoveAll(file(e, ".git"))); e.write(".git", "gitdir: .git") },
		"HEAD missing":              func(e env) { e.must(os.Remove(file(e, ".git/HEAD"))) },
		"HEAD leads up":             func(e env) { e.write(".git/HEAD", "ref: ../../x\n") },
		"HEAD leads up, below refs": func(e env) { e.write(".git/HEAD", "ref: refs/../../x\n") },
		"HEAD is absolute":          func(e env) { e.write(".git/HEAD", "ref: /etc/passwd\n") },
		"HEAD names a file":         func(e env) { e.write(".git/HEAD", "ref: config\n") },
		"HEAD is empty":             func(e env) { e.write(".git/HEAD", "") },
		"HEAD is a circle": func(e env) {
			e.write(".git/HEAD", "ref: refs/heads/x\n")
			e.write(".git/refs/heads/x", "ref: refs/heads/x\n")
		},
		"HEAD names no object": func(e env) { e.write(".git/HEAD", strings.Repeat("ab", 20)) },
		"HEAD names a tree":    func(e env) { e.write(".git/HEAD", e.git("rev-parse", "HEAD^{tree}")) },
		"commondir leads out":  func(e env) { e.write(".git/commondir", "../..\n") },
		"objects missing": func(e env) {
			e.must(os.RemoveAll(file(e, ".git/objects")))
			e.must(os.Mkdir(file(e, ".git/objects"), 0o755))
		},
		"objects borrowed": func(e env) {
			e.must(os.Rename(file(e, ".git/objects"), e.dir+"-objects"))
			e.write(".git/objects/info/alternates", e.dir+"-objects\n")
		},
		"object damaged": func(e env) {
			id := strings.TrimSpace(e.git("rev-parse", "HEAD^{tree}"))
			other := strings.TrimSpace(e.git("rev-parse", "HEAD^{tree}:d"))
			path := func(id string) string { return file(e, ".git/objects/"+id[:2]+"/"+id[2:]) }
			e.must(os.Remove(path(id)))
			e.must(os.Link(path(other), path(id)))
		},
		"objects not granted": func(e env) {},
		"index not granted":   func(e env) {},
		".git not granted":    func(e env) {},
		"file not granted":    func(e env) {},
		"reftable": func(e env) {
			config("core.repositoryFormatVersion", "1")(e)
			config("extensions.refStorage", "reftable")(e)
		},
		"unknown extension":   func(e env) { config("core.repositoryFormatVersion", "1")(e); config("extensions.odd", "1")(e) },
		"version 2":           config("core.repositoryFormatVersion", "2"),
		"work tree elsewhere": config("core.worktree", "/"),
		"bare":                config("core.bare", "true"),
		"config malformed":    func(e env) { e.write(".git/config", "[core\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := realTemp(t)
			g := initRepo(t, filepath.Join(root, "ws"))
			g.write("d/f", "x")
			g.write("other/f", "x")
			g.commit("1")
			e := env{g, dirFS{root: g.dir}}
			opt := Options{Root: g.dir}
			if got := Status(t.Context(), e.fs, "d/f", opt); got.State != Clean {
				t.Fatal("not clean before: ", got)
			}
			damage(e)
			if what, ok := strings.CutSuffix(name, " not granted"); ok {
				e.fs.deny = map[string]string{"objects": ".git/objects", "index": ".git/index", ".git": ".git", "file": "d/f"}[what]
			}
			got := Status(t.Context(), e.fs, "d/f", opt)
			if got.State != Unknown || got.Reason == "" || strings.Contains(got.Reason, root) {
				t.Errorf("%+v", got)
			}
			count := CountDirty(t.Context(), e.fs, "d", 0, opt)
			if !count.Unknown || count.Reason == "" || strings.Contains(count.Reason, root) {
				t.Errorf("counted %+v", count)
			}
			t.Log(got.Reason)
		})
	}
}

// TestNothingRuns names programs wherever git would start one, and makes sure git would.
func TestNothingRuns(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("f", "x")
	g.write("g", "x")
	g.commit("1")
	mark := filepath.Join(root, ".git/ran")
	g.git("config", "core.fsmonitor", "touch "+mark+"; false")
	g.git("config", "filter.x.clean", "touch "+mark+"; cat")
	g.git("config", "core.hooksPath", "hooks")
	config, err := os.ReadFile(filepath.Join(root, ".git/config"))
	g.must(err)
	g.git("config", "include.path", "/dev/zero")
	g.write(".gitattributes", "* filter=x\n")
	g.write("g", "y")
	check(t, root, "", map[string]State{"f": Clean, "g": Unknown, "new": Clean})
	CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{})
	if _, err := os.Lstat(mark); err == nil {
		t.Error("a program named by the config ran")
	}
	g.must(os.WriteFile(filepath.Join(root, ".git/config"), config, 0o644)) // git would read the include
	g.try("status")
	if _, err := os.Lstat(mark); err != nil {
		t.Error("git itself ran nothing, so this test shows nothing")
	}
}

// An ignore file, which whoever creates files can make, does not let a file go unasked: git could bring
// no ignored file back.
func TestIgnoredFilesAreUntracked(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("d/.gitignore", "*\n")
	g.write("d/thesis", "x")
	g.write(".git/info/exclude", "/notes\n")
	g.write("notes", "x")
	check(t, root, "", map[string]State{"d/thesis": Untracked, "d/.gitignore": Untracked, "notes": Untracked})
	if got := CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{}); got != (Count{Dirty: 3}) {
		t.Errorf("counted %+v", got)
	}
}

func TestDeadline(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("f", "x")
	g.commit("1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Status(ctx, dirFS{root: root}, "f", Options{}); got.State != Unknown {
		t.Errorf("%+v", got)
	}
	if got := CountDirty(ctx, dirFS{root: root}, "", 0, Options{}); !got.Unknown {
		t.Errorf("%+v", got)
	}
}

// TestTreeBomb has a HEAD whose few trees stand for 10^12 directories.
func TestTreeBomb(t *testing.T) {
	root := realTemp(t)
	g := initRepo(t, root)
	id := strings.TrimSpace(g.input("", "mktree"))
	for range 12 {
		var list strings.Builder
		for _, name := range "abcdefghij" {
			list.WriteString("040000 tree " + id + "\t" + string(name) + "\n")
		}
		id = strings.TrimSpace(g.input(list.String(), "mktree"))
	}
	commit := strings.TrimSpace(g.git("commit-tree", "-m", "bomb", id))
	g.write(".git/HEAD", commit)
	got := CountDirty(t.Context(), dirFS{root: root}, "", 10, Options{})
	if !got.Unknown {
		t.Errorf("%+v", got)
	}
}

func TestNonFiles(t *testing.T) {
	mkfifo, err := exec.LookPath("mkfifo")
	if err != nil {
		t.Skip("no mkfifo: ", err)
	}
	root := realTemp(t)
	g := initRepo(t, root)
	g.write("was", "x")
	g.commit("1")
	g.must(os.Remove(filepath.Join(root, "was")))
	for _, name := range []string{"was", "new"} {
		g.must(exec.Command(mkfifo, filepath.Join(root, name)).Run())
	}
	check(t, root, "", map[string]State{"was": Modified, "new": Clean})
	if got := CountDirty(t.Context(), dirFS{root: root}, "", 0, Options{}); got.Dirty != 1 || got.Unknown {
		t.Errorf("%+v", got)
	}
}
