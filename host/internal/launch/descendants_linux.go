package launch

import (
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SignalDescendants sends sig to every process below this one.
func SignalDescendants(sig unix.Signal) { _, _ = signalTree(os.Getpid(), sig) }

// KillChild kills a child of this process, if it still is one. That of an init ends all that runs under
// it, without looking for each.
func KillChild(pid int) {
	if p, ok := readProcess(pid); pid > 0 && ok && p.parent == os.Getpid() {
		_ = signalProcess(p, unix.SIGKILL)
	}
}

// CountEvery is how often processes are counted where their number is limited.
const CountEvery = watch

// CountDescendants returns how many processes below this one are alive, one of them (an init
// that belongs to the sandbox) not counted.
func CountDescendants(but int) (n int) {
	list, _ := descendants(os.Getpid())
	for _, p := range list {
		if !p.dead() && p.pid != but {
			n++
		}
	}
	return n
}

// EndDescendants kills every process below this one and waits for them, for a program
// that is the reaper of what its children leave behind (PR_SET_CHILD_SUBREAPER) and waits
// for none of them elsewhere. signal may be able to reach all at once; otherwise they are
// looked for one by one. It returns false if some could not be ended in time.
func EndDescendants(signal func(syscall.Signal) bool) bool {
	began := time.Now()
	killed := false
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		// Not for ever: processes that start one another and end bring new ones all the time.
		for n := 0; n < 256 || killed; n++ {
			pid, err := unix.Wait4(-1, nil, unix.WALL|unix.WNOHANG, nil)
			if err == unix.ECHILD {
				return true // nobody is left
			}
			if err != unix.EINTR && (err != nil || pid == 0) {
				break
			}
		}
		if time.Since(began) > killFor {
			return false
		}
		if killed = signal(unix.SIGKILL); !killed {
			SignalDescendants(unix.SIGKILL)
		}
		time.Sleep(pause)
	}
}
