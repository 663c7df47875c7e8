//go:build unix

package term

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const ttyIn, ttyOut = "/dev/tty", "/dev/tty"

// foreground reports whether we may read from the terminal without being stopped. A
// terminal that does not control us (ENOTTY) stops nobody.
func foreground(f *os.File) bool {
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return errors.Is(err, unix.ENOTTY)
	}
	return group == unix.Getpgrp()
}
