package launch

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// process is what /proc/PID/stat says of one process.
type process struct {
	pid, parent int
	state       byte
	threads     int
	start       string // in clock ticks since boot: with the pid it names one process
}

// dead reports whether only the exit status is left of it. A process whose first thread has ended has the
// state of that thread, and runs on in its others.
func (p process) dead() bool { return (p.state == 'Z' || p.state == 'X') && p.threads <= 1 }

func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name stands in parentheses and may hold anything, also parentheses.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return process{}, false
	}
	f := bytes.Fields(stat[end+1:])
	if len(f) < 20 {
		return process{}, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	threads, err2 := strconv.Atoi(string(f[17]))
	return process{pid: pid, parent: parent, state: f[0][0], threads: threads, start: string(f[19])}, err == nil && err2 == nil
}

// descendants lists what is below root now. /proc/PID/task/TID/children would be
// shorter, but not every kernel is built with it, and this runs only when a tool has
// left something behind. A process whose parent dies meanwhile may be missed: it has
// become a child of root, and the next look finds it.
func descendants(root int) ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	children := map[int][]process{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			children[p.parent] = append(children[p.parent], p)
		}
	}
	found := slices.Clone(children[root])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found, nil
}

// signalTree sends sig to everything below root that was alive and returns what it found.
// One look is not enough: a process may start another between the look and the signal. A
// hostile one that does this faster than it can be looked for is not caught; that takes what
// a sandbox has ([Started]).
func signalTree(root int, sig unix.Signal) (found []process, err error) {
	list, err := descendants(root)
	for _, p := range list {
		if !p.dead() {
			_ = signalProcess(p, sig) // gone already, or another user's
		}
	}
	return list, err
}

// signalProcess signals p and nothing else: between the look and the signal the number
// may have been given to a stranger, so it is held and looked at again.
func signalProcess(p process, sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err == unix.ENOSYS {
		return unix.Kill(p.pid, sig) // before Linux 5.3
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	if again, ok := readProcess(p.pid); !ok || again.start != p.start {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// Orphaned reports whether nobody would have this process go on after a stop: no shell with job control is
// above its process group. The kernel spares such groups the stop of a terminal.
func Orphaned() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	for pid := os.Getppid(); err == nil && pid > 0; {
		above, gone := unix.Getpgid(pid)
		if gone != nil {
			return true
		}
		if above != group {
			s, err := unix.Getsid(pid)
			return err != nil || s != session
		}
		p, ok := readProcess(pid)
		if !ok {
			return true
		}
		pid = p.parent
	}
	return true
}
