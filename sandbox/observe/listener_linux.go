//go:build amd64 || arm64

package observe

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32 // of the thread, as this process numbers it
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// listener is the descriptor of a filter that announces calls.
type listener int

// receive returns the next announced call. ENOENT: its thread was killed meanwhile; EINTR: again.
func (l listener) receive() (n notification, err error) {
	return n, l.ioctl(unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
}

// proceed answers that the kernel is to go on with the call. There is no other answer in this
// package.
func (l listener) proceed(id uint64) error {
	answer := struct {
		id           uint64
		value        int64
		errno, flags uint32
	}{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer))
}

// valid reports whether the thread still waits: then what was read by its pid was its own.
func (l listener) valid(id uint64) bool {
	return l.ioctl(unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == nil
}

func (l listener) ioctl(request uint, p unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(l), uintptr(request), uintptr(p)); errno != 0 {
		return errno
	}
	return nil
}

// hurry makes the observer run at once, and on the same processor, when a call is announced: ten
// times faster. Before Linux 6.6 there is no such thing.
func (l listener) hurry() {
	_ = unix.IoctlSetInt(int(l), unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}
