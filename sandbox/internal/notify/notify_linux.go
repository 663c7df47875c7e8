// Package notify speaks with a system call filter that announces calls to another process (seccomp user
// notification). The thread that made an announced call waits for the answer.
//
// What a call's arguments point to can be changed by other threads of the program at any time, also after it was
// read. So whoever decides over a call must not let the kernel go on with it ([Call.Continue]) because of what was
// read: it does the call itself, on what it has copied, and answers with the result.
package notify

import (
	"encoding/binary"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Call is an announced call: struct seccomp_notif.
type Call struct {
	ID   uint64
	PID  uint32 // of the thread, as the process that received the announcement numbers it
	_    uint32 // flags
	Nr   int32
	_    uint32 // architecture
	_    uint64 // instruction pointer
	Args [6]uint64
}

// Receive waits for the next announced call. ENOENT and EINTR say that there is none after all: its thread was killed.
func Receive(listener int) (*Call, error) {
	c := &Call{}
	err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, c)
	return c, err
}

// Waits reports whether the thread still waits for an answer. What was read by its number before was its own then;
// otherwise the number may have been given to another.
func (c *Call) Waits(listener int) bool {
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, &c.ID) == nil
}

// response is struct seccomp_notif_resp.
type response struct {
	id           uint64
	_            int64 // what the call returns
	errno, flags uint32
}

// Continue lets the kernel go on with the call as if nobody had been asked.
func (c *Call) Continue(listener int) error {
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, &response{id: c.ID, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE})
}

// Answer ends the call: with 0, or with an error. The error of Answer says that nobody waits for it any more.
func (c *Call) Answer(listener int, e unix.Errno) error {
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, &response{id: c.ID, errno: uint32(-int32(e))})
}

// Prefer has the receiver run at once, and on the same processor, when a call is announced: ten times faster. Before
// Linux 6.6 there is no such thing.
func Prefer(listener int) {
	_ = unix.IoctlSetInt(listener, unix.SECCOMP_IOCTL_NOTIF_SET_FLAGS, unix.SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP)
}

// Bytes and Parse carry a call to another process that has the same listener.
func (c *Call) Bytes() []byte {
	b, _ := binary.Append(nil, binary.NativeEndian, c) // it has a fixed size
	return b
}

// Parse reads what Bytes wrote.
func Parse(b []byte) (*Call, error) {
	c := &Call{}
	_, err := binary.Decode(b, binary.NativeEndian, c)
	return c, err
}

// Read reads n bytes of a task's memory, or what there is of them.
func Read(pid int, at uint64, n int) ([]byte, error) {
	if n <= 0 {
		return nil, nil
	}
	b := make([]byte, n)
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(n)
	got, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: n}}, 0)
	if err != nil {
		return nil, err
	}
	return b[:max(got, 0)], nil
}

// File returns a copy of a descriptor of a thread.
func File(pid, fd int) (int, error) {
	pidfd, err := unix.PidfdOpen(pid, unix.PIDFD_THREAD)
	if err == unix.EINVAL { // before Linux 6.9: of processes only, which is what the descriptors belong to as a rule
		var process int
		if process, err = strconv.Atoi(Status(pid, "Tgid")); err == nil {
			pidfd, err = unix.PidfdOpen(process, 0)
		}
	}
	if err != nil {
		return -1, err
	}
	defer func() { _ = unix.Close(pidfd) }()
	return unix.PidfdGetfd(pidfd, fd, 0)
}

// Status returns a line of /proc/PID/status without its name, or "".
func Status(pid int, name string) string {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// ioctl makes a request of a descriptor, with something that the kernel reads or fills in.
func ioctl[T any](fd int, request uint, with *T) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(with)))
	if errno != 0 {
		return errno
	}
	return nil
}
