package launch

import (
	"sync"

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
