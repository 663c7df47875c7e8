//go:build unix && !solaris && !aix

package safewrite

import (
	"cmp"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLock takes the exclusive lock of f's file until f is closed, or returns errLocked.
// flock belongs to the open file, so that two goroutines exclude each other as well.
func tryLock(f *os.File) error {
	var lockErr error
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	err = conn.Control(func(fd uintptr) {
		for {
			lockErr = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB)
			if lockErr != unix.EINTR {
				return
			}
		}
	})
	if err == nil {
		err = lockErr
	}
	if err == unix.EWOULDBLOCK {
		return errLocked
	}
	return err
}

// compareFiles orders by what the lock is on, not by name: the same file may have several.
func compareFiles(a *File, ai fs.FileInfo, b *File, bi fs.FileInfo) int {
	x, okX := ai.Sys().(*syscall.Stat_t)
	y, okY := bi.Sys().(*syscall.Stat_t)
	if !okX || !okY {
		return strings.Compare(a.t.Path(), b.t.Path())
	}
	return cmp.Or(cmp.Compare(x.Dev, y.Dev), cmp.Compare(x.Ino, y.Ino))
}
