package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// unbounded is a number of entries that no directory has.
const unbounded = math.MaxInt

var errMuch = errors.New("there is more in it than is removed at once")

// Remove removes a private directory without its Dir, when the process that made it is gone.
func Remove(path string) error {
	in, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return err
	}
	keep(in, filepath.Base(path)) // nobody is left to be told
	left := unbounded
	return errors.Join(removeAll(in, filepath.Base(path), &left), in.Close())
}

// removeAll removes a directory that a program could do anything in: take away its own rights on
// what is below, nest directories deeper than descriptors or the length of paths go, or replace it,
// where it may write around it. No symlink is followed, that in its own place included. It counts
// what it removes down from left, and stops there.
func removeAll(in *os.Root, name string, left *int) error {
	is, err := in.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := in.Remove(name); err == nil || !is.IsDir() { // mostly it is empty
		return err
	}
	root, err := in.OpenRoot(name)
	if errors.Is(err, fs.ErrPermission) {
		_ = in.Chmod(name, 0o700)
		root, err = in.OpenRoot(name)
	}
	if err != nil {
		return err
	}
	at, err := root.Stat(".")
	if err == nil && !os.SameFile(is, at) {
		err = errors.New("it was replaced meanwhile")
	}
	if err == nil {
		err = empty(root, left)
	}
	if err := errors.Join(err, root.Close()); err != nil {
		return fmt.Errorf("removing %s: %w", filepath.Join(in.Name(), name), err)
	}
	return in.Remove(name)
}

// empty removes everything in a directory. What lies in a subdirectory is moved up before it is looked
// into, so that no path and no recursion is longer than the next one.
func empty(root *os.Root, left *int) error {
	if err := root.Chmod(".", 0o700); err != nil {
		return err
	}
	up := random()
	if err := root.Mkdir(up, 0o700); err != nil {
		return err
	}
	moved := 0
	dirs := []string{"."}
	for len(dirs) > 0 {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		err := entries(root, dir, func(e fs.DirEntry) error {
			name := filepath.Join(dir, e.Name())
			if name == up {
				return nil
			}
			if *left--; *left < 0 {
				return errMuch
			}
			err := root.Remove(name)
			if err == nil || !e.IsDir() {
				return err
			}
			if err := root.Chmod(name, 0o700); err != nil { // or it cannot be moved
				return err
			}
			moved++
			to := filepath.Join(up, strconv.Itoa(moved))
			dirs = append(dirs, to)
			return root.Rename(name, to)
		})
		if err == nil && dir != "." {
			err = root.Remove(dir)
		}
		if err != nil {
			return err
		}
	}
	return root.Remove(up)
}

// entries calls do for what a directory holds.
func entries(root *os.Root, dir string, do func(fs.DirEntry) error) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	for {
		list, err := f.ReadDir(1024)
		for _, e := range list {
			if err := do(e); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// keeping ends the names of directories of which something is kept.
const keeping = "-k"

// mostKept bounds what is kept of one call, mostLooked at how many entries is looked for it.
const mostKept, mostLooked = 64, 10_000

// Keep saves what tools leave of files that they were writing when they were killed: regular files named
// jptool-*.old, directly in the directory. They get names beside it, which nothing removes but a person;
// it returns their paths. Call it before Remove. It does nothing unless the name is one of
// [Shelf.NameToKeep].
func (p *Dir) Keep() []string {
	var paths []string
	for _, name := range keep(p.in, p.name) {
		paths = append(paths, filepath.Join(p.in.Name(), name))
	}
	return paths
}

// keep renames within one file system: that takes no room and works on a full disk.
func keep(in *os.Root, name string) (kept []string) {
	if !strings.HasSuffix(name, keeping) {
		return nil
	}
	dir, err := in.OpenRoot(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	list, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer list.Close()
	names, _ := list.Readdirnames(mostLooked)
	for _, old := range names {
		is, err := dir.Lstat(old)
		if ok, _ := filepath.Match("jptool-*.old", old); !ok || err != nil || !is.Mode().IsRegular() || len(kept) == mostKept {
			continue
		}
		to := "jphost-kept-" + random() + ".old" // never the name that a program chose
		if in.Rename(filepath.Join(name, old), to) == nil {
			kept = append(kept, to)
		}
	}
	return kept
}
