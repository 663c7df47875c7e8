package wspath

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// rootDir is the portable backend. os.Root keeps every operation inside, but follows
// symlinks that stay inside; a path that was judged must not be led to another place
// inside either. So each directory on the way is compared with what Lstat saw: a
// directory opened through a symlink is another one.
type rootDir struct{ *os.Root }

func openRoot(abs string) (backend, error) {
	r, err := os.OpenRoot(filepath.FromSlash(abs))
	return rootDir{r}, err
}

func (d rootDir) probe(path string) (mode fs.FileMode, err error) {
	err = at(d, path, func(dir backend, name string) error {
		fi, err := dir.Lstat(name)
		switch {
		case err != nil:
			return err
		case fi.Mode()&fs.ModeSymlink != 0:
			return ErrChanged
		case fi.IsDir():
			mode = fs.ModeDir
		case !fi.Mode().IsRegular():
			mode = fs.ModeIrregular
		}
		return nil
	})
	return mode, Bare(err)
}

// sub opens the directory at path component by component.
func (d rootDir) sub(path string) (backend, error) {
	cur, err := d.OpenRoot(".")
	for path != "" && err == nil {
		var name string
		name, path, _ = strings.Cut(path, "/")
		above := cur
		cur, err = openSame(above, name)
		above.Close()
	}
	return rootDir{cur}, err
}

// openSame opens an entry that Lstat shows to be a directory.
func openSame(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, ErrChanged
	case !seen.IsDir():
		return nil, syscall.ENOTDIR
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, got) {
		err = ErrChanged
	}
	if err != nil {
		next.Close()
	}
	return next, err
}

func (d rootDir) list(path string) (*os.File, error) {
	dir, err := d.sub(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return dir.(rootDir).Open(".")
}

func (d rootDir) open(name string, flag int, perm fs.FileMode) (*os.File, error) {
	seen, err := d.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
		// O_EXCL: what appears in between is not what was looked at.
		return d.OpenFile(name, flag|os.O_EXCL, perm)
	case err != nil:
		return nil, err
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, ErrChanged
	case seen.IsDir():
		return nil, syscall.EISDIR
	case !seen.Mode().IsRegular():
		return nil, ErrNotRegular
	}
	f, err := d.OpenFile(name, flag&^os.O_TRUNC, perm)
	if err != nil {
		return nil, err
	}
	got, err := f.Stat()
	if err == nil && !os.SameFile(seen, got) {
		err = ErrChanged
	}
	if err == nil && flag&os.O_TRUNC != 0 {
		err = f.Truncate(0)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (d rootDir) remove(name string, isDir bool) error {
	fi, err := d.Lstat(name)
	switch {
	case err != nil:
		return err
	case isDir && !fi.IsDir():
		return syscall.ENOTDIR
	case !isDir && fi.IsDir():
		return syscall.EISDIR
	}
	return d.Remove(name)
}

// rename works within one held directory only: os.Root cannot rename between two.
// The paths are canonical, and both parents are held to what they were.
func (d rootDir) rename(path string, to backend, target string, replace bool) error {
	other, ok := to.(rootDir)
	if !ok {
		return ErrUnsupported
	}
	here, err := d.Stat(".")
	there, err2 := other.Stat(".")
	switch {
	case err != nil || err2 != nil:
		return cmp.Or(err, err2)
	case !os.SameFile(here, there):
		return syscall.EXDEV
	}
	for _, p := range []string{path, target} {
		parent, err := d.sub(ParentOf(p))
		if err != nil {
			return err
		}
		parent.Close()
	}
	if replace {
		return d.Rename(path, target)
	}
	if fi, err := d.Lstat(path); err == nil && fi.Mode().IsRegular() {
		if err := d.Link(path, target); err != nil {
			return err
		}
		return d.Remove(path)
	}
	if _, err := d.Lstat(target); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.Rename(path, target)
}

func (d rootDir) exchange(string, string) error {
	return fmt.Errorf("exchanging two entries: %w", ErrUnsupported)
}

func (d rootDir) tempFile() (*os.File, error) {
	return nil, fmt.Errorf("a file without a name: %w", ErrUnsupported)
}

func (d rootDir) linkFile(*os.File, string) error { return ErrUnsupported }
