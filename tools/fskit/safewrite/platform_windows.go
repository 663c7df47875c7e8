package safewrite

import (
	"io/fs"
	"os"

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

// fileID returns the numbers by which the system knows the file; of one that is not open, none.
func fileID(f *os.File, _ fs.FileInfo) (device, inode uint64) {
	if f == nil {
		return 0, 0
	}
	var info windows.ByHandleFileInformation
	if windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &info) != nil {
		return 0, 0
	}
	return uint64(info.VolumeSerialNumber), uint64(info.FileIndexHigh)<<32 | uint64(info.FileIndexLow)
}

// linked is not known here, where entries cannot be exchanged either.
func linked(*os.File) bool { return false }

// keepMeta reports false: what else a file has cannot be copied here, so files are
// always written in place.
func keepMeta(_, _ *os.File) (bool, error) { return false, nil }

// changeTime is not known here.
func changeTime(fs.FileInfo) int64 { return 0 }

// copyMeta does nothing: there is no portable way.
func copyMeta(_, _ *os.File) error { return nil }
