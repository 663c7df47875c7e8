package state

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// terminalSession identifies the session leader by id and start time.
func terminalSession(func(string) string) string {
	sid, err := unix.Getsid(0)
	if err != nil || sid <= 0 {
		return ""
	}
	info, err := unix.SysctlKinfoProc("kern.proc.pid", sid)
	if err != nil {
		return ""
	}
	start := info.Proc.P_starttime
	return fmt.Sprintf("%d.%d.%d", sid, start.Sec, start.Usec)
}
