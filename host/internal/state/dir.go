package state

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/afero"

	"github.com/jptools/jptools/jptool/wspath"
)

// FS is the file system that state lies on. Both the one of the operating system
// (afero.OsFs) and the one in memory (afero.MemMapFs) are such.
type FS interface {
	afero.Fs
	afero.Lstater
}

// System is what state is kept with. Tests put faults in here.
type System struct {
	FS FS
	// Getenv reads the environment.
	Getenv func(string) string
	// Now is the clock.
	Now func() time.Time
}

// OS is the real system with this environment.
func OS(getenv func(string) string) System {
	return System{FS: &afero.OsFs{}, Getenv: getenv, Now: time.Now}
}

// lockPatience bounds the wait for other processes. Each holds a lock for milliseconds,
// but there may be many of them on a busy machine.
const lockPatience = 2 * time.Minute

// lockFile takes the exclusive lock file at path, between processes too. It fails when ctx
// ends first, or when lockPatience is over. Locks are always on the real file system:
// package afero has none.
func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	l := flock.New(path, flock.SetPermissions(0o600))
	_, err = l.TryLockContext(ctx, 5*time.Millisecond)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s is locked by another process\nwait for it, or end it, and try again", path)
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	// The file stays: if it were removed, two processes could hold "the" lock.
	return func() { _ = l.Unlock() }, nil
}

// Base is the directory that holds the state of every workspace:
// $XDG_DATA_HOME/jphost, or the platform's usual place for user data. Where nothing says which
// that is, there is none, and the error says what to set.
func (s System) Base() (string, error) {
	data := dataHome(s.Getenv, runtime.GOOS)
	if !filepath.IsAbs(data) {
		return "", errors.New("there is no place for private state: neither HOME nor XDG_DATA_HOME is an absolute path\nset HOME to your home directory, or XDG_DATA_HOME to a directory of your own")
	}
	return filepath.Join(data, "jphost"), nil
}

// dataHome is where the programs of a user keep data: as the XDG base directory specification has it,
// and where nothing is set as is usual on that system.
func dataHome(getenv func(string) string, system string) string {
	// The specification has relative values ignored.
	if v := getenv("XDG_DATA_HOME"); filepath.IsAbs(v) {
		return v
	}
	home := getenv("HOME")
	switch system {
	case "windows":
		return getenv("LocalAppData")
	case "darwin":
		return filepath.Join(home, "Library", "Application Support")
	}
	if home == "" {
		return "" // not below the root, where it would be that of everybody without a home
	}
	return filepath.Join(home, ".local", "share")
}

// Dir is a private directory of state. It is made when something is first written;
// until then everything in it is simply missing.
type Dir struct {
	sys  System
	base string
	path string
}

// Workspace returns the directory of a workspace. It fails when the directory exists and is
// not private to this user.
func (s System) Workspace(w Workspace) (*Dir, error) {
	base, err := s.Base()
	if err != nil {
		return nil, err
	}
	d := &Dir{sys: s, base: base, path: filepath.Join(base, w.ID())}
	return d, d.check()
}

// Conversation returns the directory of the conversation id, as ConversationID gave it.
func (d *Dir) Conversation(id string) (*Dir, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	return d.sub("conversations", id)
}

// sub returns a directory below d.
func (d *Dir) sub(names ...string) (*Dir, error) {
	s := &Dir{sys: d.sys, base: d.base, path: filepath.Join(append([]string{d.path}, names...)...)}
	return s, s.check()
}

// Path is the absolute path, for messages and for files that others must open (an editor).
func (d *Dir) Path() string { return d.path }

// Base is the directory of all state, of which d is a part.
func (d *Dir) Base() string { return d.base }

// Ensure makes the directory, private to the user.
func (d *Dir) Ensure() error {
	if err := d.check(); err != nil {
		return err
	}
	if err := d.sys.FS.MkdirAll(d.path, 0o700); err != nil {
		return fmt.Errorf("making the state directory %s: %w%s", d.path, wspath.Bare(err), elsewhere(err))
	}
	return d.check()
}

// check examines every directory from the base down, as far as they exist.
func (d *Dir) check() error {
	rel, err := filepath.Rel(d.base, d.path)
	if err != nil {
		return err
	}
	path := d.base
	for _, name := range append([]string{"."}, strings.Split(rel, string(filepath.Separator))...) {
		path = filepath.Join(path, name)
		if missing, err := d.checkOne(path); missing || err != nil {
			return err
		}
	}
	return nil
}

// elsewhere is what to do when state cannot be written to its usual place: HOME may be that
// of another user (after su), missing, or read-only.
func elsewhere(err error) string {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return "\nset XDG_DATA_HOME to a directory of your own, or HOME if it is not yours"
	}
	return ""
}

// Foreign reports whether a file belongs to somebody else; never where file systems have no owners.
func Foreign(fi fs.FileInfo) bool {
	_, foreign := owner(fi)
	return foreign
}

// checkOne refuses what is not a directory of this user alone, and closes one that others
// may only read.
func (d *Dir) checkOne(path string) (missing bool, err error) {
	fi, _, err := d.sys.FS.LstatIfPossible(path)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("the state directory %s: %w%s", path, wspath.Bare(err), elsewhere(err))
	}
	if !fi.IsDir() {
		return false, fmt.Errorf("the state directory %s is not a directory\nmove it away; symlinks are not followed here", path)
	}
	if uid, foreign := owner(fi); foreign {
		return false, fmt.Errorf("the state directory %s belongs to another user (uid %d)\nrun as that user, or set XDG_DATA_HOME to a directory of your own", path, uid)
	}
	if runtime.GOOS == "windows" {
		return false, nil
	}
	switch perm := fi.Mode().Perm(); {
	case perm&0o022 != 0:
		// Others may have put files in it already. To tighten the mode would hide that.
		return false, fmt.Errorf("the state directory %s can be written by other users (mode %04o)\nlook at what is in it, then: chmod 700 %s", path, perm, path)
	case perm&0o077 != 0:
		if err := d.sys.FS.Chmod(path, 0o700); err != nil {
			return false, fmt.Errorf("closing the state directory %s to others: %w", path, wspath.Bare(err))
		}
	}
	return false, nil
}
