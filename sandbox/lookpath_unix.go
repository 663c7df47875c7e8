//go:build !windows

package sandbox

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// executable returns path if it is a regular file that this user may execute.
func executable(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.IsDir():
		return "", &fs.PathError{Op: "exec", Path: path, Err: unix.EISDIR}
	case !info.Mode().IsRegular():
		return "", &fs.PathError{Op: "exec", Path: path, Err: unix.EACCES}
	}
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS); err != nil {
		return "", &fs.PathError{Op: "exec", Path: path, Err: err}
	}
	return path, nil
}
