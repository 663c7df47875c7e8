package safewrite

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// replaceable reports whether old has no flags, which are not copied.
func replaceable(_, _ *os.File, old *syscall.Stat_t) bool { return old.Flags == 0 }

// keepXattrs reports false where old has extended attributes: they are not copied.
func keepXattrs(old, _ *os.File) (bool, error) {
	n, err := unix.Flistxattr(int(old.Fd()), nil)
	return err == nil && n == 0, nil
}

// changeTime is when the file was last changed, its attributes and names included.
func changeTime(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}

// copyRest does nothing: extended attributes are not copied here.
func copyRest(_, _ *os.File, _ bool) {}

// setTimes gives the file the times of another one, as far as that is permitted.
func setTimes(f *os.File, from *syscall.Stat_t) {
	accessed, modified := unix.NsecToTimeval(from.Atimespec.Nano()), unix.NsecToTimeval(from.Mtimespec.Nano())
	_ = unix.Futimes(int(f.Fd()), []unix.Timeval{accessed, modified})
}
