package state

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/jptool/wspath"
)

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
// processes too. It first removes what a crashed writer of that file left behind.
func (d *Dir) Locked(ctx context.Context, name string, f func() error) error {
	if err := d.Ensure(); err != nil {
		return err
	}
	unlock, err := lockFile(ctx, d.File(name+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	d.sweep(tempPrefix(name), time.Time{})
	return f()
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
