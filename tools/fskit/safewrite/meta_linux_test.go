package safewrite

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
	"github.com/jptools/jptools/jptool/wspath"
)

func mustEdit(t *testing.T, ws *jptool.Workspace, path string, want Method) {
	t.Helper()
	got, err := edit(t.Context(), target(t, ws, path), to("new"))
	if err != nil || got != want {
		t.Errorf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func TestModeAndAttributesStay(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	if err := os.Chmod(root+"/f", 0o751); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(root+"/f", "user.note", []byte("mine"), 0); err != nil {
		t.Skipf("this file system has no extended attributes: %v", err)
	}
	// An ACL: the owner, user 12345, the group, the mask, others.
	acl := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 7, ^uint32(0)}, {2, 6, 12345}, {4, 5, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 1, ^uint32(0)}} {
		acl = append(acl, byte(e[0]), 0, byte(e[1]), 0, byte(e[2]), byte(e[2]>>8), byte(e[2]>>16), byte(e[2]>>24))
	}
	aclErr := unix.Setxattr(root+"/f", "system.posix_acl_access", acl, 0)
	before, err := os.Stat(root + "/f")
	if err != nil {
		t.Fatal(err)
	}
	mustEdit(t, jptooltest.Open(t, root), "f", Replaced)
	after, err := os.Stat(root + "/f")
	if err != nil || after.Mode() != before.Mode() {
		t.Errorf("mode %v, %v; want %v", after.Mode(), err, before.Mode())
	}
	buf := make([]byte, 100)
	n, err := unix.Getxattr(root+"/f", "user.note", buf)
	if err != nil || string(buf[:n]) != "mine" {
		t.Errorf("attribute: %q, %v", buf[:max(n, 0)], err)
	}
	if aclErr == nil {
		n, err := unix.Getxattr(root+"/f", "system.posix_acl_access", buf)
		if err != nil || string(buf[:n]) != string(acl) {
			t.Errorf("ACL: %x, %v; want %x", buf[:max(n, 0)], err, acl)
		}
	}
}

