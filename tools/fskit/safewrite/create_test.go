package safewrite

import (
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/jptooltest"
)

func TestCreate(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir d", "file f text", "symlink l f", "symlink dangling $ROOT/../outside", "fifo p")
	ws := jptooltest.Open(t, root)
	for path, content := range map[string]string{"new": "text", "d/empty": "", "d/big": strings.Repeat("x", 3<<20)} {
		if err := Create(target(t, ws, path), []byte(content), 0o666); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		wantFile(t, root+"/"+path, content)
	}
	for _, path := range []string{"f", "l", "dangling", "p", "d"} {
		wantCode(t, Create(target(t, ws, path), []byte("new"), 0o666), jptool.CodeAlreadyExists)
	}
	wantFile(t, root+"/f", "text")
	wantCode(t, Create(target(t, ws, "none/f"), nil, 0o666), jptool.CodeNotFound)
	wantNames(t, root+"/d", "big", "empty")
	wantNames(t, root, "d", "dangling", "f", "l", "new", "p")
	denied := jptooltest.Open(t, root, jptooltest.Rule("", "read update delete"))
	wantCode(t, Create(target(t, denied, "x"), nil, 0o666), jptool.CodeAccessDenied)
}

// The mode is what os.OpenFile would have given.
func TestCreateMode(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root)
	for name, perm := range map[string]fs.FileMode{"plain": 0o666, "program": 0o777, "private": 0o600} {
		if err := Create(target(t, ws, name), nil, perm); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(root+"/"+name+".os", os.O_CREATE|os.O_EXCL, perm)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		got, err := os.Stat(root + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.Stat(root + "/" + name + ".os")
		if err != nil || got.Mode() != want.Mode() {
			t.Errorf("%s: mode %v, want %v, %v", name, got.Mode(), want.Mode(), err)
		}
	}
}

func TestCreateRace(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root)
	results := make(chan error, 20)
	for range cap(results) {
		go func() { results <- Create(target(t, ws, "f"), []byte("text"), 0o666) }()
	}
	made := 0
	for range cap(results) {
		if err := <-results; err == nil {
			made++
		} else if jptool.CodeOf(err) != jptool.CodeAlreadyExists {
			t.Error(err)
		}
	}
	if made != 1 {
		t.Errorf("%d of %d calls made the file", made, cap(results))
	}
	wantFile(t, root+"/f", "text")
}

func TestMakeParents(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir have", "file file text")
	ws := jptooltest.Open(t, root)
	made, err := MakeParents(target(t, ws, "have/a/b/f"))
	if err != nil || len(made) != 2 || made[0].Path() != "have/a" || made[1].Path() != "have/a/b" {
		t.Fatalf("made %v, %v", made, err)
	}
	if again, err := MakeParents(target(t, ws, "have/a/b/f")); err != nil || len(again) != 0 {
		t.Errorf("a second time: %v, %v", again, err)
	}
	if left := RemoveMade(made); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	wantNames(t, root+"/have")
	_, err = MakeParents(target(t, ws, "file/f"))
	wantCode(t, err, jptool.CodeWrongType)

	// `create` on each, before the first is made.
	ws = jptooltest.Open(t, root, jptooltest.Rule("", "read create"), jptooltest.Rule("have/a/b", "read"))
	_, err = MakeParents(target(t, ws, "have/a/b/c/f"))
	wantCode(t, err, jptool.CodeAccessDenied)
	wantNames(t, root+"/have")

	// Without `delete` what was made stays, and is told.
	ws = jptooltest.Open(t, root, jptooltest.Rule("", "read create"))
	made, err = MakeParents(target(t, ws, "have/a/f"))
	if err != nil {
		t.Fatal(err)
	}
	if left := RemoveMade(made); len(left) != 1 {
		t.Errorf("left: %v", left)
	}
	wantNames(t, root+"/have", "a")
}

