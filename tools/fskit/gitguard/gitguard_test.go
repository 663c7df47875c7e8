package gitguard

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// git runs the git binary without any config but the repository's own.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	exe, err := exec.LookPath("git")
	if err != nil {
		t.Skip("the git binary, which makes the repositories of this test, is missing")
	}
	cmd := exec.Command(exe, append([]string{"-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
}

// repository makes one with a clean, a modified, a staged and an untracked file.
func repository(t *testing.T, dir string) {
	t.Helper()
	jptooltest.Tree(t, dir, "file d/clean a", "file d/modified a", "file d/staged a", "symlink d/link clean")
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-qm", "m")
	jptooltest.Tree(t, dir, "file d/modified b", "file d/staged b", "file d/untracked a")
	git(t, dir, "add", "d/staged")
}

func check(t *testing.T, ws *jptool.Workspace, path, want string) {
	t.Helper()
	tg, err := ws.CheckEntry(path, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := Bound(t.Context())
	defer cancel()
	dirty, reason := State(ctx, ws, tg)
	if dirty != (want != "") || !strings.Contains(reason, want) {
		t.Errorf("%s: dirty %v, %q; want %q", path, dirty, reason, want)
	}
	if strings.Contains(reason, os.TempDir()) {
		t.Errorf("%s: the reason names an absolute path: %q", path, reason)
	}
}

// All that git could not give back is dirty.
func TestState(t *testing.T) {
	root := jptooltest.TempRoot(t)
	repository(t, root)
	ws := jptooltest.Open(t, root)
	check(t, ws, "d/clean", "")
	check(t, ws, "d/link", "")
	check(t, ws, "d/modified", "modified")
	check(t, ws, "d/staged", "staged")
	check(t, ws, "d/untracked", "not tracked")
	dir, err := ws.CheckEntry("d", 0)
	if err != nil {
		t.Fatal(err)
	}
	if c := Count(t.Context(), ws, dir, 0); c.Dirty != 3 || c.Unknown || c.More {
		t.Errorf("count: %+v", c)
	}
	if c := Count(t.Context(), ws, dir, 2); c.Dirty != 2 || !c.More {
		t.Errorf("count up to 2: %+v", c)
	}
}

func TestNoRepositoryIsClean(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file d/f a")
	check(t, jptooltest.Open(t, root), "d/f", "")
	check(t, jptooltest.Open(t, root, jptooltest.Rule("d", "delete")), "d/f", "")
}

// A repository that the grants hide, or that lies above, makes the state unknown.
func TestUnknownAsks(t *testing.T) {
	root := jptooltest.TempRoot(t)
	repository(t, root)
	for _, rules := range [][]jptool.FsRule{
		{jptooltest.Rule("d", "read write")},
		{jptooltest.Rule("", "read write"), jptooltest.Rule(".git/index", "")},
		{jptooltest.Rule("", "read write"), jptooltest.Rule("d/clean", "delete")},
	} {
		check(t, jptooltest.Open(t, root, rules...), "d/clean", "unknown")
	}
	check(t, jptooltest.Open(t, root+"/d"), "clean", "above")
}

func TestMounts(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	repository(t, outside)
	jptooltest.Tree(t, root, "symlink all "+outside, "symlink sub "+outside+"/d", "symlink file "+outside+"/d/clean", "dir .git")
	ws := jptooltest.Open(t, root, jptooltest.Mount("all", outside, "read write"))
	check(t, ws, "all/d/clean", "")
	check(t, ws, "all/d/modified", "modified")
	ws = jptooltest.Open(t, root, jptooltest.Mount("sub", outside+"/d", "read write"))
	check(t, ws, "sub/clean", "above")
	ws = jptooltest.Open(t, root, jptooltest.Mount("file", outside+"/d/clean", "read write"))
	tg, err := ws.CheckContent("file", 0)
	if err != nil {
		t.Fatal(err)
	}
	if dirty, reason := State(t.Context(), ws, tg); !dirty || !strings.Contains(reason, "above") {
		t.Errorf("a mounted file: %v, %q", dirty, reason)
	}
}

// Nothing that the repository's config names is run.
func TestNothingRuns(t *testing.T) {
	root := jptooltest.TempRoot(t)
	repository(t, root)
	git(t, root, "config", "core.fsmonitor", "touch ran; false")
	git(t, root, "config", "filter.x.clean", "touch ran; cat")
	if err := os.WriteFile(root+"/.git/info/attributes", []byte("* filter=x\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	ws := jptooltest.Open(t, root)
	tg, err := ws.CheckEntry("d/clean", 0)
	if err != nil {
		t.Fatal(err)
	}
	State(t.Context(), ws, tg)
	if _, err := os.Lstat(root + "/ran"); err == nil {
		t.Error("a program named by the config was run")
	}
}

// What takes too long is unknown: a sparse file of a size that git's index cannot tell from
// that of the tracked one would have to be read, all of it.
func TestTimeIsBounded(t *testing.T) {
	defer func(d time.Duration) { maxTime = d }(maxTime)
	maxTime = 100 * time.Millisecond
	root := jptooltest.TempRoot(t)
	repository(t, root)
	if err := os.Truncate(root+"/d/clean", 1<<42+1); err != nil {
		t.Skipf("no sparse file of that size can be made: %v", err)
	}
	ws := jptooltest.Open(t, root)
	check(t, ws, "d/clean", "not read in time")
	dir, err := ws.CheckEntry("d", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := Bound(t.Context())
	defer cancel()
	if c := Count(ctx, ws, dir, 0); !c.Unknown || !c.Any() {
		t.Errorf("count: %+v", c)
	}
}

// The looks of one call take at most half of the time that it has left, all together.
func TestLooksLeaveTimeForTheCall(t *testing.T) {
	call, cancelCall := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancelCall()
	ctx, cancel := Bound(call)
	defer cancel()
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > 5*time.Second {
		t.Errorf("ends in %v", time.Until(end))
	}
	ctx, cancel = Bound(t.Context())
	defer cancel()
	if end, ok := ctx.Deadline(); !ok || time.Until(end) > maxTime {
		t.Errorf("without a limit of the call: ends in %v", time.Until(end))
	}
}

// Whatever the order of the paths, the targets are those of the paths.
func TestPathsInAnyOrder(t *testing.T) {
	ws := jptooltest.Open(t, jptooltest.TempRoot(t))
	root, err := ws.CheckEntry(".", 0)
	if err != nil {
		t.Fatal(err)
	}
	g := &grants{root: root}
	paths := []string{"a", "a/b", "ab/c", "a/b/c/d", "a/bc/d", "a/b/c", "abc", "a/b/cd/e", "x/y/z/w/v", "x/y", "a/b/c/d/e"}
	for i := range len(paths) * len(paths) {
		want := paths[(i*7+i/len(paths))%len(paths)]
		if got := g.target(want).Path(); got != want {
			t.Fatalf("%s: %s", want, got)
		}
	}
	if g.target("") != root {
		t.Error("the root is another")
	}
}

// A deep tree is walked in steps of one level. To start from the root for each entry took
// time with the third power of the depth: 17 s for this one instead of 0.2 s.
func TestDeepDirectory(t *testing.T) {
	const depth = 2000
	if runtime.GOOS != "linux" {
		t.Skip("paths as long as these are for Linux only")
	}
	root := jptooltest.TempRoot(t)
	dir, err := os.OpenRoot(root)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := dir.Mkdir("d", 0o777); err != nil {
			t.Fatal(err)
		}
		next, err := dir.OpenRoot("d")
		if err != nil {
			t.Fatal(err)
		}
		dir.Close()
		dir = next
	}
	dir.Close()
	ws := jptooltest.Open(t, root)
	tg, err := ws.CheckEntry("d", 0)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if c := Count(t.Context(), ws, tg, 0); c.Any() {
		t.Errorf("count: %+v", c)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("%d levels took %v", depth, took)
	}
}
