// Package private makes directories for temporary files that belong to one call, and removes them
// whatever the call's program has made of them. A call whose process was killed leaves its directory
// behind; later calls find it, and remove it.
package private

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Shelf is where private directories are made: in a directory of the user's own, so that those
// which were left behind are found however much else there is, or among everything else where
// somebody else has taken its name. There nobody looks for what was left.
type Shelf struct {
	dir string
	own bool
}

// ShelfIn finds the shelf in a directory for temporary files. It makes nothing: most calls need
// none.
func ShelfIn(base string) Shelf {
	dir := filepath.Join(base, fmt.Sprintf("jphost-%d", os.Geteuid()))
	is, err := os.Lstat(dir)
	if err == nil && !ours(is) || err != nil && !errors.Is(err, fs.ErrNotExist) || !canLock {
		return Shelf{dir: base}
	}
	return Shelf{dir: dir, own: true}
}

// Name is one for a new directory. Nobody can guess it.
func (s Shelf) Name() string {
	name := fmt.Sprintf("%d-%s", os.Getpid(), random())
	if !s.own {
		return "jphost-" + name
	}
	return name
}

// NameToKeep is a Name for a directory of which [Dir.Keep] keeps something, also if later calls are what
// removes it.
func (s Shelf) NameToKeep() string { return s.Name() + keeping }

// Path is where the directory of that name is, once it is made.
func (s Shelf) Path(name string) string { return filepath.Join(s.dir, name) }

// Dir is the private directory of a call. It is locked: the lock goes when the process goes,
// however it ends, so whoever gets it knows that the directory was left behind.
type Dir struct {
	in   *os.Root
	name string
	lock *os.File
}

// Make makes a directory, mode 0700, and removes some that were left behind. That there is something of
// the name is an error.
func (s Shelf) Make(name string) (p *Dir, err error) {
	if s.own {
		err := os.Mkdir(s.dir, 0o700)
		if err == nil {
			err = os.Chmod(s.dir, 0o700) // whatever the umask is
		}
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	p = &Dir{name: name}
	if p.in, err = os.OpenRoot(s.dir); err != nil {
		return nil, err
	}
	if s.own {
		is, err := p.in.Stat(".")
		at, err2 := os.Lstat(s.dir) // what was opened may be behind a link
		if err := errors.Join(err, err2); err != nil || !ours(is) || !os.SameFile(is, at) {
			return nil, errors.Join(err, fmt.Errorf("%s is not a directory of this user alone", s.dir), p.in.Close())
		}
		sweep(p.in)
	}
	if err := p.in.Mkdir(name, 0o700); err != nil {
		return nil, errors.Join(err, p.in.Close())
	}
	err = p.in.Chmod(name, 0o700) // whatever the umask is
	if err == nil {
		p.lock, err = p.in.Open(name)
	}
	if err != nil {
		return nil, errors.Join(err, p.Remove())
	}
	// Where locks do not work nobody removes anything either: that takes one.
	_ = lock(p.lock, true)
	return p, nil
}

// Remove removes the directory with all that is in it, and unlocks it.
func (p *Dir) Remove() error {
	left := unbounded
	err := removeAll(p.in, p.name, &left)
	if p.lock != nil {
		_ = p.lock.Close() // not before: somebody else would begin to remove it
	}
	return errors.Join(err, p.in.Close())
}

const (
	// unused is how long nothing was made or removed in a directory that is taken for one that
	// was left behind: long enough to lock a new one.
	unused = 5 * time.Minute
	// Bounds of what one call does for others.
	sweepLooks, sweepDirs, sweepEntries = 64, 4, 1000
)

// sweep removes directories whose calls ended without doing it: their hosts were killed. What is too
// much for one call is left to later ones. Nothing is told: it is not this call's doing.
func sweep(in *os.Root) {
	dir, err := in.Open(".")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(sweepLooks)
	_ = dir.Close()
	dirs, left := sweepDirs, sweepEntries
	for _, name := range names {
		if dirs == 0 || left <= 0 {
			return
		}
		if abandoned(in, name) {
			dirs--
			keep(in, name) // nobody is left to be told
			_ = removeAll(in, name, &left)
		}
	}
}

// abandoned reports whether a directory is one of this user's calls and none of them lives.
func abandoned(in *os.Root, name string) bool {
	is, err := in.Lstat(name)
	if err != nil || !ours(is) || since(is.ModTime()).Abs() < unused {
		return false
	}
	dir, err := in.Open(name)
	if err != nil {
		return false
	}
	defer dir.Close()
	at, err := dir.Stat()
	return err == nil && os.SameFile(is, at) && lock(dir, false) == nil
}

// since is time.Since; a variable for tests.
var since = time.Since

func random() string { return strconv.FormatUint(rand.Uint64(), 36) }

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
