package jptooltest

import (
	"errors"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NotAnnounced skips a test if calls of this process are announced to a sandbox around it. That one makes connections
// for it, and the kernel gives no second listener.
func NotAnnounced(t testing.TB) {
	t.Helper()
	if Announced() {
		t.Skip("not run: a sandbox around this process is told of its system calls, and only one can be")
	}
}

// Announced reports whether calls of this process are announced to a sandbox around it, as jphost makes them.
func Announced() bool { return errors.Is(listener(), unix.EBUSY) }

// listener makes a filter that announces calls, in a thread that then ends.
func listener() error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked, so that the thread ends
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			result <- err
			return
		}
		allow := unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
		program := unix.SockFprog{Len: 1, Filter: &allow}
		fd, _, errno := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
		if errno != 0 {
			result <- errno
			return
		}
		result <- unix.Close(int(fd))
	}()
	return <-result
}
