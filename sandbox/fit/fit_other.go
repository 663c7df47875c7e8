//go:build !linux

package fit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// measure describes the entry at a path. It cannot tell objects apart, so that no plan made
// from it can be verified; no back end here uses one.
func measure(p string) (mark, error) {
	m := mark{Node: Node{Path: p}}
	fi, err := os.Lstat(filepath.FromSlash(p))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return m, nil
	case err != nil:
		return m, err
	}
	m.mode, m.size, m.mtime = uint32(fi.Mode()), fi.Size(), fi.ModTime().UnixNano()
	switch fi.Mode().Type() {
	case fs.ModeDir:
		m.Kind = Dir
	case 0:
		m.Kind = File
	case fs.ModeSymlink:
		m.Kind = Link
	default:
		m.Kind = Special
	}
	return m, nil
}

func readLink(p string) (string, error) { return os.Readlink(filepath.FromSlash(p)) }

// mayMakeIn says why no directory can be made in a directory, as far as that can be told.
func mayMakeIn(string) error { return nil }

func watch(Watched) (*Watcher, error) { return nil, ErrNoWatch }
