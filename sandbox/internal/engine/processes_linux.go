package engine

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// task is what /proc/PID/stat says of one process.
type task struct {
	pid, parent int
	state       byte
	threads     int
	start       string // in clock ticks since boot: with the pid it names one process
}

// dead reports whether only the exit status is left of it. A process whose first thread has ended has the state of
// that thread, and runs on in its others.
func (t task) dead() bool { return (t.state == 'Z' || t.state == 'X') && t.threads <= 1 }

func readTask(pid int) (task, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name stands in parentheses and may hold anything, also parentheses.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return task{}, false
	}
	f := bytes.Fields(stat[end+1:])
	if len(f) < 20 {
		return task{}, false
	}
	parent, err := strconv.Atoi(string(f[1]))
	threads, err2 := strconv.Atoi(string(f[17]))
	t := task{pid: pid, parent: parent, state: f[0][0], threads: threads, start: string(f[19])}
	return t, err == nil && err2 == nil
}

// descendants lists what lives below a process now. /proc/PID/task/TID/children would be shorter, but not every kernel
// is built with it. A process whose parent dies meanwhile may be missed: it has become a child of the subreaper, and
// the next look finds it.
func descendants(root int) ([]task, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	_ = dir.Close()
	if err != nil {
		return nil, err
	}
	children := map[int][]task{}
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if t, ok := readTask(pid); ok {
			children[t.parent] = append(children[t.parent], t)
		}
	}
	found := slices.Clone(children[root])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return slices.DeleteFunc(found, task.dead), nil
}

// signalBelow sends sig to everything that lives below root, and returns what it found. One look is not enough: a
// process may start another between the look and the signal. A hostile one that does this faster than it can be
// looked for is not caught; that takes a process namespace or a signal scope.
func signalBelow(root int, sig unix.Signal) ([]task, error) {
	list, err := descendants(root)
	for _, t := range list {
		t.signal(sig)
	}
	return list, err
}

// signal signals t and nothing else: between the look and the signal the number may have been given to a stranger,
// so it is held by a descriptor and looked at again. It may be gone already, or be another user's.
func (t task) signal(sig unix.Signal) {
	fd, err := unix.PidfdOpen(t.pid, 0)
	if err == unix.ENOSYS { // before Linux 5.3
		_ = unix.Kill(t.pid, sig)
	}
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if again, ok := readTask(t.pid); ok && again.start == t.start {
		_ = unix.PidfdSendSignal(fd, sig, nil, 0)
	}
}
