package grants

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox"
)

// signals are those that are the program's business, and that jphost outlives: a terminal sends them to the program too,
// which may go on. What was ignored before, as nohup has it, stays ignored, here and by the program.
type signals struct {
	// ends receives those that somebody wants the program to end with.
	ends chan os.Signal
	// typed receives what else a terminal tells of its keys and its size, after listen.
	typed chan os.Signal
	// quit: SIGQUIT was not ignored.
	quit bool
	// alone: the program does not hear the terminal, since it is in a session of its own.
	alone bool
}

// receiveSignals receives signals from now to the end of this process.
func receiveSignals() *signals {
	s := &signals{ends: make(chan os.Signal, 8), typed: make(chan os.Signal, 8), quit: !signal.Ignored(unix.SIGQUIT)}
	notifyUnignored(s.ends, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	signal.Ignore(unix.SIGQUIT)
	return s
}

// listen receives what is typed, too, for a program that is in a session of its own and hears nothing of a terminal. That
// cannot be taken back, since the Go runtime does not restore the default action of SIGTSTP.
func (s *signals) listen() {
	s.alone = true
	if _, terminal := foreground(); !terminal {
		return
	}
	notifyUnignored(s.typed, unix.SIGTSTP, unix.SIGWINCH)
	if s.quit {
		signal.Notify(s.typed, unix.SIGQUIT)
	}
}

// notifyUnignored is signal.Notify for those that are not ignored: to receive the others would end what nohup has begun.
func notifyUnignored(c chan<- os.Signal, list ...os.Signal) {
	for _, sig := range list {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// pass passes signals on to a program until it is over, unless the terminal has sent them to the program as well.
func (s *signals) pass(cmd *sandbox.Cmd, over <-chan struct{}) {
	for {
		var sig os.Signal
		select {
		case sig = <-s.ends:
		case sig = <-s.typed:
		case <-over:
			return
		}
		switch sig {
		case unix.SIGTSTP:
			suspend(cmd)
			continue
		case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
			if group, _ := foreground(); !s.alone && group == unix.Getpgrp() {
				continue
			}
		}
		_ = cmd.Signal(sig.(unix.Signal)) // the program may have ended
	}
}

// suspend does what Ctrl-Z is for: the program stops, and jphost with it, until somebody has jphost go on. If nobody
// would, nothing is stopped.
func suspend(cmd *sandbox.Cmd) {
	if orphaned() {
		return
	}
	// A program in a session of its own cannot be stopped by SIGTSTP.
	_ = cmd.Signal(unix.SIGSTOP)
	// Sent to this very thread it is there before the call returns.
	runtime.LockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	runtime.UnlockOSThread()
	_ = cmd.Signal(unix.SIGCONT)
}

// orphaned reports whether nobody would have this process go on after a stop: no shell with job control is
// above its process group. The kernel spares such groups the stop of a terminal.
func orphaned() bool {
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
		// The name stands in parentheses and may hold anything, also parentheses.
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		pid = 0
		_, _ = fmt.Sscanf(string(stat[bytes.LastIndexByte(stat, ')')+1:]), " %c %d", new(rune), &pid)
	}
	return true
}

// foreground returns the process group that hears what is typed on the terminal that controls this process; 0 if that is
// not known. Without such a terminal nothing is typed.
func foreground() (group int, terminal bool) {
	tty, err := unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return 0, false
	}
	defer unix.Close(tty)
	group, _ = unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	return group, true
}
