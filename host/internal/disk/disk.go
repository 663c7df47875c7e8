// Package disk is the file system that configuration and user-local state are kept on, as an
// interface, so that tests can make every step fail. It is no library's: the one for this
// purpose links an HTTP and TLS stack into every program that names it, which takes longer
// to start than everything else that the host does.
package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jptools/jptools/jptool/wspath"
)

// FS is what is needed of a file system. Methods behave as the functions of package os
// with the same names, but where they say of which; errors too.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (File, error)
	// OpenBelow opens the regular file at the slash path name below the directory dir for reading. Both
	// are canonical: no link is followed, whatever has come to stand there in the meantime.
	OpenBelow(dir, name string) (File, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	// EvalSymlinks is that of package filepath, in fewer steps.
	EvalSymlinks(name string) (string, error)
	ReadDir(name string) ([]fs.DirEntry, error)
	MkdirAll(name string, perm fs.FileMode) error
	Chmod(name string, mode fs.FileMode) error
	Rename(from, to string) error
	Remove(name string) error
}

// File is an open file.
type File interface {
	io.ReadWriteCloser
	Name() string
	Sync() error
}

// OS is the real file system.
var OS FS = system{}

type system struct{}

func (system) OpenFile(name string, flag int, perm fs.FileMode) (File, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err // not a File that holds a nil
	}
	return f, nil
}

func (system) OpenBelow(dir, name string) (File, error) {
	d, err := wspath.OpenDir(filepath.ToSlash(dir))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	f, err := d.Open(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (system) Stat(name string) (fs.FileInfo, error)        { return os.Stat(name) }
func (system) Lstat(name string) (fs.FileInfo, error)       { return os.Lstat(name) }
func (system) EvalSymlinks(name string) (string, error)     { return wspath.EvalSymlinks(name) }
func (system) ReadDir(name string) ([]fs.DirEntry, error)   { return os.ReadDir(name) }
func (system) MkdirAll(name string, perm fs.FileMode) error { return os.MkdirAll(name, perm) }
func (system) Chmod(name string, mode fs.FileMode) error    { return os.Chmod(name, mode) }
func (system) Rename(from, to string) error                 { return os.Rename(from, to) }
func (system) Remove(name string) error                     { return os.Remove(name) }
