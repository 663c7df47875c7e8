package main

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// step is one system call of a child made by forked.
type step struct {
	nr   uintptr
	args [6]uintptr
	// may: it may fail.
	may bool
}

func call(nr uintptr, args ...uintptr) step {
	s := step{nr: nr}
	copy(s.args[:], args)
	return s
}

func (s step) orNot() step { s.may = true; return s }

// text is a string for a system call.
func text(s string) uintptr {
	b, err := unix.BytePtrFromString(s)
	if err != nil {
		panic(err)
	}
	kept = append(kept, b)
	return uintptr(unsafe.Pointer(b))
}

// at is the address of something for a system call.
func at[T any](v *T) uintptr {
	kept = append(kept, v)
	return uintptr(unsafe.Pointer(v))
}

// kept holds what system calls point to.
var kept []any

var minus100 = ^uintptr(99) // AT_FDCWD

// forked runs system calls in a child with one thread, which some of them need, and which keeps
// what they change. It returns the first error.
func forked(steps ...step) error { return forkedWith(uintptr(unix.SIGCHLD), steps) }

func forkedWith(flags uintptr, steps []step) error {
	var status unix.WaitStatus
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, flags, 0, 0, 0, 0, 0)
	if errno != 0 {
		return errno
	}
	if pid == 0 {
		for i := range steps {
			s := &steps[i]
			if _, _, errno := unix.RawSyscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5]); errno != 0 && !s.may {
				unix.RawSyscall(unix.SYS_EXIT_GROUP, uintptr(errno), 0, 0)
			}
		}
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
	for {
		if _, err := unix.Wait4(int(pid), &status, unix.WALL, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return err
		}
		break
	}
	switch {
	case status.Signaled():
		return fmt.Errorf("killed by %v", status.Signal())
	case status.ExitStatus() != 0:
		return syscall.Errno(status.ExitStatus())
	}
	return nil
}

// raw is one system call in this process.
func raw(nr uintptr, args ...uintptr) (uintptr, error) {
	s := call(nr, args...)
	r, _, errno := unix.Syscall6(s.nr, s.args[0], s.args[1], s.args[2], s.args[3], s.args[4], s.args[5])
	if errno != 0 {
		return r, errno
	}
	return r, nil
}
