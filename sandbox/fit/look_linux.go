package fit

import (
	"os"

	"golang.org/x/sys/unix"
)

// look describes the entry at a canonical path without following any link.
func look(p string) (Node, error) {
	st, err := stat(p)
	if err != nil || st == nil {
		return Node{Path: p}, err
	}
	return Node{Path: p, Kind: kindOf(st.Mode), ID: ID{st.Dev, st.Ino}}, nil
}

// tries is how often an entry is opened if the kernel asks to try again.
const tries = 10

// OpenEntry opens what stands at a canonical path, to look at it or to put rules on it. It follows no link: a link
// on the way is ELOOP, and a link at the path itself is what is opened. The error is an error number.
func OpenEntry(p string) (int, error) { return openEntry(unix.AT_FDCWD, p, 0) }

// OpenEntryBelow is OpenEntry for a path below an open directory, which the path cannot leave.
func OpenEntryBelow(dir int, p string) (int, error) { return openEntry(dir, p, unix.RESOLVE_BENEATH) }

// openEntry tries openat2 again after EAGAIN, which the kernel returns if something was renamed meanwhile and it
// cannot rule out that ".." led elsewhere. A program that renames all the time could keep this process here for
// ever, so the tries are bounded; after the last one the entry counts as not to be opened.
func openEntry(dir int, p string, resolve uint64) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | resolve,
	}
	for range tries {
		if fd, err = unix.Openat2(dir, p, &how); err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return fd, err
}

// stat is nil for what is not there.
func stat(p string) (*unix.Stat_t, error) {
	fd, err := OpenEntry(p)
	switch err {
	case nil:
		var st unix.Stat_t
		err = unix.Fstat(fd, &st)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
		return &st, nil
	case unix.ENOENT, unix.ENOTDIR:
		return nil, nil
	case unix.ELOOP:
		return nil, errLink
	case unix.ENOSYS:
		// A kernel this old has no Landlock either: nothing will be held here.
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err == unix.ENOENT || err == unix.ENOTDIR {
			return nil, nil
		} else if err != nil {
			return nil, err
		}
		return &st, nil
	}
	return nil, err
}

func kindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFREG:
		return File
	case unix.S_IFLNK:
		return Link
	}
	return Special
}

func measure(p string) (mark, error) {
	st, err := stat(p)
	m := mark{Node: Node{Path: p}}
	if err != nil || st == nil {
		return m, err
	}
	m.Kind, m.ID = kindOf(st.Mode), ID{st.Dev, st.Ino}
	m.mode, m.links, m.size = st.Mode, uint64(st.Nlink), st.Size
	m.mtime, m.ctime = st.Mtim.Nano(), st.Ctim.Nano()
	return m, nil
}

// readLink is where the symlink at a canonical path leads.
func readLink(p string) (string, error) {
	fd, err := OpenEntry(p)
	if err == unix.ENOSYS { // as in stat
		return os.Readlink(p)
	}
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	b := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", b)
	return string(b[:max(n, 0)]), err
}

// mayMakeIn says why no directory can be made in a directory.
func mayMakeIn(dir string) error {
	return unix.Faccessat(unix.AT_FDCWD, dir, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
}
