package wspath

import (
	"errors"
	"io/fs"
	"os"
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

// backend is what a platform must provide. Errors name no absolute path.
type backend interface {
	sub(path string) (backend, error)
	open(path string, flag int, perm fs.FileMode) (*os.File, error)
	lstat(path string) (fs.FileInfo, error)
	readlink(path string) (string, error)
	mkdir(path string, perm fs.FileMode) error
	symlink(target, path string) error
	remove(path string, dir bool) error
	rename(from string, to backend, target string, replace bool) error
	exchange(path, other string) error
	tempFile() (*os.File, error)
	linkFile(f *os.File, path string) error
	close() error
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
	return d.b.close()
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
func (d *Dir) OpenFile(path string, flag int, perm fs.FileMode) (*os.File, error) {
	f, err := d.b.open(path, flag, perm)
	return f, Bare(err)
}

// OpenDirFile opens the directory at path for listing.
func (d *Dir) OpenDirFile(path string) (*os.File, error) {
	f, err := d.b.open(path, oDirectory, 0)
	return f, Bare(err)
}

// Lstat describes the entry at path; a symlink is described itself.
func (d *Dir) Lstat(path string) (fs.FileInfo, error) {
	fi, err := d.b.lstat(path)
	return fi, Bare(err)
}

// Readlink returns the text of the symlink at path.
func (d *Dir) Readlink(path string) (string, error) {
	s, err := d.b.readlink(path)
	return s, Bare(err)
}

// Mkdir makes one directory, with perm less the umask.
func (d *Dir) Mkdir(path string, perm fs.FileMode) error {
	return Bare(d.b.mkdir(path, perm))
}

// Symlink makes a symlink with the given text.
func (d *Dir) Symlink(text, path string) error { return Bare(d.b.symlink(text, path)) }

// Remove removes the file or symlink at path; not a directory.
func (d *Dir) Remove(path string) error { return Bare(d.b.remove(path, false)) }

// RemoveDir removes the empty directory at path.
func (d *Dir) RemoveDir(path string) error { return Bare(d.b.remove(path, true)) }

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
func (d *Dir) LinkFile(f *os.File, path string) error { return Bare(d.b.linkFile(f, path)) }
