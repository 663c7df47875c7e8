//go:build unix

package undo

import (
	"io/fs"
	"os"
	"syscall"
)

func stampOf(fi fs.FileInfo) Stamp {
	s := Stamp{Modified: fi.ModTime().UnixNano()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode = uint64(st.Dev), uint64(st.Ino)
	}
	return s
}

func ownerOf(fi fs.FileInfo) (uid, gid int) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}

// names counts the names (hard links) of a file.
func names(fi fs.FileInfo) uint64 {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

// own gives a file its owners back, if this user can, and then its mode. A file that stays with other owners gets no
// setuid and setgid bits: it would give their rights to whoever runs content of somebody else.
func own(f *os.File, s State) error {
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	mode := s.Mode
	if uid, gid := ownerOf(fi); uid != s.UID || gid != s.GID {
		if err := f.Chown(s.UID, s.GID); err != nil {
			mode &^= fs.ModeSetuid | fs.ModeSetgid
		}
	}
	return f.Chmod(mode)
}
