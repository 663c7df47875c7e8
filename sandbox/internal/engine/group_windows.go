package engine

import (
	"os"
	"syscall"
)

func ownGroup(Options) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// signalGroup kills the program alone, or does nothing: without a job object there is no group to reach, and there is
// nothing gentle that a program without a window would hear.
func signalGroup(p *os.Process, _ Options, sig syscall.Signal) error {
	if sig != syscall.SIGKILL {
		return nil
	}
	return p.Kill()
}