// W-S6: clean-up takes only what is granted and nobody's own place.
func TestW_S6_RemoveEmptyParent(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir plain/d", "dir keep/d", "dir rule", "dir pinned", "dir full", "file full/g", "symlink fork "+outside)
	jptooltest.Tree(t, outside, "dir d")
	ctx := jptool.Context{Root: root, Access: &jptool.AccessPolicy{
		FS: []jptool.FsRule{
			jptooltest.Rule("", "read write"), jptooltest.Rule("keep", "read create"), jptooltest.Rule("rule", "read write"),
			jptooltest.Mount("fork", outside, "read write"),
		},
		Pinned: []string{"pinned"},
	}}
	ws, err := ctx.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	for path, want := range map[string]bool{
		"plain/d/f": true, "keep/d/f": false, "rule/f": false, "pinned/f": false, "full/f": false, "f": false, "fork/d/f": true,
	} {
		if _, got := RemoveEmptyParent(target(t, ws, path)); got != want {
			t.Errorf("%s: removed %v, want %v", path, got, want)
		}
	}
	if _, got := RemoveEmptyParent(target(t, ws, "fork/f")); got {
		t.Error("the target of the mount was removed")
	}
	wantNames(t, root, "fork", "full", "keep", "pinned", "plain", "rule")
	wantNames(t, outside)
}

// Stale temporaries go, all else stays: what a live writer holds, what may not be
// deleted, and what only looks similar.
func TestSweep(t *testing.T) {
	root := jptooltest.TempRoot(t)
	stale, live := tempName("other", 3), tempName("f", 1)
	kept := []string{".jptool-0123-0.tmp", ".jptool-0123456789abcdef-x.tmp", ".jptool-0123456789abcdeF-0.tmp", ".jptool-0123456789abcdef-00.tmp", ".jptool-0123456789abcdef-64.tmp"}
	jptooltest.Tree(t, root, "file d/"+stale+" x", "file d/"+live+" x", "file d/f old", "dir d/"+tempName("f", 2), "symlink d/"+tempName("f", 0)+" f")
	for _, name := range kept {
		jptooltest.Tree(t, root, "file d/"+name)
	}
	f, err := os.Open(root + "/d/" + live)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tryLock(f); err != nil {
		t.Fatal(err)
	}
	ws := jptooltest.Open(t, root, jptooltest.Rule("", "read create update"))
	Sweep(target(t, ws, "d"))
	if _, err := os.Stat(root + "/d/" + stale); err != nil {
		t.Errorf("swept without delete: %v", err)
	}
	ws = jptooltest.Open(t, root)
	if _, err := edit(t.Context(), target(t, ws, "d/f"), to("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(root + "/d/" + stale); err == nil {
		t.Error("the stale temporary is still there")
	}
	for _, name := range append(kept, live, tempName("f", 0), tempName("f", 2)) {
		if _, err := os.Lstat(root + "/d/" + name); err != nil {
			t.Errorf("swept too much: %v", err)
		}
	}
	wantFile(t, root+"/d/f", "new")
}

// A directory that may not be listed is still swept of the file's own temporaries.
func TestSweepWithoutRead(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file "+tempName("f", 0)+" x", "file f old")
	f := lock(t, jptooltest.Open(t, root, jptooltest.Rule("", "write")), "f")
	if err := f.Stage([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantNames(t, root, "f")
}

// asNobody runs one test of this binary again as an ordinary user, for whom the kernel
// decides otherwise than for root.
func asNobody(t *testing.T) (child bool) {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		t.Skip("this is root, and setpriv, which runs the test as an ordinary user, is missing")
	}
	dir, err := os.MkdirTemp("", "safewrite-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Skipf("files cannot be given to another user: %v", err)
	}
	exe := dir + "/test"
	if err := copyProgram(exe); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(setpriv, "--reuid=65534", "--regid=65534", "--clear-groups", exe, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("as an ordinary user: %v\n%s", err, out)
	}
	return false
}

func copyProgram(to string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	data, err := os.ReadFile(exe)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}
