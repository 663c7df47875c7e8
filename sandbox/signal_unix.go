//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// SignalName returns the name of the signal that ended the program (`SIGSEGV`), "" if none did.
func (s *State) SignalName() string {
	if s.Signal == 0 {
		return ""
	}
	if name := unix.SignalName(s.Signal); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", s.Signal)
}
