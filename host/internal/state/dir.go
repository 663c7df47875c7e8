// Package state finds and keeps the user-local state of the host: where a workspace's
// private files live, which conversation and which session a call belongs to, and how
// files there are read, locked and replaced.
//
// A workspace is its canonical root path and nothing else: no file inside a repository can claim the approvals of another one. State lives below the
// XDG data directory in jphost/<name>-<digest of the path>, directories 0700, files
// 0600, and a directory that somebody else owns or may write to is refused.
//
// It does not protect against the same user's other programs, and not against a workspace or
// mount that holds the state directory itself: [Dir.Base] tells where it is, and policy protects it.
package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/afero"

	"github.com/jptools/jptools/jptool/wspath"
)

// FS is the file system that state and configuration lie on. Both the one of the operating system
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
	switch home := getenv("HOME"); {
	case system == "windows":
		return getenv("LocalAppData")
	case system == "darwin":
		return filepath.Join(home, "Library", "Application Support")
	case home != "": // else it would be below the root, where it would be that of everybody without a home
		return filepath.Join(home, ".local", "share")
	}
	return ""
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
	if _, err := checkID("--conversation", id); err != nil {
		return nil, err
	}
	return d.sub("conversations", id)
}

// Private is the directory below that of all state whose files no tool may read, under no grant: they have what other
// tools were allowed to read.
const Private = "kept"

// Undo returns the directory of what calls changed in the workspace.
func (d *Dir) Undo() (*Dir, error) { return d.private("undo") }

// Log returns the directory of the log of calls.
func (d *Dir) Log() (*Dir, error) { return d.private("log") }

// private returns a directory of the workspace below Private.
func (d *Dir) private(name string) (*Dir, error) {
	s := &Dir{sys: d.sys, base: d.base, path: filepath.Join(d.base, Private, filepath.Base(d.path), name)}
	return s, s.check()
}

// sub returns a directory below d.
func (d *Dir) sub(names ...string) (*Dir, error) {
	s := &Dir{sys: d.sys, base: d.base, path: filepath.Join(d.path, filepath.Join(names...))}
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
		if err := d.checkOne(path); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
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
func (d *Dir) checkOne(path string) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("the state directory "+format, append([]any{path}, args...)...)
	}
	fi, _, err := d.sys.FS.LstatIfPossible(path)
	if err != nil {
		return fail("%s: %w%s", wspath.Bare(err), elsewhere(err))
	}
	uid, foreign := owner(fi)
	perm := fi.Mode().Perm()
	switch {
	case !fi.IsDir():
		return fail("%s is not a directory\nmove it away; symlinks are not followed here")
	case foreign:
		return fail("%s belongs to another user (uid %d)\nrun as that user, or set XDG_DATA_HOME to a directory of your own", uid)
	case runtime.GOOS == "windows": // modes mean nothing there
	case perm&0o022 != 0:
		// Others may have put files in it already. To tighten the mode would hide that.
		return fail("%s can be written by other users (mode %04o)\nlook at what is in it, then: chmod 700 %[1]s", perm)
	case perm&0o077 != 0:
		if err := d.sys.FS.Chmod(path, 0o700); err != nil {
			return fmt.Errorf("closing the state directory %s to others: %w", path, wspath.Bare(err))
		}
	}
	return nil
}

// maxFile bounds what is read; state files are small.
const maxFile = 16 << 20

// ErrTooLarge: a state file is larger than anything the host writes.
var ErrTooLarge = errors.New("the file is too large")

// Now is the time by the system's clock.
func (d *Dir) Now() time.Time { return d.sys.Now() }

// File is the absolute path of a file in d.
func (d *Dir) File(name string) string { return filepath.Join(d.path, name) }

