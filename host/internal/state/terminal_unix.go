//go:build unix && !darwin

package state

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// terminalSession identifies the session leader. Process ids are used again, so one
// without a start time is not good enough to carry remembered answers.
func terminalSession(func(string) string) string {
	sid, err := unix.Getsid(0)
	if err != nil || sid <= 0 {
		return ""
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", sid))
	if err != nil {
		return ""
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	// The name in parentheses may hold anything; the start time is field 22, the 20th after it.
	_, rest, ok := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 20 {
		return ""
	}
	return fmt.Sprintf("%d.%s.%s", sid, fields[19], bytes.TrimSpace(boot))
}
