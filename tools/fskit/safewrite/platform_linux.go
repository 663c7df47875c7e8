package safewrite

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mountID returns an identifier of the mount that f was opened through, 0 if the
// kernel does not tell; tests replace it.
var mountID = func(f *os.File) uint64 {
	var st unix.Statx_t
	err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st)
	if err != nil || st.Mask&unix.STATX_MNT_ID == 0 {
		return 0
	}
	return st.Mnt_id
}

// replaceable reports whether old is no mount point, which a new file could not take the place of.
func replaceable(old, new *os.File, _ *syscall.Stat_t) bool { return mountID(old) == mountID(new) }

// keepXattrs gives a new file the extended attributes of old, and with them ACLs. It reports false where they
// cannot be copied, and for file capabilities, on which the kernel decides when such a file is written.
func keepXattrs(oldFile, newFile *os.File) (bool, error) {
	old, new := int(oldFile.Fd()), int(newFile.Fd())
	names, err := xattrNames(old)
	if err != nil {
		return false, err
	}
	inherited, err := xattrNames(new)
	if err != nil {
		return false, err
	}
	for name := range inherited {
		if !names[name] && !strings.HasPrefix(name, "security.") {
			if err := unix.Fremovexattr(new, name); err != nil {
				return false, nil
			}
		}
	}
	for name := range names {
		if name == "security.capability" {
			return false, nil
		}
		value, err := xattr(old, name)
		if err != nil {
			return false, nil
		}
		if have, err := xattr(new, name); err == nil && bytes.Equal(have, value) {
			continue
		}
		if err := unix.Fsetxattr(new, name, value, 0); err != nil {
			if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
				return false, err
			}
			return false, nil
		}
	}
	return true, nil
}

func xattrNames(fd int) (map[string]bool, error) {
	buf, err := grow(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for name := range bytes.SplitSeq(buf, []byte{0}) {
		if len(name) > 0 {
			names[string(name)] = true
		}
	}
	return names, nil
}

func xattr(fd int, name string) ([]byte, error) {
	return grow(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
}

// grow calls get with a buffer that is large enough.
func grow(get func(buf []byte) (int, error)) ([]byte, error) {
	for size := 256; ; size *= 4 {
		buf := make([]byte, size)
		n, err := get(buf)
		if err == nil {
			return buf[:n], nil
		}
		if err != unix.ERANGE || size > 1<<20 {
			return nil, err
		}
	}
}

// stagedFile opens the descriptor that the launcher handed down once more, if it is what
// it should be: anybody could have written the number.
func stagedFile(fd int) (*os.File, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(own, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 0 || st.Size != 0 {
		unix.Close(own)
		return nil, errors.ErrUnsupported
	}
	return os.NewFile(uintptr(own), "staged"), nil
}

// allocate reserves room for the first size bytes of a file without changing its
// size, so that writing them cannot fail for want of it. Where that cannot be done
// (a file system that copies on write, for one) it does nothing.
func allocate(f *os.File, size int64) error {
	if size == 0 {
		return nil
	}
	for {
		err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
		switch err {
		case nil, unix.EOPNOTSUPP, unix.ENOSYS, unix.EINVAL:
			return nil
		case unix.EINTR:
			continue
		}
		return err
	}
}

const syncsFileSystem = true

// syncFileSystem brings all of d's file system to the disk, for which one call is faster
// than one for each of many files.
func syncFileSystem(d *os.File) error { return unix.Syncfs(int(d.Fd())) }

// changeTime is when the file was last changed, its attributes and names included.
func changeTime(fi fs.FileInfo) int64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return st.Ctim.Nano()
	}
	return 0
}

// copyRest copies extended attributes, those that give capabilities only if the owner is the same.
func copyRest(fromFile, toFile *os.File, owned bool) {
	from, to := int(fromFile.Fd()), int(toFile.Fd())
	names, _ := xattrNames(from)
	for name := range names {
		if name == "security.capability" && !owned {
			continue
		}
		if value, err := xattr(from, name); err == nil {
			_ = unix.Fsetxattr(to, name, value, 0)
		}
	}
}

// setTimes gives the file the times of another one, as far as that is permitted.
func setTimes(f *os.File, from *syscall.Stat_t) {
	times := []unix.Timespec{unix.Timespec(from.Atim), unix.Timespec(from.Mtim)}
	if unix.UtimesNanoAt(int(f.Fd()), "", times, unix.AT_EMPTY_PATH) != nil {
		// An old kernel; microseconds have to do.
		_ = unix.Futimes(int(f.Fd()), []unix.Timeval{unix.NsecToTimeval(times[0].Nano()), unix.NsecToTimeval(times[1].Nano())})
	}
}