// Read returns the content of a file. A missing file or directory gives an error wrapping
// fs.ErrNotExist. Content is whole, also while another process replaces it.
func (d *Dir) Read(name string) ([]byte, error) {
	f, err := d.sys.FS.Open(d.File(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s: %w", d.File(name), ErrTooLarge)
	}
	return data, nil
}

// Write replaces the content of a file, mode 0600, so that after a crash at any
// moment the file holds the old or the new content, and after return the new one.
// Concurrent writers must hold the file's lock ([Dir.Locked]) or lose each other's changes.
func (d *Dir) Write(name string, data []byte) error {
	if err := d.Ensure(); err != nil {
		return err
	}
	if err := d.write(name, data); err != nil {
		return fmt.Errorf("writing %s: %w", d.File(name), wspath.Bare(err))
	}
	return nil
}

// write does what package renameio does, and syncs the directory too, on any file system:
// renameio knows only the real one, where tests cannot make each step fail.
func (d *Dir) write(name string, data []byte) error {
	f, err := afero.TempFile(d.sys.FS, d.path, tempPrefix(name)+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = cmp.Or(err, f.Close())
	if err == nil {
		err = d.sys.FS.Rename(f.Name(), d.File(name))
	}
	if err != nil {
		_ = d.sys.FS.Remove(f.Name())
		return err
	}
	return d.syncDir()
}

func tempPrefix(name string) string { return "." + name + ".tmp-" }

// syncDir makes a rename durable.
func (d *Dir) syncDir() error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be opened for this there; NTFS journals the rename
	}
	f, err := d.sys.FS.Open(d.path)
	if err != nil {
		return err
	}
	err = f.Sync()
	return cmp.Or(err, f.Close())
}

// Locked runs f while holding the lock of the file name, which excludes other
// processes too. It fails when ctx ends first, or when lockPatience is over. It first removes what a crashed
// writer of that file left behind. Locks are always on the real file system: package afero has none.
func (d *Dir) Locked(ctx context.Context, name string, f func() error) error {
	unlock, err := d.Lock(ctx, name, lockPatience)
	if err != nil {
		return err
	}
	defer unlock()
	d.sweep(tempPrefix(name), time.Time{})
	return f()
}

// ErrLocked: another process had the lock for longer than one waits.
var ErrLocked = errors.New("is locked by another process")

// Lock takes the lock of the file name and returns what gives it back. It waits until ctx ends, and at most for patience.
func (d *Dir) Lock(ctx context.Context, name string, patience time.Duration) (unlock func(), err error) {
	if err := d.Ensure(); err != nil {
		return nil, err
	}
	path := d.File(name + ".lock")
	lock := flock.New(path, flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	switch _, err := lock.TryLockContext(ctx, 5*time.Millisecond); {
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s %w\nwait for it, or end it, and try again", path, ErrLocked)
	case err != nil:
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = lock.Unlock() }, nil // the file stays: if it were removed, two processes could hold "the" lock
}

// AppendLine adds a line to a file of lines. What is left of a line whose writer was killed, or had no room, becomes a
// line of its own. Nothing is synced. The caller holds a lock.
func (d *Dir) AppendLine(name string, line []byte) error {
	f, err := d.sys.FS.OpenFile(d.File(name), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	last := []byte{'\n'}
	if fi.Size() > 0 {
		if _, err := f.ReadAt(last, fi.Size()-1); err != nil {
			return err
		}
	}
	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		_ = f.Truncate(fi.Size())
		return err
	}
	return nil
}

// Update replaces the content of a file by what change makes of it, under the lock.
// A missing file is nil. An unchanged result is not written; on an error of change nothing is.
func (d *Dir) Update(ctx context.Context, name string, change func(old []byte) ([]byte, error)) error {
	return d.Locked(ctx, name, func() error {
		old, err := d.Read(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading %s: %w", d.File(name), wspath.Bare(err))
		}
		data, cerr := change(old)
		if cerr != nil || err == nil && bytes.Equal(old, data) {
			return cerr
		}
		return d.Write(name, data)
	})
}

// SetAside renames a file that cannot be used to NAME.broken-TIME, never over another
// one, and returns the new path. The caller holds the file's lock.
func (d *Dir) SetAside(name string) (string, error) {
	stamp := d.File(name) + ".broken-" + d.Now().UTC().Format("20060102T150405Z")
	to := stamp
	_, _, err := d.sys.FS.LstatIfPossible(to)
	for n := 2; err == nil; n++ {
		to = fmt.Sprintf("%s-%d", stamp, n)
		_, _, err = d.sys.FS.LstatIfPossible(to)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := d.sys.FS.Rename(d.File(name), to); err != nil {
		return "", fmt.Errorf("setting %s aside: %w", d.File(name), wspath.Bare(err))
	}
	return to, d.syncDir()
}

// sweep removes files with this prefix that are older than before (any age when
// zero). What cannot be removed stays.
func (d *Dir) sweep(prefix string, before time.Time) {
	list, err := afero.ReadDir(d.sys.FS, d.path)
	if err != nil {
		return
	}
	for _, fi := range list {
		if strings.HasPrefix(fi.Name(), prefix) && !fi.IsDir() && (before.IsZero() || fi.ModTime().Before(before)) {
			_ = d.sys.FS.Remove(d.File(fi.Name()))
		}
	}
}
