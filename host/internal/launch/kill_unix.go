//go:build unix && !linux

package launch

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// killGroup ends the group that p leads, gently or not.
func killGroup(p *os.Process, force bool) {
	sig := unix.SIGTERM
	if force {
		sig = unix.SIGKILL
	}
	_ = unix.Kill(-p.Pid, sig)
}

func exitOf(state *os.ProcessState) Exit {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return Exit{Code: state.ExitCode()}
	}
	name := unix.SignalName(status.Signal())
	if name == "" {
		name = "signal " + strconv.Itoa(int(status.Signal()))
	}
	return Exit{Code: -1, Signal: name}
}
