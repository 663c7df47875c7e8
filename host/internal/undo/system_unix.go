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

// setOwner gives a file its owners back. Only the superuser can, and only they see files of others here.
func setOwner(f *os.File, s State) {
	if s.UID >= 0 && s.GID >= 0 {
		if fi, err := f.Stat(); err == nil {
			if uid, gid := ownerOf(fi); uid != s.UID || gid != s.GID {
				_ = f.Chown(s.UID, s.GID)
			}
		}
	}
}
