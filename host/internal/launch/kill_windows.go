package launch

import (
	"os"
	"syscall"
)

func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killGroup ends p alone: there is no group to kill without a job object, and nothing
// gentle that a program without a window would hear.
func killGroup(p *os.Process, force bool) {
	if force {
		_ = p.Kill()
	}
}

func exitOf(state *os.ProcessState) Exit { return Exit{Code: state.ExitCode()} }
