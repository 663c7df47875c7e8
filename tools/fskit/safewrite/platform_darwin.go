package safewrite

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepMeta gives a new file old's owner and mode. It reports false when old has several
// hard links, set-user-ID bits, flags or extended attributes: it is written in place then.
func keepMeta(old, new *os.File) (bool, error) {
	oldInfo, err := old.Stat()
	if err != nil {
		return false, err
	}
	newInfo, err := new.Stat()
	if err != nil {
		return false, err
	}
	from, ok := oldInfo.Sys().(*syscall.Stat_t)
	to, ok2 := newInfo.Sys().(*syscall.Stat_t)
	if !ok || !ok2 || from.Nlink > 1 || from.Dev != to.Dev || from.Flags != 0 || oldInfo.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return false, nil
	}
	if n, err := unix.Flistxattr(int(old.Fd()), nil); err != nil || n > 0 {
		return false, nil
	}
	if from.Uid != to.Uid || from.Gid != to.Gid {
		if err := new.Chown(int(from.Uid), int(from.Gid)); err != nil {
			return false, nil
		}
	}
	return new.Chmod(oldInfo.Mode().Perm()) == nil, nil
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
