package wspath

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
)

// ErrChanged: a symlink stood in a path that had none when it was resolved. Somebody
// changed the tree in between; resolving again gives a new answer.
var ErrChanged = errors.New("the path changed while it was being used")

// ErrNotRegular: the path names a FIFO, a device, a socket, or something else that is
// neither file nor directory. Nothing was opened.
var ErrNotRegular = errors.New("not a regular file or directory")

// ErrUnsupported: this platform or file system cannot do the operation.
var ErrUnsupported = errors.New("not supported here")

// Dir is a directory held open. Every method takes a slash path in normal form below
// it and reaches it without following any symlink, final or not, so that a path which
// was canonical when it was judged cannot lead elsewhere. "" is the directory itself.
//
// On Linux it holds an O_PATH descriptor, which needs no right to list the directory,
// and uses openat2 with RESOLVE_BENEATH, RESOLVE_NO_SYMLINKS and
// RESOLVE_NO_MAGICLINKS. Elsewhere it holds an [os.Root], which needs the right to
// list it, and checks each component by identity.
type Dir struct {
	b      backend
	closed atomic.Bool
}

// backend is a directory held open in the way of one platform. A name is one component, or "." for the directory
// itself, and a path is a slash path in normal form; neither is reached through a symlink.
type backend interface {
	sub(path string) (backend, error)
	probe(path string) (fs.FileMode, error)
	list(path string) (*os.File, error)
	open(name string, flag int, perm fs.FileMode) (*os.File, error)
	Lstat(name string) (fs.FileInfo, error)
	Readlink(name string) (string, error)
	Mkdir(name string, perm fs.FileMode) error
	Symlink(text, name string) error
	remove(name string, dir bool) error
	rename(path string, to backend, target string, replace bool) error
	exchange(path, other string) error
	tempFile() (*os.File, error)
	linkFile(f *os.File, name string) error
	Close() error
}

// at calls f with the directory that holds the last component of path, and with that component.
func at(b backend, path string, f func(dir backend, name string) error) error {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return f(b, cmp.Or(path, "."))
	}
	parent, err := b.sub(path[:i])
	if err != nil {
		return err
	}
	defer parent.Close()
	return f(parent, path[i+1:])
}

// OpenDir holds the directory at a canonical absolute path; "" is "/", as ParentOf says.
func OpenDir(canonicalAbs string) (*Dir, error) {
	if canonicalAbs == "" {
		canonicalAbs = "/"
	}
	b, err := openBackend(canonicalAbs)
	if err != nil {
		return nil, Bare(err)
	}
	return &Dir{b: b}, nil
}

// Close releases the directory. To close it again does nothing: its descriptor may be somebody else's by then.
func (d *Dir) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.b.Close()
}

// Sub holds the directory at path.
func (d *Dir) Sub(path string) (*Dir, error) {
	b, err := d.b.sub(path)
	if err != nil {
		return nil, Bare(err)
	}
	return &Dir{b: b}, nil
}

// Open opens a regular file for reading. Anything else gives ErrNotRegular or, for a
// directory, an error wrapping EISDIR; a FIFO or device is not opened and does not block.
func (d *Dir) Open(path string) (*os.File, error) {
	return d.OpenFile(path, os.O_RDONLY, 0)
}

// OpenFile opens or creates a regular file; flag and perm are those of os.OpenFile.
func (d *Dir) OpenFile(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	err = at(d.b, path, func(dir backend, name string) (err error) {
		f, err = dir.open(name, flag, perm)
		return err
	})
	return f, Bare(err)
}

// OpenDirFile opens the directory at path for listing.
func (d *Dir) OpenDirFile(path string) (*os.File, error) {
	f, err := d.b.list(path)
	return f, Bare(err)
}

// Probe reports what stands at a canonical path below d: 0 for a regular file, fs.ModeDir for a directory,
// fs.ModeIrregular for the rest. A symlink anywhere, also last, gives ErrChanged.
func (d *Dir) Probe(path string) (fs.FileMode, error) { return d.b.probe(path) }

// Lstat describes the entry at path; a symlink is described itself.
func (d *Dir) Lstat(path string) (fi fs.FileInfo, err error) {
	err = at(d.b, path, func(dir backend, name string) (err error) {
		fi, err = dir.Lstat(name)
		return err
	})
	return fi, Bare(err)
}

// Readlink returns the text of the symlink at path.
func (d *Dir) Readlink(path string) (text string, err error) {
	err = at(d.b, path, func(dir backend, name string) (err error) {
		text, err = dir.Readlink(name)
		return err
	})
	return text, Bare(err)
}

// Mkdir makes one directory, with perm less the umask.
func (d *Dir) Mkdir(path string, perm fs.FileMode) error {
	return Bare(at(d.b, path, func(dir backend, name string) error { return dir.Mkdir(name, perm) }))
}

// Symlink makes a symlink with the given text.
func (d *Dir) Symlink(text, path string) error {
	return Bare(at(d.b, path, func(dir backend, name string) error { return dir.Symlink(text, name) }))
}

// Remove removes the file or symlink at path; not a directory.
func (d *Dir) Remove(path string) error {
	return Bare(at(d.b, path, func(dir backend, name string) error { return dir.remove(name, false) }))
}

// RemoveDir removes the empty directory at path.
func (d *Dir) RemoveDir(path string) error {
	return Bare(at(d.b, path, func(dir backend, name string) error { return dir.remove(name, true) }))
}

// Rename moves the entry at path to target below the directory to, replacing a file
// or symlink there.
func (d *Dir) Rename(path string, to *Dir, target string) error {
	return Bare(d.b.rename(path, to.b, target, true))
}

// RenameNew is Rename that fails with fs.ErrExist when target exists.
func (d *Dir) RenameNew(path string, to *Dir, target string) error {
	return Bare(d.b.rename(path, to.b, target, false))
}

// Exchange swaps two entries below d in one step, or returns ErrUnsupported.
func (d *Dir) Exchange(path, other string) error { return Bare(d.b.exchange(path, other)) }

// TempFile opens, for writing only, a file without a name on the directory's file
// system, or returns ErrUnsupported. Its mode is 0666 less the umask. It vanishes when
// closed unless LinkFile gave it a name.
func (d *Dir) TempFile() (*os.File, error) {
	f, err := d.b.tempFile()
	return f, Bare(err)
}

// LinkFile gives a file without a name the name path; fs.ErrExist when that exists.
func (d *Dir) LinkFile(f *os.File, path string) error {
	return Bare(at(d.b, path, func(dir backend, name string) error { return dir.linkFile(f, name) }))
}
