//go:build unix && !linux

package engine

import (
	"os"
	"syscall"
)

// ownGroup makes the program the leader of a process group, by which what it starts can be reached as long as it
// stays in there. With a terminal it stays in ours, for the terminal's job control.
func ownGroup(o Options) *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: !o.Terminal} }

// signalGroup signals what is left of the group. It may be gone.
func signalGroup(p *os.Process, o Options, sig syscall.Signal) error {
	if o.Terminal {
		return p.Signal(sig)
	}
	return syscall.Kill(-p.Pid, sig)
}
