//go:build unix

package safewrite

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// keepMeta gives a new file everything that old has beside its content: owner, group,
// mode, and on Linux extended attributes and with them ACLs. It reports false when the new file
// could not stand for the old one, which then has to be written in place: several hard
// links, a mount point, set-user-ID bits (which the kernel decides on when such a file
// is written), or anything that cannot be copied.
//
// Not kept: the time of birth and, on Linux, inode flags (chattr).
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
	if !ok || !ok2 || from.Nlink > 1 || from.Dev != to.Dev || !replaceable(old, new, from) {
		return false, nil
	}
	if oldInfo.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return false, nil
	}
	if from.Uid != to.Uid || from.Gid != to.Gid {
		if err := new.Chown(int(from.Uid), int(from.Gid)); err != nil {
			return false, nil
		}
	}
	if kept, err := keepXattrs(old, new); !kept || err != nil {
		return false, err
	}
	// Last: setting an ACL changes the mode, and the other way round they agree.
	return new.Chmod(oldInfo.Mode().Perm()|oldInfo.Mode()&fs.ModeSticky) == nil, nil
}

// copyMeta is CopyAttributes.
func copyMeta(from, to *os.File) error {
	fi, err := from.Stat()
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode := fi.Mode()
	owned := to.Chown(int(st.Uid), int(st.Gid)) == nil
	if !owned {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
		_ = to.Chown(-1, int(st.Gid))
	}
	copyRest(from, to, owned)
	if err := to.Chmod(mode); err != nil {
		return err
	}
	setTimes(to, st)
	return nil
}

// fileID returns the numbers by which the system knows the file.
func fileID(_ *os.File, fi fs.FileInfo) (device, inode uint64) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino)
	}
	return 0, 0
}

// linked reports whether the file has a name.
func linked(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Nlink > 0
}

// tryLock takes the exclusive lock of f's file until f is closed, or returns errLocked.
// flock belongs to the open file, so that two goroutines exclude each other as well.
func tryLock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return errLocked
		default:
			return err
		}
	}
}
