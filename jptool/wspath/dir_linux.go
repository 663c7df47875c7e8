package wspath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool/internal/testhook"
)

const (
	noLinks       = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	resolveStrict = unix.RESOLVE_BENEATH | noLinks
)

// haveOpenat2 reports whether the kernel has openat2 and lets us use it. By the error of another call that cannot
// be told: filters refuse with whatever they like.
var haveOpenat2 = sync.OnceValue(func() bool {
	fd, err := unix.Openat2(unix.AT_FDCWD, "/", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC})
	if err != nil {
		return err == unix.EMFILE || err == unix.ENFILE
	}
	unix.Close(fd)
	return true
})

func openBackend(abs string) (backend, error) {
	if testhook.Portable.Load() {
		return openRoot(abs)
	}
	// No link may be on the way to a canonical path.
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_DIRECTORY, Resolve: noLinks}
	fd, err := openHow(unix.AT_FDCWD, abs, how)
	switch {
	case err == nil:
		return fdDir(fd), nil
	case haveOpenat2():
		return nil, err
	}
	return openRoot(abs)
}

// fdDir is an O_PATH descriptor of a directory.
type fdDir int

func openat2(dir int, path string, flags uint64, perm fs.FileMode) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolveStrict}
	if flags&unix.O_CREAT != 0 || flags&unix.O_TMPFILE == unix.O_TMPFILE {
		how.Mode = uint64(perm.Perm())
	}
	return openHow(dir, path, how)
}

// maxAgain is how often openat2 is tried again after EAGAIN. With pauses that double from a
// millisecond it is a second in all.
const maxAgain = 10

// openHow is openat2 with all of its parameters; a link where there may be none is ErrChanged.
//
// EAGAIN has two reasons. With RESOLVE_BENEATH the kernel gives up on a path with `..` when anything
// in the system was renamed or mounted meanwhile, as it cannot tell any more whether the path stayed below. Our
// paths are canonical and have none. And with O_NONBLOCK, which keeps a FIFO from stopping us, a file that
// somebody holds a lease on is not waited for. Both can be brought about for as long as an attacker likes. Being
// refused, he would gain nothing but a tool that spins: so the retries are bounded, and then the path counts as
// changed by somebody else, which is what it is. A holder who answers the breaking of his lease does so in time.
func openHow(dir int, path string, how unix.OpenHow) (int, error) {
	for again := 0; ; {
		fd, err := unix.Openat2(dir, path, &how)
		switch err {
		case nil:
			return fd, nil
		case unix.EINTR:
			continue
		case unix.EAGAIN:
			if again == maxAgain {
				return -1, ErrChanged
			}
			time.Sleep(time.Millisecond << again)
			again++
			continue
		case unix.ELOOP, unix.EXDEV:
			return -1, ErrChanged
		}
		return -1, err
	}
}

// probe needs one system call in the common case.
func (d fdDir) probe(path string) (fs.FileMode, error) {
	fd, err := openat2(int(d), path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd)
	return typeOf(fd)
}

// typeOf is probe for a descriptor.
func typeOf(fd int) (fs.FileMode, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return 0, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return 0, nil
	case unix.S_IFDIR:
		return fs.ModeDir, nil
	case unix.S_IFLNK:
		return 0, ErrChanged
	}
	return fs.ModeIrregular, nil
}

func (d fdDir) sub(path string) (backend, error) {
	fd, err := openat2(int(d), path, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return fdDir(fd), nil
}

func (d fdDir) list(path string) (*os.File, error) {
	fd, err := openat2(int(d), path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

func (d fdDir) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	// Look before opening: opening a device can have effects of its own.
	err := mustBeRegular(d.probe(name))
	if err != nil && (flag&unix.O_CREAT == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	// O_NONBLOCK, should a FIFO have taken the file's place since. No O_TRUNC until
	// the file is known to be one.
	fd, err := openat2(int(d), name, uint64(flag&^unix.O_TRUNC)|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW, perm)
	if err != nil {
		return nil, err
	}
	if err = mustBeRegular(typeOf(fd)); err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if flag&unix.O_TRUNC == 0 {
		return f, nil
	}
	if err := f.Truncate(0); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func mustBeRegular(mode fs.FileMode, err error) error {
	switch {
	case err != nil:
		return err
	case mode.IsDir():
		return unix.EISDIR
	case mode != 0:
		return ErrNotRegular
	}
	return nil
}

func (d fdDir) Lstat(name string) (fs.FileInfo, error) {
	fd, err := openat2(int(d), name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return f.Stat()
}

func (d fdDir) Readlink(name string) (string, error) {
	buf := make([]byte, unix.PathMax) // symlink(2) makes no longer text
	n, err := unix.Readlinkat(int(d), name, buf)
	if n == len(buf) {
		return "", unix.ENAMETOOLONG // it may be cut off
	}
	return string(buf[:max(n, 0)]), err
}

func (d fdDir) Mkdir(name string, perm fs.FileMode) error {
	return unix.Mkdirat(int(d), name, uint32(perm.Perm()))
}

func (d fdDir) Symlink(text, name string) error { return unix.Symlinkat(text, int(d), name) }

func (d fdDir) remove(name string, isDir bool) error {
	flags := 0
	if isDir {
		flags = unix.AT_REMOVEDIR
	}
	return unix.Unlinkat(int(d), name, flags)
}

func (d fdDir) rename(path string, to backend, target string, replace bool) error {
	var flags uint
	if !replace {
		flags = unix.RENAME_NOREPLACE
	}
	return d.renameat2(path, to, target, flags)
}

func (d fdDir) exchange(path, other string) error {
	return d.renameat2(path, d, other, unix.RENAME_EXCHANGE)
}

func (d fdDir) renameat2(path string, to backend, target string, flags uint) error {
	return at(d, path, func(from backend, name string) error {
		return at(to, target, func(into backend, newName string) error {
			old, ok := from.(fdDir)
			dir, both := into.(fdDir)
			if !ok || !both {
				return ErrUnsupported
			}
			err := unix.Renameat2(int(old), name, int(dir), newName, flags)
			switch {
			case flags == 0 || err != unix.EINVAL && err != unix.ENOSYS:
				return err
			case flags == unix.RENAME_EXCHANGE:
				return fmt.Errorf("exchanging two entries: %w", ErrUnsupported)
			}
			// Some file systems have no RENAME_NOREPLACE; link is as strict for files.
			if err := unix.Linkat(int(old), name, int(dir), newName, 0); err != nil {
				return err
			}
			return unix.Unlinkat(int(old), name, 0)
		})
	})
}

func (d fdDir) tempFile() (*os.File, error) {
	// Write only: where reading is not granted the kernel refuses O_RDWR. With the mode of
	// an ordinary new file the kernel applies the umask or the directory's default ACL.
	fd, err := openat2(int(d), "", unix.O_TMPFILE|unix.O_WRONLY, 0o666)
	switch err {
	case nil:
		return os.NewFile(uintptr(fd), "unnamed"), nil
	case unix.EOPNOTSUPP, unix.EISDIR, unix.ENOENT, unix.EINVAL:
		return nil, fmt.Errorf("a file without a name: %w", ErrUnsupported)
	}
	return nil, err
}

func (d fdDir) linkFile(f *os.File, name string) error {
	self := "/proc/self/fd/" + strconv.Itoa(int(f.Fd()))
	return unix.Linkat(unix.AT_FDCWD, self, int(d), name, unix.AT_SYMLINK_FOLLOW)
}

func (d fdDir) Close() error { return unix.Close(int(d)) }
