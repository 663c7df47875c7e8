package fit

import "golang.org/x/sys/unix"

// OpenEntry opens what stands at a canonical path, to look at it or to put rules on it: in the host's tree
// (unix.AT_FDCWD), or in the tree below an open directory, which the path cannot leave. It follows no link: a link on
// the way is ELOOP, and a link at the path itself is what is opened. The error is an error number.
//
// It tries openat2 again after EAGAIN, which the kernel returns if something was renamed meanwhile and it cannot rule
// out that ".." led elsewhere. A program that renames all the time could keep this process here for ever, so the tries
// are bounded; after the last one the entry counts as not to be opened.
func OpenEntry(root int, p string) (fd int, err error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	if root != unix.AT_FDCWD {
		p, how.Resolve = "."+p, how.Resolve|unix.RESOLVE_BENEATH
	}
	for range 10 {
		if fd, err = unix.Openat2(root, p, &how); err != unix.EAGAIN && err != unix.EINTR {
			break
		}
	}
	return fd, err
}

// openToLook is OpenEntry for looking only. A kernel without openat2 has no Landlock either: nothing will be
// enforced here, and a link on the way may be followed.
func openToLook(p string) (int, error) {
	fd, err := OpenEntry(unix.AT_FDCWD, p)
	if err == unix.ENOSYS {
		fd, err = unix.Open(p, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	return fd, err
}

// measure describes the entry at a canonical path without following any link.
func measure(p string) (mark, error) {
	m := mark{Node: Node{Path: p}}
	fd, err := openToLook(p)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR:
		return m, nil
	case unix.ELOOP:
		return m, errLink
	default:
		return m, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return m, err
	}
	m.Kind, m.ID = Special, ID{st.Dev, st.Ino}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m.Kind = Dir
	case unix.S_IFREG:
		m.Kind = File
	case unix.S_IFLNK:
		m.Kind = Link
	}
	m.mode, m.links, m.size = st.Mode, uint64(st.Nlink), st.Size
	m.mtime, m.ctime = st.Mtim.Nano(), st.Ctim.Nano()
	return m, nil
}

// readLink is where the symlink at a canonical path leads.
func readLink(p string) (string, error) {
	fd, err := openToLook(p)
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
