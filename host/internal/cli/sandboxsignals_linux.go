package cli

import (
	"bytes"
	"os"
	"os/signal"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox"
)

// passed are the signals that are the program's business, and that jphost outlives: a terminal sends them to
// the program too, which may go on. What was ignored before, as nohup has it, stays ignored, here and by
// the program.
type passed struct {
	// ends receives those that somebody wants the program to end with.
	ends chan os.Signal
	// typed receives what else a terminal tells of its keys and its size; nil until listen.
	typed chan os.Signal
	// quit: SIGQUIT was not ignored.
	quit bool
	// alone: the program does not hear the terminal, since it is in a session of its own.
	alone bool
}

// pass receives them from now to the end of this process.
func pass() *passed {
	p := &passed{ends: make(chan os.Signal, 8), quit: !signal.Ignored(unix.SIGQUIT)}
	notifyUnignored(p.ends, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	signal.Ignore(unix.SIGQUIT)
	return p
}

// listen receives what is typed, too, for a program that is in a session of its own and hears nothing of a terminal. That
// cannot be taken back, since the Go runtime does not restore the default action of SIGTSTP.
func (p *passed) listen() {
	p.alone = true
	if p.typed != nil || !hasTerminal() {
		return
	}
	p.typed = make(chan os.Signal, 8)
	notifyUnignored(p.typed, unix.SIGTSTP, unix.SIGWINCH)
	if p.quit {
		signal.Notify(p.typed, unix.SIGQUIT)
	}
}

// notifyUnignored is signal.Notify for those that are not ignored: to receive the others would end what nohup has begun.
func notifyUnignored(c chan<- os.Signal, signals ...os.Signal) {
	for _, sig := range signals {
		if !signal.Ignored(sig) {
			signal.Notify(c, sig)
		}
	}
}

// pass passes signals on to a program until it is over.
func (p *passed) pass(cmd *sandbox.Cmd, over <-chan struct{}) {
	for {
		select {
		case sig := <-p.ends:
			p.one(cmd, sig.(unix.Signal))
		case sig := <-p.typed:
			p.one(cmd, sig.(unix.Signal))
		case <-over:
			return
		}
	}
}

// one passes a signal on, unless the terminal has sent it to the program as well.
func (p *passed) one(cmd *sandbox.Cmd, sig unix.Signal) {
	switch sig {
	case unix.SIGTSTP:
		suspend(cmd)
		return
	case unix.SIGINT, unix.SIGQUIT, unix.SIGWINCH:
		if !p.alone && inForeground() {
			return
		}
	}
	_ = cmd.Signal(sig) // the program may have ended
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
		pid = parentOf(pid)
	}
	return true
}

// parentOf returns the parent of a process, 0 if it is not known.
func parentOf(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	// The name stands in parentheses and may hold anything, also parentheses.
	end := bytes.LastIndexByte(stat, ')')
	if err != nil || end < 0 {
		return 0
	}
	fields := bytes.Fields(stat[end+1:])
	if len(fields) < 2 {
		return 0
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return parent
}

// terminal opens the terminal that controls this process.
func terminal() (fd int, err error) {
	return unix.Open("/dev/tty", unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
}

// hasTerminal reports whether there is one. Without it nothing is typed, and nobody has to listen.
func hasTerminal() bool {
	tty, err := terminal()
	if err == nil {
		_ = unix.Close(tty)
	}
	return err == nil
}

// inForeground reports whether what is typed on a terminal signals this process, and then the program
// as well, if it is in the same group: it is not to hear it twice.
func inForeground() bool {
	tty, err := terminal()
	if err != nil {
		return false
	}
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	_ = unix.Close(tty)
	return err == nil && group == unix.Getpgrp()
}
