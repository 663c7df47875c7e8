//go:build !unix

package baseline

import "io/fs"

// administrators is false: files have no owners here.
func administrators(fs.FileInfo) bool { return false }
