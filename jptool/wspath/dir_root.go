package wspath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// rootDir is the portable backend. os.Root keeps every operation inside, but follows
// symlinks that stay inside; a path that was judged must not be led to another place
// inside either. So each directory on the way is compared with what Lstat saw: a
// directory opened through a symlink is another one.
type rootDir struct{ root *os.Root }

func openRootBackend(abs string) (backend, error) {
	r, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return rootDir{r}, nil
}

func probeByLstat(d *Dir, path string) (fs.FileMode, error) {
	fi, err := d.Lstat(path)
	if err != nil {
		return 0, err
	}
	switch {
	case fi.Mode().IsRegular():
		return 0, nil
	case fi.IsDir():
		return fs.ModeDir, nil
	case fi.Mode()&fs.ModeSymlink != 0:
		return 0, ErrChanged
	}
	return fs.ModeIrregular, nil
}

// descend opens the directory at path component by component.
func (d rootDir) descend(path string) (*os.Root, error) {
	cur, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		next, err := step1(cur, name)
		cur.Close()
		if err != nil {
			return nil, err
		}
		cur = next
	}
	return cur, nil
}

func step1(cur *os.Root, name string) (*os.Root, error) {
	seen, err := cur.Lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case seen.Mode()&fs.ModeSymlink != 0:
		return nil, ErrChanged
	case !seen.IsDir():
		return nil, syscall.ENOTDIR
	}
	next, err := cur.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	got, err := next.Stat(".")
	if err == nil && !os.SameFile(seen, got) {
		err = ErrChanged
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (d rootDir) at(path string, f func(dir *os.Root, name string) error) error {
	i := strings.LastIndexByte(path, '/')
	name := path[i+1:]
	if name == "" {
		name = "."
	}
	dir := d.root
	if i >= 0 {
		sub, err := d.descend(path[:i])
		if err != nil {
			return err
		}
		defer sub.Close()
		dir = sub
	}
	return f(dir, name)
}

func (d rootDir) sub(path string) (backend, error) {
	r, err := d.descend(path)
	if err != nil {
		return nil, err
	}
	return rootDir{r}, nil
}

func (d rootDir) open(path string, flag int, perm fs.FileMode) (*os.File, error) {
	var f *os.File
	err := d.at(path, func(dir *os.Root, name string) error {
		seen, err := dir.Lstat(name)
		wantDir := flag&oDirectory != 0
		switch {
		case errors.Is(err, fs.ErrNotExist) && flag&os.O_CREATE != 0:
			// O_EXCL: what appears in between is not what was looked at.
			f, err = dir.OpenFile(name, flag|os.O_EXCL, perm)
			return err
		case err != nil:
			return err
		case seen.Mode()&fs.ModeSymlink != 0:
			return ErrChanged
		case wantDir && !seen.IsDir():
			return syscall.ENOTDIR
		case !wantDir && seen.IsDir():
			return syscall.EISDIR
		case !wantDir && !seen.Mode().IsRegular():
			return ErrNotRegular
		}
		f, err = dir.OpenFile(name, flag&^(os.O_TRUNC|oDirectory), perm)
		if err != nil {
			return err
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
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d rootDir) lstat(path string) (fi fs.FileInfo, err error) {
	err = d.at(path, func(dir *os.Root, name string) error {
		fi, err = dir.Lstat(name)
		return err
	})
	return fi, err
}

func (d rootDir) readlink(path string) (text string, err error) {
	err = d.at(path, func(dir *os.Root, name string) error {
		text, err = dir.Readlink(name)
		return err
	})
	return text, err
}

func (d rootDir) mkdir(path string, perm fs.FileMode) error {
	return d.at(path, func(dir *os.Root, name string) error { return dir.Mkdir(name, perm) })
}

func (d rootDir) symlink(text, path string) error {
	return d.at(path, func(dir *os.Root, name string) error { return dir.Symlink(text, name) })
}

func (d rootDir) remove(path string, isDir bool) error {
	return d.at(path, func(dir *os.Root, name string) error {
		fi, err := dir.Lstat(name)
		if err != nil {
			return err
		}
		switch {
		case isDir && !fi.IsDir():
			return syscall.ENOTDIR
		case !isDir && fi.IsDir():
			return syscall.EISDIR
		}
		return dir.Remove(name)
	})
}

// rename works within one held directory only: os.Root cannot rename between two.
// The paths are canonical, and both parents are held to what they were.
func (d rootDir) rename(path string, to backend, target string, replace bool) error {
	other, ok := to.(rootDir)
	if !ok {
		return ErrUnsupported
	}
	same, err := sameDir(d.root, other.root)
	if err != nil {
		return err
	}
	if !same {
		return syscall.EXDEV
	}
	for _, p := range []string{path, target} {
		parent, err := d.descend(ParentOf(p))
		if err != nil {
			return err
		}
		parent.Close()
	}
	if replace {
		return d.root.Rename(path, target)
	}
	if fi, err := d.root.Lstat(path); err == nil && fi.Mode().IsRegular() {
		if err := d.root.Link(path, target); err != nil {
			return err
		}
		return d.root.Remove(path)
	}
	if _, err := d.root.Lstat(target); err == nil {
		return fs.ErrExist
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.root.Rename(path, target)
}

func sameDir(a, b *os.Root) (bool, error) {
	x, err := a.Stat(".")
	if err != nil {
		return false, err
	}
	y, err := b.Stat(".")
	return err == nil && os.SameFile(x, y), err
}

func (d rootDir) exchange(string, string) error {
	return fmt.Errorf("exchanging two entries: %w", ErrUnsupported)
}

func (d rootDir) tempFile() (*os.File, error) {
	return nil, fmt.Errorf("a file without a name: %w", ErrUnsupported)
}

func (d rootDir) linkFile(*os.File, string) error { return ErrUnsupported }

func (d rootDir) close() error { return d.root.Close() }
