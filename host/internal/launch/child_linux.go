package launch

import (
	"math"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// child is a process that this one has started itself, not with os.Process: whose first use tries
// out whether processes can be held by descriptors, by starting one for nothing. That takes as long
// as the start of a supervisor.
type child struct {
	pid    int
	mu     sync.Mutex
	reaped bool // its number may be a stranger's by now
}

// wait returns when it has ended, and lets go of it. It is called once.
func (c *child) wait() {
	// First without taking the exit status, so that nobody who signals it meanwhile is held up.
	for unix.Waitid(unix.P_PID, c.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if _, err := unix.Wait4(c.pid, nil, 0, nil); err != unix.EINTR {
			c.reaped = true
			return
		}
	}
}

// ended reports whether it has, without waiting.
func (c *child) ended() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, c.pid, &info, unix.WEXITED|unix.WNOWAIT|unix.WNOHANG, nil)
	return err == unix.ECHILD || err == nil && info.Signo != 0
}

// hold calls f with its number, while that is its own.
func (c *child) hold(f func(pid int)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.reaped {
		f(c.pid)
	}
}

// startSupervisor starts this program again, with its end of the socket.
func startSupervisor(sock int) (pid int, err error) {
	keepInherited()
	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(null) }()
	// Not the path of the binary: that may have been replaced since.
	return syscall.ForkExec("/proc/self/exe", []string{supervisorName}, &syscall.ProcAttr{
		// It does one thing at a time, and more would only cost the start of threads; and it needs
		// nothing of the host's environment.
		Env:   []string{"GOMAXPROCS=1"},
		Dir:   "/",
		Files: []uintptr{uintptr(null), uintptr(null), uintptr(null), uintptr(sock)},
		// In the terminal's foreground group it would die of ctrl-c before the tool.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// keepInherited keeps from supervisors, and so from tools, what the host has inherited itself without
// asking for it. Descriptors of our own have the close-on-exec flag anyway.
func keepInherited() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	names, _ := os.ReadDir("/proc/self/fd") // before Linux 5.11
	for _, name := range names {
		if fd, err := strconv.Atoi(name.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}
