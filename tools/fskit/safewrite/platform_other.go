//go:build !linux

package safewrite

import (
	"errors"
	"os"
)

// stagedFile fails: no file is handed down here.
func stagedFile(int) (*os.File, error) { return nil, errors.ErrUnsupported }

// allocate does nothing: there is no portable way.
func allocate(*os.File, int64) error { return nil }

// There is no portable way to sync a whole file system, so each file is.
const syncsFileSystem = false

func syncFileSystem(d *os.File) error { return d.Sync() }
