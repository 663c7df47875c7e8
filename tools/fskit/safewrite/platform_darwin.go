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

// copyMeta is CopyAttributes, without extended attributes.
func copyMeta(from, to *os.File) error {
	fi, err := from.Stat()
	if err != nil {
		return err
	}
	mode := fi.Mode()
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || to.Chown(int(st.Uid), int(st.Gid)) != nil {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	if err := to.Chmod(mode); err != nil {
		return err
	}
	at := unix.NsecToTimeval(fi.ModTime().UnixNano())
	_ = unix.Futimes(int(to.Fd()), []unix.Timeval{at, at})
	return nil
}
