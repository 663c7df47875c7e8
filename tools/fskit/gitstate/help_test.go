package gitstate

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/wspath"
)

// dirFS is an FS over a directory. It checks every component with Lstat, which is enough for tests where
// nothing changes meanwhile, and refuses what deny names.
type dirFS struct {
	root string
	deny string
}

var errLink = errors.New("symbolic link on the way")

func (d dirFS) path(rel string, last bool) (string, error) {
	at, parts := d.root, strings.Split(rel, "/")
	if rel == "" {
		return at, nil
	}
	for i, part := range parts {
		at += "/" + part
		if d.deny != "" && strings.Join(parts[:i+1], "/") == d.deny {
			return "", &fs.PathError{Op: "open", Path: at, Err: fs.ErrPermission}
		}
		info, err := os.Lstat(at)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink != 0 && (i < len(parts)-1 || last) {
			return "", &fs.PathError{Op: "open", Path: at, Err: errLink}
		}
	}
	return at, nil
}

func (d dirFS) Open(rel string) (File, error) {
	p, err := d.path(rel, true)
	if err != nil {
		return nil, err
	}
	info, err := os.Lstat(p)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, errors.New("refused kind of file")
	}
	return os.Open(p)
}

func (d dirFS) Lstat(rel string) (fs.FileInfo, error) {
	p, err := d.path(rel, false)
	if err != nil {
		return nil, err
	}
	return os.Lstat(p)
}

func (d dirFS) ReadDir(rel string) ([]fs.DirEntry, error) {
	p, err := d.path(rel, true)
	if err != nil {
		return nil, err
	}
	return os.ReadDir(p)
}

func (d dirFS) Readlink(rel string) (string, error) {
	p, err := d.path(rel, false)
	if err != nil {
		return "", err
	}
	return os.Readlink(p)
}

// gitRepo runs the git binary in a directory, without any config but the repository's own.
type gitRepo struct {
	testing.TB
	dir string
}

func needGit(t testing.TB) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git binary to make repositories with: ", err)
	}
}

// initRepo makes a repository in dir, which is created.
func initRepo(t testing.TB, dir string, args ...string) gitRepo {
	t.Helper()
	needGit(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	g := gitRepo{t, dir}
	g.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	return g
}

func (g gitRepo) cmd(args ...string) *exec.Cmd {
	args = append([]string{
		"-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always",
		"-c", "core.fsync=none", "-c", "gc.auto=0", "-c", "advice.addEmbeddedRepo=false",
	}, args...)
	c := exec.Command("git", args...)
	c.Dir = g.dir
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + g.dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"LC_ALL=C", "GIT_AUTHOR_DATE=2001-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2001-01-01T00:00:00Z",
	}
	return c
}

func (g gitRepo) git(args ...string) string {
	g.Helper()
	return g.input("", args...)
}

func (g gitRepo) input(stdin string, args ...string) string {
	g.Helper()
	c := g.cmd(args...)
	c.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		g.Fatalf("git %q: %v\n%s", args, err, stderr.String())
	}
	return string(out)
}

// try runs a command that may fail, such as a merge with conflicts.
func (g gitRepo) try(args ...string) { _ = g.cmd(args...).Run() }

func (g gitRepo) write(name, content string) {
	g.Helper()
	p := filepath.Join(g.dir, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		g.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
		g.Fatal(err)
	}
}

func (g gitRepo) commit(msg string) {
	g.Helper()
	g.git("add", "-A")
	g.git("commit", "-q", "--allow-empty", "-m", msg)
}

func (g gitRepo) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

// check judges paths below root, which holds the repository at prefix.
func check(t *testing.T, root, prefix string, want map[string]State) {
	t.Helper()
	for name, state := range want {
		got := Status(t.Context(), dirFS{root: root}, wspath.JoinSlash(prefix, name), Options{Root: root})
		if got.State != state {
			t.Errorf("%q is %s (%s), want %s", name, got.State, got.Reason, state)
		}
		if (got.Reason != "") != (got.State == Unknown) || strings.Contains(got.Reason, root) {
			t.Errorf("%q is %s with reason %q", name, got.State, got.Reason)
		}
	}
}

// realTemp is t.TempDir without symbolic links, as Options.Root wants it.
func realTemp(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
