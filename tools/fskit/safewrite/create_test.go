package safewrite

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
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

// Clean-up takes only what is granted and nobody's own place.
func TestRemoveEmptyParents(t *testing.T) {
	root, outside := jptooltest.TempRoot(t), jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir plain/d", "dir chain/a/b/c", "file chain/g", "dir keep/d", "dir rule", "dir pinned", "dir full", "file full/g", "symlink fork "+outside)
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
	for path, want := range map[string]string{
		"plain/d/f": "plain/d plain", "chain/a/b/c/f": "chain/a/b/c chain/a/b chain/a", "fork/d/f": "fork/d",
		"keep/d/f": "", "rule/f": "", "pinned/f": "", "full/f": "", "f": "",
	} {
		var got []string
		for _, p := range RemoveEmptyParents(target(t, ws, path)) {
			got = append(got, p.Path())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: removed %v, want %v", path, got, want)
		}
	}
	if got := RemoveEmptyParents(target(t, ws, "fork/f")); got != nil {
		t.Error("the target of the mount was removed")
	}
	wantNames(t, root, "chain", "fork", "full", "keep", "pinned", "rule")
	wantNames(t, root+"/chain", "g")
	wantNames(t, outside)
}

// litter makes a file that a killed call has left: name gives it its name by its stamp.
func litter(t *testing.T, dir string, name func(stamp) string) string {
	t.Helper()
	f, err := os.CreateTemp(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("x"); err != nil {
		t.Fatal(err)
	}
	s, err := stampOf(f)
	if err != nil {
		t.Fatal(err)
	}
	if s.inode == 0 {
		t.Skip("there are no inode numbers here")
	}
	as := name(s)
	if err := os.Rename(f.Name(), dir+"/"+as); err != nil {
		t.Fatal(err)
	}
	return as
}

func asNew(s stamp) string   { return tempName(s.inode, 0) }
func asOld(s stamp) string   { return tempName(1, s.id()) }
func asOther(s stamp) string { return tempName(s.inode+1, s.id()+1) }

// Stale temporaries go, all else stays: what a live writer holds, what may not be
// deleted, what somebody else put under such a name, and what only looks similar.
func TestSweep(t *testing.T) {
	root := jptooltest.TempRoot(t)
	some := tempName(1, 2)
	kept := []string{
		".jptool-0123-0.tmp", ".jptool-0123456789abcdef-0.tmp", strings.ToUpper(some), some + "~", "x" + some,
		tempName(0, 7), strings.Replace(some, "-0000000000000001", "-000000000000001", 1), strings.Replace(some, "-0000000000000001", "", 1),
	}
	jptooltest.Tree(t, root, "file d/f old", "dir d/"+tempName(0, 1), "symlink d/"+tempName(0, 2)+" f")
	for _, name := range kept {
		jptooltest.Tree(t, root, "file d/"+name)
	}
	d := root + "/d"
	stale := []string{litter(t, d, asNew), litter(t, d, asOld), tempName(0, 0)}
	jptooltest.Tree(t, root, "file d/"+stale[2])
	live, other, written := litter(t, d, asNew), litter(t, d, asOther), litter(t, d, asOld)
	kept = append(kept, live, other, written, litter(t, d, func(stamp) string { return tempName(0, 0) }))
	if err := os.WriteFile(d+"/"+written, []byte("somebody wrote to it"), 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(d + "/" + live)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := tryLock(f); err != nil {
		t.Fatal(err)
	}
	ws := jptooltest.Open(t, root, jptooltest.Rule("", "read create update"))
	Sweep(target(t, ws, "d"))
	for _, name := range stale {
		if _, err := os.Stat(d + "/" + name); err != nil {
			t.Errorf("swept without delete: %v", err)
		}
	}
	ws = jptooltest.Open(t, root)
	if _, err := edit(t.Context(), target(t, ws, "d/f"), to("new")); err != nil {
		t.Fatal(err)
	}
	for _, name := range stale {
		if _, err := os.Lstat(d + "/" + name); err == nil {
			t.Errorf("the stale temporary %s is still there", name)
		}
	}
	for _, name := range kept {
		if _, err := os.Lstat(d + "/" + name); err != nil {
			t.Errorf("swept too much: %v", err)
		}
	}
	list, err := os.ReadDir(d)
	if err != nil || len(list) != len(kept)+3 {
		t.Errorf("%d entries, %v; want %d", len(list), err, len(kept)+3)
	}
	wantFile(t, root+"/d/f", "new")
}

// A directory that may not be listed is written in all the same, whatever was left in it.
func TestSweepWithoutRead(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	left := litter(t, root, asNew)
	f := lock(t, jptooltest.Open(t, root, jptooltest.Rule("", "write")), "f")
	if err := f.Stage([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantNames(t, root, left, "f")
	Sweep(target(t, jptooltest.Open(t, root), "."))
	wantNames(t, root, "f")
}

// Names that could be foreseen could be taken: a directory full of what looks like
// temporaries, by this scheme or an older one, is no obstacle.
func TestPlantedTemporaries(t *testing.T) {
	for _, plain := range []bool{false, true} {
		if plain {
			withoutFeatures(t)
		}
		root := jptooltest.TempRoot(t)
		jptooltest.Tree(t, root, "file f old")
		sum := sha256.Sum256([]byte("f"))
		for n := range 64 {
			jptooltest.Tree(t, root, fmt.Sprintf("dir .jptool-%x-%d.tmp", sum[:8], n), "dir "+tempName(0, 0))
		}
		ws := jptooltest.Open(t, root)
		if got, err := edit(t.Context(), target(t, ws, "f"), to("new")); err != nil || got != Replaced {
			t.Errorf("%q, %v", got, err)
		}
		if err := Create(target(t, ws, "g"), []byte("x"), 0o666); err != nil {
			t.Error(err)
		}
		wantFile(t, root+"/f", "new")
	}
}

// withoutFeatures makes this a file system without unnamed files and exchange.
func withoutFeatures(t *testing.T) {
	t.Helper()
	plain()
	t.Cleanup(func() { unnamedFile, exchange = (*wspath.Dir).TempFile, (*wspath.Dir).Exchange })
}

func plain() {
	unnamedFile = func(*wspath.Dir) (*os.File, error) { return nil, wspath.ErrUnsupported }
	exchange = func(*wspath.Dir, string, string) error { return wspath.ErrUnsupported }
}

func TestCheckName(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir d")
	ws := jptooltest.Open(t, root)
	for given, ok := range map[string]bool{
		"f": true, "d/f": true, "./f": true, ".f": true, "..f": true, "d/...": true, ".jptool-x.tmp": true, ".jptool-0123456789abcdef-0.tmp": true,
		"new/": false, "d/": false, "new//": false, "new/.": false, "d/new/..": false, "d/" + tempName(1, 2): false,
	} {
		err := CheckName(target(t, ws, given), given)
		if (err == nil) != ok || err != nil && jptool.CodeOf(err) != jptool.CodeInvalidArguments {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// asNobody runs one test of this binary again as an ordinary user, for whom the kernel
// decides otherwise than for root.
func asNobody(t *testing.T) (child bool) {
	t.Helper()
	if !jptooltest.Root(t) {
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
