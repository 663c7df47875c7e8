//go:build !linux && !darwin

package safewrite

import (
	"io/fs"
	"os"
)

// keepMeta reports false: what else a file has cannot be copied here, so files are
// always written in place.
func keepMeta(_, _ *os.File) (bool, error) { return false, nil }

// changeTime: there is none here, or under another name on each system.
func changeTime(fs.FileInfo) int64 { return 0 }