// A default ACL of the directory does not change a file that has none.
func TestInheritedACLDoesNotStick(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	acl := []byte{2, 0, 0, 0}
	for _, e := range [][3]uint32{{1, 7, ^uint32(0)}, {2, 7, 12345}, {4, 7, ^uint32(0)}, {16, 7, ^uint32(0)}, {32, 7, ^uint32(0)}} {
		acl = append(acl, byte(e[0]), 0, byte(e[1]), 0, byte(e[2]), byte(e[2]>>8), byte(e[2]>>16), byte(e[2]>>24))
	}
	if err := unix.Setxattr(root, "system.posix_acl_default", acl, 0); err != nil {
		t.Skipf("this file system has no ACLs: %v", err)
	}
	mustEdit(t, jptooltest.Open(t, root), "f", Replaced)
	if n, err := unix.Getxattr(root+"/f", "system.posix_acl_access", nil); err == nil {
		t.Errorf("the file has an ACL of %d bytes now", n)
	}
	// A new file has what the directory hands down, not what the umask leaves.
	if err := Create(target(t, jptooltest.Open(t, root), "new"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(root + "/new"); err != nil || fi.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v; want 0666", fi.Mode(), err)
	}
}

func TestSetUserIDIsWrittenInPlace(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	if err := os.Chmod(root+"/f", 0o755|os.ModeSetuid); err != nil {
		t.Skipf("not run: a sandbox around this process refuses the mode: %v", err)
	}
	mustEdit(t, jptooltest.Open(t, root), "f", InPlace)
}

// The owner is kept: by giving the new file to it, or by writing in place.
func TestOwnerStays(t *testing.T) {
	if !jptooltest.Root(t) {
		t.Skip("only root can make files of other owners")
	}
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	if err := os.Chown(root+"/f", 1234, 5678); err != nil {
		t.Skip(err)
	}
	mustEdit(t, jptooltest.Open(t, root), "f", Replaced)
	fi, err := os.Stat(root + "/f")
	if err != nil {
		t.Fatal(err)
	}
	if st := fi.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 5678 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}

// What an ordinary user may not do is not done some other way.
func TestAsOrdinaryUser(t *testing.T) {
	if !asNobody(t) {
		return
	}
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file ro old", "file d/f old")
	if err := os.Chmod(root+"/ro", 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(root+"/d", 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(root+"/d", 0o755) })
	ws := jptooltest.Open(t, root)
	_, err := edit(t.Context(), target(t, ws, "ro"), to("new"))
	if !errors.Is(err, os.ErrPermission) {
		t.Errorf("a read-only file: %v", err)
	}
	wantFile(t, root+"/ro", "old")
	// A directory without write permission: its file can be written all the same.
	mustEdit(t, ws, "d/f", InPlace)
	wantFile(t, root+"/d/f", "new")
	wantNames(t, root+"/d", "f")
	if err := Create(target(t, ws, "d/g"), nil, 0o666); !errors.Is(err, os.ErrPermission) {
		t.Errorf("create: %v", err)
	}
}

func TestRunningProgramIsReplaced(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip("no program to run: sleep is missing")
	}
	data, err := os.ReadFile(sleep)
	if err != nil {
		t.Fatal(err)
	}
	root := jptooltest.TempRoot(t)
	if err := os.WriteFile(root+"/sleep", data, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(root+"/sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	inPlace := jptooltest.Open(t, root, jptooltest.Rule("", "read update"))
	if _, err := edit(t.Context(), target(t, inPlace, "sleep"), to("new")); err == nil {
		t.Error("a running program was written in place")
	}
	wantFile(t, root+"/sleep", string(data))
	mustEdit(t, jptooltest.Open(t, root), "sleep", Replaced)
}

// A file from another mount is written, not replaced.
func TestMountPoint(t *testing.T) {
	defer func(f func(*os.File) uint64) { mountID = f }(mountID)
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "file f old")
	mountID = func(f *os.File) uint64 { return uint64(f.Fd()) }
	mustEdit(t, jptooltest.Open(t, root), "f", InPlace)
	wantNames(t, root, "f")
}

// Without unnamed files and without exchanging, all comes to the same.
func TestPlainFileSystem(t *testing.T) {
	defer func() {
		unnamedFile, exchange = (*wspath.Dir).TempFile, (*wspath.Dir).Exchange
	}()
	plain()
	root := jptooltest.TempRoot(t)
	ws := jptooltest.Open(t, root)
	if err := Create(target(t, ws, "f"), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantCode(t, Create(target(t, ws, "f"), []byte("again"), 0o666), jptool.CodeAlreadyExists)
	mustEdit(t, ws, "f", Replaced)
	f := lock(t, ws, "f")
	if err := f.Stage([]byte("newer")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := f.Rollback(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	wantFile(t, root+"/f", "new")
	wantNames(t, root, "f")

	// Only create: the file is made in its place, and what failed is told.
	ws = jptooltest.Open(t, root, jptooltest.Rule("", "read create"))
	if err := Create(target(t, ws, "g"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantFile(t, root+"/g", "text")
	onStep = func(string) error { return syscall.ENOSPC }
	defer func() { onStep = nil }()
	err := Create(target(t, ws, "h"), []byte("text"), 0o666)
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "incomplete file was left") {
		t.Errorf("create: %v", err)
	}
	ws = jptooltest.Open(t, root, jptooltest.Rule("", "read create delete"))
	if err := Create(target(t, ws, "i"), []byte("text"), 0o666); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("create: %v", err)
	}
	wantNames(t, root, "f", "g", "h")
}

// The launcher's unnamed file is filled and named, once.
func TestStaged(t *testing.T) {
	root := jptooltest.TempRoot(t)
	jptooltest.Tree(t, root, "dir d/sub")
	open := func(flags int) int {
		fd, err := unix.Open(root+"/d", flags|unix.O_CLOEXEC, 0o666)
		if err != nil {
			t.Skipf("no unnamed files here: %v", err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	workspace := func(fd int, caps string) *jptool.Workspace {
		ctx := jptool.Context{Root: root, Access: &jptool.AccessPolicy{
			FS: []jptool.FsRule{jptooltest.Rule("d", caps)}, Staged: []jptool.StagedFile{{Path: "d", FD: fd}},
		}}
		ws, err := ctx.Open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ws.Close() })
		return ws
	}
	fd := open(unix.O_TMPFILE | unix.O_WRONLY)
	ws := workspace(fd, "create")
	wantCode(t, Create(target(t, workspace(fd, "read"), "d/f"), nil, 0o666), jptool.CodeAccessDenied)
	if err := Create(target(t, ws, "d/sub/f"), []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	wantFile(t, root+"/d/sub/f", "text")
	// It is a named file now, and serves for nothing more.
	wantCode(t, Create(target(t, ws, "d/g"), []byte("text"), 0o666), jptool.CodeInvalidRequest)
	named, err := os.Create(filepath.Join(root, "named"))
	if err != nil {
		t.Fatal(err)
	}
	defer named.Close()
	wantCode(t, Create(target(t, workspace(int(named.Fd()), "create"), "d/h"), []byte("text"), 0o666), jptool.CodeInvalidRequest)
	wantCode(t, Create(target(t, workspace(987654, "create"), "d/h"), []byte("text"), 0o666), jptool.CodeInvalidRequest)
	wantNames(t, root+"/d", "sub")
	wantFile(t, root+"/named", "")
}
