package walk

import (
	"bytes"
	"encoding/binary"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fdDir is a directory by its descriptor. It saves what [os.File] costs for each file in it:
// a finalizer, a look at the kind, an attempt to register for polling.
type fdDir struct {
	fd int
	f  *os.File // owns fd
}

func fastDir(f *os.File) dir { return &fdDir{fd: int(f.Fd()), f: f} }

// typesUnknown makes every entry look as on a file system whose listings do not say what
// the entries are; tests set it.
var typesUnknown = false

// The layout of linux_dirent64, the same on every architecture.
const (
	direntReclen = 16
	direntType   = 18
	direntName   = 19
)

func (d *fdDir) read(l *listing) error {
	if l.buf == nil {
		l.buf = make([]byte, 64<<10)
	}
	for {
		n, err := unix.Getdents(d.fd, l.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		for rest := l.buf[:n]; len(rest) > direntName; {
			size := int(binary.NativeEndian.Uint16(rest[direntReclen:]))
			if size <= direntName || size > len(rest) {
				return io.ErrUnexpectedEOF
			}
			name, _, _ := bytes.Cut(rest[direntName:size], []byte{0})
			k := kindOfType(rest[direntType])
			if typesUnknown {
				k = kindUnknown
			}
			if string(name) != "." && string(name) != ".." {
				l.add(name, k)
			}
			rest = rest[size:]
		}
	}
}

func (d *fdDir) kindOf(name string) (kind, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return kindMissing, err
	}
	return kindOfType(uint8(st.Mode & unix.S_IFMT >> 12)), nil
}

// kindOfType takes the type of a directory entry, which is that of a mode shifted by 12 bits.
func kindOfType(t uint8) kind {
	switch t {
	case unix.DT_REG:
		return kindFile
	case unix.DT_DIR:
		return kindDir
	case unix.DT_LNK:
		return kindLink
	case unix.DT_UNKNOWN:
		return kindUnknown
	}
	return kindOther
}

func (d *fdDir) openFile(name string, f *File) (err error) {
	f.f, err = nil, unix.EINTR
	for err == unix.EINTR {
		f.fd, err = unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	}
	return err
}

func (d *fdDir) same(fi fs.FileInfo) bool {
	other, ok := fi.Sys().(*syscall.Stat_t)
	var st unix.Stat_t
	return ok && unix.Fstat(d.fd, &st) == nil && st.Dev == other.Dev && st.Ino == other.Ino
}

func (d *fdDir) close() { d.f.Close() }

// Read implements [io.Reader].
func (f *File) Read(p []byte) (int, error) {
	if f.f != nil {
		return f.f.Read(p)
	}
	for {
		n, err := unix.Read(f.fd, p)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, err
		case n == 0 && len(p) > 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// Close closes the file.
func (f *File) Close() error {
	if f.f != nil {
		return f.f.Close()
	}
	return unix.Close(f.fd)
}
