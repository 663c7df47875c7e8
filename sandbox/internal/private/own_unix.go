//go:build linux || darwin

package private

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const canLock = true

// ours reports whether something is a directory of this user, for nobody else.
func ours(is os.FileInfo) bool {
	st, ok := is.Sys().(*syscall.Stat_t)
	return ok && is.IsDir() && is.Mode().Perm() == 0o700 && int(st.Uid) == os.Geteuid()
}

// childless reports whether a directory has none in it, where the file system tells: each has a link to
// the one above it.
func childless(is os.FileInfo) bool {
	st, ok := is.Sys().(*syscall.Stat_t)
	return ok && st.Nlink == 2
}

// openDir is os.Open without asking whether there can be waiting for it.
func openDir(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// lock locks a directory until it is closed, shared or alone, without waiting.
func lock(dir *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	return unix.Flock(int(dir.Fd()), how|unix.LOCK_NB)
}
