package term

import "golang.org/x/sys/unix"

// discardInput: 1 is FREAD.
func discardInput(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, 1) }
