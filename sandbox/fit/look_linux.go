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

// How OpenEntry calls openat2, for who cannot call it.
const (
	EntryFlags   = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	EntryResolve = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
)

// maxAgain is how often openat2 is tried again after EAGAIN.
const maxAgain = 10

// OpenEntry opens what stands at a canonical path, for looking at it and for rules on it only. It follows
// no link: one on the way is ELOOP, one in the place itself is what is opened. The error is a number.
func OpenEntry(p string) (int, error) {
	how := unix.OpenHow{Flags: EntryFlags, Resolve: EntryResolve}
	for again := 0; ; {
		fd, err := unix.Openat2(unix.AT_FDCWD, p, &how)
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN && again < maxAgain:
			// The kernel may ask for this when something is renamed while it resolves. Who renames all the time must
			// not keep the host here for ever; it refuses then.
			again++
		default:
			return fd, err
		}
	}
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
