package cli

import (
	"os"
	"os/signal"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/sandbox/observe"
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
}

// pass receives them from now to the end of this process. To receive one more costs a handshake between threads,
// so what nobody passes on is ignored instead.
func pass() *passed {
	p := &passed{ends: make(chan os.Signal, 8), quit: !signal.Ignored(unix.SIGQUIT)}
	observe.NotifyUnignored(p.ends, unix.SIGINT, unix.SIGTERM, unix.SIGHUP)
	signal.Ignore(unix.SIGQUIT)
	return p
}

// listen has typed receive, for a program under an init: it is in a session of its own, and hears nothing of a
// terminal. That cannot be taken back, since the Go runtime does not restore the default action of SIGTSTP.
func (p *passed) listen() {
	if p.typed != nil || !hasTerminal() {
		return
	}
	p.typed = make(chan os.Signal, 8)
	observe.NotifyUnignored(p.typed, unix.SIGTSTP, unix.SIGWINCH)
	if p.quit {
		signal.Notify(p.typed, unix.SIGQUIT)
	}
}

// suspend does what Ctrl-Z is for: the program stops, and jphost with it, until somebody has jphost go on. Where
// nobody would, nothing is stopped.
func suspend() {
	if launch.Orphaned() {
		return
	}
	for range 2 { // what was started between the first look and the signal is stopped by the second
		// A program in a session of its own cannot be stopped by SIGTSTP.
		launch.SignalDescendants(unix.SIGSTOP)
	}
	// Sent to this very thread it is there before the call returns.
	runtime.LockOSThread()
	_ = unix.Tgkill(unix.Getpid(), unix.Gettid(), unix.SIGSTOP)
	runtime.UnlockOSThread()
	launch.SignalDescendants(unix.SIGCONT)
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
// as well, where it is in the same group: it is not to hear it twice.
func inForeground() bool {
	tty, err := terminal()
	if err != nil {
		return false
	}
	group, err := unix.IoctlGetInt(tty, unix.TIOCGPGRP)
	_ = unix.Close(tty)
	return err == nil && group == unix.Getpgrp()
}
