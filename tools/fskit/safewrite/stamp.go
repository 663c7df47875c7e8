package safewrite

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os"
)

// stamp shows, without reading the file, whether it was written to. It does not see what is
// written through a memory mapping that was dirty already.
type stamp struct {
	device, inode uint64 // 0 where they cannot be had
	size          int64
	mtime, ctime  int64 // nanoseconds; ctime is 0 where there is none
}

func stampOf(f *os.File) (stamp, error) {
	fi, err := f.Stat()
	if err != nil {
		return stamp{}, err
	}
	device, inode := fileID(f, fi)
	return stamp{device, inode, fi.Size(), fi.ModTime().UnixNano(), changeTime(fi)}, nil
}

// stampOfEntry is the stamp of what is not opened.
func stampOfEntry(fi fs.FileInfo) stamp {
	device, inode := fileID(nil, fi)
	return stamp{device, inode, fi.Size(), fi.ModTime().UnixNano(), changeTime(fi)}
}

// sameContent leaves out the ctime, which renaming changes too.
func (s stamp) sameContent(other stamp) bool {
	s.ctime, other.ctime = 0, 0
	return s == other
}

// settled reports whether any write after now changes the mtime: a clock that ticks gives
// the same one to writes that are close together.
func (s stamp) settled(now int64) bool {
	const millisecond = 1_000_000
	tick := int64(100 * millisecond) // that of a kernel is 10 ms at most
	if s.mtime%(1000*millisecond) == 0 {
		tick = 3000 * millisecond // a file system that has whole seconds, or two
	}
	return now-s.mtime > tick
}

// id identifies the old file in a temporary's name; it is never 0. It covers size and time, so that [Sweep] does
// not remove an old file that was written to since.
func (s stamp) id() uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d-%d-%d", s.inode, s.size, s.mtime))
	return max(1, binary.BigEndian.Uint64(sum[:]))
}

// version is the stamp for the token of a question.
func (s stamp) version() string {
	return fmt.Sprintf("stamp:%d-%d-%d-%d-%d", s.device, s.inode, s.size, s.mtime, s.ctime)
}
