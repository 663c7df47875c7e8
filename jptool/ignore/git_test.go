package ignore

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// git runs the installed git without any configuration of the machine or user.
type git struct {
	exe                   string
	dir                   string
	env                   []string
	repos                 int
	paths, ignored, wrong int
}

func newGit(t *testing.T) *git {
	t.Helper()
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skipf("a file system that takes every byte in names, case-sensitively, is missing on %s", runtime.GOOS)
	}
	exe, err := exec.LookPath("git")
	if err != nil {
		t.Skipf("the program git is missing in PATH: %v", err)
	}
	dir := t.TempDir()
	return &git{exe: exe, dir: dir, env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
	}}
}

func (g *git) init(t *testing.T) string {
	t.Helper()
	g.repos++
	repo := filepath.Join(g.dir, strconv.Itoa(g.repos))
	g.lines(t, g.dir, "", "init", "-q", "--template=", repo)
	if err := os.Mkdir(filepath.Join(repo, ".git", "info"), 0o777); err != nil {
		t.Fatal(err)
	}
	return repo
}

// lines returns the NUL-terminated lines that git prints.
func (g *git) lines(t *testing.T, dir, stdin string, args ...string) []string {
	t.Helper()
	cmd := exec.Command(g.exe, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, g.env, strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	// check-ignore exits with 1 when it has nothing to print.
	if err != nil && (args[0] != "check-ignore" || cmd.ProcessState.ExitCode() != 1) {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func envInt(t *testing.T, name string, def int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return def
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a positive number", name, s)
	}
	return n
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// create makes the tree below n in dir. Paths are joined by hand: names such as
// `\` must not be cleaned.
func create(t *testing.T, dir string, n *node) {
	t.Helper()
	if n.ignore != nil {
		writeFile(t, dir+"/.gitignore", n.ignore)
	}
	for _, c := range n.children {
		path := dir + "/" + c.name
		switch {
		case c.isDir():
			if err := os.MkdirAll(path, 0o777); err != nil {
				t.Fatal(err)
			}
			create(t, path, c)
		case c.link:
			if err := os.Symlink("..", path); err != nil {
				t.Fatal(err)
			}
		case c.name != ".gitignore":
			writeFile(t, path, nil)
		}
	}
}

func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
