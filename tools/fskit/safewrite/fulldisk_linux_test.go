package safewrite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// TestFullDisk writes to a small file system of its own that has less and less room,
// so that every step of a write meets the end of it once.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=full", rootEnv+"="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || strings.Contains(string(out), "SKIP") {
		t.Skipf("a user and mount namespace with a tmpfs is needed and cannot be had: %v %s", err, out)
	}
	if err != nil || !strings.HasSuffix(string(out), "END\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// fullDisk runs in the namespace.
func fullDisk() int {
	dir := os.Getenv(rootEnv)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=1m"); err != nil {
		fmt.Println("SKIP", err)
		return 1
	}
	failures, successes := 0, 0
	for _, kind := range []string{"create", "replace", "in place", "in place, TMPDIR here"} {
		for free := 0; free <= 120; free += 4 {
			for _, size := range []int{1000, 60_000, 200_000} {
				err := onFullDisk(dir, kind, free<<10, size)
				var bad *badState
				switch {
				case errors.As(err, &bad):
					fmt.Printf("%s, %d KiB free, %d bytes: %v\n", kind, free, size, err)
					return 1
				case err != nil:
					failures++
				default:
					successes++
				}
			}
		}
	}
	fmt.Printf("%d writes failed, %d succeeded\n", failures, successes)
	if failures < 50 || successes < 50 {
		return 1
	}
	fmt.Println("END")
	return 0
}

type badState struct{ error }

// onFullDisk does one write with that much room left. The old content is 60 000 bytes.
func onFullDisk(dir, kind string, free, size int) (err error) {
	root := dir + "/ws"
	defer os.RemoveAll(root)
	if err := os.MkdirAll(root+"/d", 0o777); err != nil {
		return &badState{err}
	}
	old := bytes.Repeat([]byte("o"), 60_000)
	if kind != "create" {
		if err := os.WriteFile(root+"/d/f", old, 0o666); err != nil {
			return &badState{err}
		}
	}
	os.Setenv("TMPDIR", "/tmp")
	if kind == "in place, TMPDIR here" {
		os.Setenv("TMPDIR", root)
	}
	if err := fill(root+"/filler", free); err != nil {
		return &badState{err}
	}
	want := bytes.Repeat([]byte("n"), size)
	err = writeTo(root, kind, want)
	got, readErr := os.ReadFile(root + "/d/f")
	switch {
	case err == nil && !bytes.Equal(got, want):
		return &badState{fmt.Errorf("success, but %d bytes, %v", len(got), readErr)}
	case err != nil && kind == "create" && readErr == nil:
		return &badState{fmt.Errorf("%w left %d bytes", err, len(got))}
	case err != nil && kind != "create" && !bytes.Equal(got, old):
		return &badState{fmt.Errorf("%w, and the old content is gone: %d bytes", err, len(got))}
	}
	if err != nil && !errors.Is(err, syscall.ENOSPC) {
		return &badState{err}
	}
	for _, pattern := range []string{"/d/.jptool*", "/jptool*"} {
		if litter, _ := filepath.Glob(root + pattern); len(litter) > 0 {
			return &badState{fmt.Errorf("litter: %q", litter)}
		}
	}
	return err
}

func fill(path string, leave int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var st syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
		return err
	}
	room := int(st.Bavail)*int(st.Bsize) - leave
	if room <= 0 {
		return errors.New("the file system is too small")
	}
	_, err = f.Write(make([]byte, room))
	return err
}

func writeTo(root, kind string, content []byte) error {
	ctx := jptool.Context{Root: root}
	if strings.HasPrefix(kind, "in place") {
		ctx.Access = &jptool.AccessPolicy{FS: []jptool.FsRule{jptooltest.Rule("", "read update")}}
	}
	ws, err := ctx.Open()
	if err != nil {
		return &badState{err}
	}
	defer ws.Close()
	t, err := ws.CheckEntry("d/f", 0)
	if err != nil {
		return &badState{err}
	}
	if kind == "create" {
		return Create(t, content, 0o666)
	}
	_, err = edit(context.Background(), t, func([]byte) []byte { return content })
	return err
}
