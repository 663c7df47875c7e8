//go:build unix

package private

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRemoveAll: whatever a program leaves in its private directory, it goes.
func TestRemoveAll(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	do(t, err)
	kept := filepath.Join(base, "kept")
	do(t, os.Mkdir(kept, 0o700))
	do(t, os.WriteFile(kept+"/file", nil, 0o600))

	dir := filepath.Join(base, "private")
	do(t, os.Mkdir(dir, 0o700))
	do(t, os.Symlink(kept, dir+"/link"))
	do(t, syscall.Mkfifo(dir+"/fifo", 0o600))
	do(t, os.MkdirAll(dir+"/a/locked/in", 0o700))
	do(t, os.Symlink(kept, dir+"/a/locked/link"))
	do(t, os.Chmod(dir+"/a/locked", 0))
	nest(t, dir, 300)
	do(t, os.Chmod(dir, 0))

	var was syscall.Rlimit
	do(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	few := syscall.Rlimit{Cur: 100, Max: was.Max}
	do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
	err = Remove(dir)
	do(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was))
	if err != nil {
		t.Fatalf("%.300s", err.Error())
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Error(err)
	}

	// Replaced by a symlink, and gone.
	do(t, os.Symlink(kept, dir))
	do(t, Remove(dir))
	do(t, Remove(dir))
	if _, err := os.Stat(kept + "/file"); err != nil {
		t.Error(err)
	}
}

// nest makes directories in one another, which together have a path longer than any call takes.
func nest(t *testing.T, dir string, levels int) {
	t.Helper()
	at, err := os.OpenRoot(dir)
	do(t, err)
	for range levels {
		name := strings.Repeat("d", 200)
		do(t, at.Mkdir(name, 0o700))
		next, err := at.OpenRoot(name)
		do(t, err)
		do(t, at.Close())
		at = next
	}
	do(t, at.Close())
}

func do(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%.300s", err.Error())
	}
}
