package undo

import (
	"io/fs"
	"os"
)

// stampOf has no inode here, so that times and sizes alone tell versions apart.
func stampOf(fi fs.FileInfo) Stamp { return Stamp{Modified: fi.ModTime().UnixNano()} }

func ownerOf(fs.FileInfo) (uid, gid int) { return -1, -1 }

func names(fs.FileInfo) uint64 { return 1 }

func own(f *os.File, s State) error { return f.Chmod(s.Mode) }
