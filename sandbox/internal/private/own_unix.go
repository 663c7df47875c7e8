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

// lock locks a directory until it is closed, shared or alone, without waiting.
func lock(dir *os.File, shared bool) error {
	how := unix.LOCK_EX
	if shared {
		how = unix.LOCK_SH
	}
	return unix.Flock(int(dir.Fd()), how|unix.LOCK_NB)
}
