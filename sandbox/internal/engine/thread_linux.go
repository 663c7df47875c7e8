package engine

import (
	"runtime"
	"slices"
	"syscall"

	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
	"github.com/jptools/jptools/sandbox/internal/sockets"
	"golang.org/x/sys/unix"
)

// startHere makes the private tree and starts the program from a restricted thread of this process.
func (c *call) startHere(m *received) (pid int, err error) {
	if m.Start.restore() != nil || len(m.files) < len(m.Start.Targets) {
		return 0, errMessage
	}
	ruleset, err := c.ruleset()
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(ruleset.FD) }()
	if err := c.surround(ruleset); err != nil {
		return 0, err
	}
	if dir := string(c.order.Dir); dir != "" { // of this process, which the tool inherits
		if err := unix.Chdir(dir); err != nil {
			return 0, failure.At(failure.Directory, "", dir, err)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// It stays locked: the runtime makes no other thread from this one, and ends it with this function.
		runtime.LockOSThread()
		pid, err = c.forkRestricted(ruleset, m.files)
	}()
	<-done
	return pid, err
}

// forkRestricted restricts this thread and starts the program from it, which inherits the restrictions. The filter lets
// through what the Go runtime does between fork and exec.
func (c *call) forkRestricted(ruleset *linux.Ruleset, files []int) (pid int, err error) {
	o := c.order
	program, err := linux.Filter(o.Plan)
	if err != nil {
		return 0, err
	}
	staged, err := linux.OpenStaged(o.Plan)
	defer closeFDs(staged)
	if err != nil {
		return 0, err
	}
	targets := slices.Clone(o.Targets)
	for i := range staged {
		targets = append(targets, o.Plan.Staged[i].FD)
	}
	const closed = ^uintptr(0)
	table := slices.Repeat([]uintptr{closed}, slices.Max(targets)+1)
	for i, fd := range slices.Concat(files[:len(o.Targets)], staged) {
		table[targets[i]] = uintptr(fd)
	}
	if err := linux.LimitProcess(o.Plan); err != nil { // no core files, of this process either
		return 0, err
	}
	if err := restrict(ruleset, program, o.Faults); err != nil {
		return 0, err
	}
	if o.Plan.Net.Own {
		listener, err := linux.Announce(sockets.Announced)
		if err == nil {
			err = c.broker(listener)
		}
		if err != nil {
			return 0, err
		}
	}
	if err := unblockSignals(); err != nil {
		return 0, err
	}
	path := string(o.Path)
	attr := &syscall.ProcAttr{Env: texts(o.Env), Files: table, Sys: &syscall.SysProcAttr{Setsid: o.Session}}
	if err := c.begin(); err != nil {
		return 0, err
	}
	switch pid, err = syscall.ForkExec(path, texts(o.Args), attr); err {
	case unix.EAGAIN, unix.EMFILE, unix.ENFILE:
		return 0, failure.At(failure.Failed, "starting a process", "", err)
	}
	return pid, failure.At(failure.Program, "", path, err)
}
