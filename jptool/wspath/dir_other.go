//go:build !linux

package wspath

import (
	"io/fs"
	"path/filepath"
)

// oDirectory marks a directory open for the os.Root backend; no os flag has this bit.
const oDirectory = 1 << 30

func openBackend(abs string) (backend, error) { return openRootBackend(filepath.FromSlash(abs)) }

// Probe reports what stands at a canonical path below d: 0 for a regular file,
// fs.ModeDir for a directory, fs.ModeIrregular for the rest. A symlink anywhere, also
// last, gives ErrChanged.
func (d *Dir) Probe(path string) (fs.FileMode, error) { return probeByLstat(d, path) }
