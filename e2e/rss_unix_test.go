//go:build unix

package e2e

import (
	"os/exec"
	"syscall"
)

// maxRSS returns the peak memory of a finished command in bytes.
func maxRSS(cmd *exec.Cmd) int64 {
	return cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10
}
