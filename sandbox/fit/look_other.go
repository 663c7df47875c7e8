//go:build !linux

package fit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// look describes the entry at a path. It cannot tell objects apart, so that no plan made
// from it can be verified; no back end here uses one.
func look(p string) (Node, error) {
	fi, err := os.Lstat(filepath.FromSlash(p))
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		return Node{Path: p}, nil
	case err != nil:
		return Node{Path: p}, err
	}
	kind := Special
	switch mode := fi.Mode(); {
	case mode.IsDir():
		kind = Dir
	case mode.IsRegular():
		kind = File
	case mode&fs.ModeSymlink != 0:
		kind = Link
	}
	return Node{Path: p, Kind: kind}, nil
}

func measure(p string) (mark, error) {
	n, err := look(p)
	m := mark{Node: n}
	if fi, serr := os.Lstat(filepath.FromSlash(p)); serr == nil {
		m.mode, m.size, m.mtime = uint32(fi.Mode()), fi.Size(), fi.ModTime().UnixNano()
	}
	return m, err
}

func readLink(p string) (string, error) { return os.Readlink(filepath.FromSlash(p)) }

// mayMakeIn says why no directory can be made in a directory, as far as that can be told.
func mayMakeIn(string) error { return nil }
