//go:build amd64 || arm64

package observe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// ioctl makes a request of a descriptor, with something that the kernel reads or fills in.
func ioctl[T any](fd int, request uint, with *T) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(with)))
	if errno != 0 {
		return errno
	}
	return nil
}
