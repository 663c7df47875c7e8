// Package statetest has a file system that fails step by step, and state in a directory, for tests.
package statetest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/jptools/jptools/host/internal/state"
)

// ErrFault is what an injected fault returns.
var ErrFault = errors.New("injected fault")

// Faults is a file system whose n-th operation fails. With Crash set every later one
// fails too, as if the process had died there.
type Faults struct {
	state.FS
	// At is the operation to fail, counted from 1; 0 fails none.
	At    int
	Crash bool

	n atomic.Int64
}

// Count is the number of operations so far.
func (f *Faults) Count() int { return int(f.n.Load()) }

func (f *Faults) fail() error {
	n := int(f.n.Add(1))
	if f.At > 0 && (n == f.At || f.Crash && n > f.At) {
		return ErrFault
	}
	return nil
}

// Open may fail.
func (f *Faults) Open(name string) (afero.File, error) { return f.OpenFile(name, os.O_RDONLY, 0) }

// OpenFile may fail.
func (f *Faults) OpenFile(name string, flag int, perm fs.FileMode) (afero.File, error) {
	if err := f.fail(); err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	file, err := f.FS.OpenFile(name, flag, perm)
	return &faultFile{file, f}, err
}

// Rename may fail.
func (f *Faults) Rename(from, to string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Rename(from, to)
}

// Remove may fail.
func (f *Faults) Remove(name string) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

// MkdirAll may fail.
func (f *Faults) MkdirAll(name string, perm fs.FileMode) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

type faultFile struct {
	afero.File
	f *Faults
}

// Write writes half of the data when it fails: a full disk.
func (w *faultFile) Write(p []byte) (int, error) {
	if err := w.f.fail(); err != nil {
		n, _ := w.File.Write(p[:len(p)/2])
		return n, err
	}
	return w.File.Write(p)
}

func (w *faultFile) Sync() error {
	if err := w.f.fail(); err != nil {
		return err
	}
	return w.File.Sync()
}

func (w *faultFile) Read(p []byte) (int, error) {
	if err := w.f.fail(); err != nil {
		return 0, err
	}
	return w.File.Read(p)
}

// Clock is the time of test systems.
var Clock = time.Date(2026, 5, 26, 13, 0, 0, 0, time.UTC)

// System is a system whose data lives below dir.
func System(dir string) state.System {
	sys := state.OS(func(name string) string {
		if name == "XDG_DATA_HOME" {
			return filepath.Join(dir, "data")
		}
		return ""
	})
	sys.Now = func() time.Time { return Clock }
	return sys
}

// Dir is the state directory of a new workspace, on fs if that is not nil.
func Dir(t testing.TB, dir string, fsys state.FS) *state.Dir {
	t.Helper()
	root := filepath.Join(dir, "ws")
	if err := os.MkdirAll(root, 0o777); err != nil {
		t.Fatal(err)
	}
	ws, err := state.OpenWorkspace(root)
	if err != nil {
		t.Fatal(err)
	}
	sys := System(dir)
	if fsys != nil {
		sys.FS = fsys
	}
	d, err := sys.Workspace(ws)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
