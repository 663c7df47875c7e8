package safewrite

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/windows"
)

// tryLock takes the exclusive lock of f's file until f is closed, or returns errLocked.
// Locks are mandatory here, so it is on a byte that no file has.
func tryLock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: 0x7fffffff}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if err == windows.ERROR_LOCK_VIOLATION || err == windows.ERROR_IO_PENDING {
		return errLocked
	}
	return err
}

func compareFiles(a *File, _ fs.FileInfo, b *File, _ fs.FileInfo) int {
	return strings.Compare(a.t.Path(), b.t.Path())
}
