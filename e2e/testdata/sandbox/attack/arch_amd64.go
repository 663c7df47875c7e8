package main

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enter80 is in arch_amd64.s: int 0x80 with these registers.
func enter80(nr, a, b, c uint32) uint32

func init() {
	parts["part-int80"] = func([]string) int {
		if r := int32(enter80(359, unix.AF_INET, unix.SOCK_DGRAM, 0)); r < 0 {
			return 43
		}
		return 42
	}
}

func iopl([]string) (string, error) {
	_, err := raw(unix.SYS_IOPL, 3)
	return "", err
}

// markedHere makes a file by calls that other architectures do not have.
func markedHere(call, path string, mode uint32) error {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return err
	}
	var errno syscall.Errno
	switch call {
	case "open":
		_, _, errno = unix.Syscall(unix.SYS_OPEN, uintptr(unsafe.Pointer(name)), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, uintptr(mode))
	case "creat":
		_, _, errno = unix.Syscall(unix.SYS_CREAT, uintptr(unsafe.Pointer(name)), uintptr(mode), 0)
	case "mknod":
		_, _, errno = unix.Syscall(unix.SYS_MKNOD, uintptr(unsafe.Pointer(name)), uintptr(unix.S_IFREG|mode), 0)
	default:
		return unix.EINVAL
	}
	if errno != 0 {
		return errno
	}
	return nil
}
