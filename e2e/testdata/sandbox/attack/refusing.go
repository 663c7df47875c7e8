package main

import (
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	parts["part-refusing"] = refusing
	parts["part-listening"] = listening
}

// listening starts a program under a filter that announces calls, though it announces none, as some containers have
// them: part-listening PROGRAM ARGUMENT….
func listening(a []string) int {
	code := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		var listener uintptr
		listener, err = raw(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
		if err == nil {
			_, err = unix.FcntlInt(listener, unix.F_SETFD, 0) // it lives as long as the program
		}
	}
	if err == nil {
		err = unix.Exec(a[0], a, os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// refusing starts a program under a filter that refuses one system call, as containers have them:
// part-refusing NUMBER ERRNO PROGRAM ARGUMENT….
func refusing(a []string) int {
	nr, err := strconv.Atoi(a[0])
	errno, err2 := strconv.Atoi(a[1])
	if err != nil || err2 != nil {
		return 2
	}
	code := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 0, Jf: 1, K: uint32(nr)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&prog)), 0, 0)
	}
	if err == nil {
		err = unix.Exec(a[2], a[2:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}
