package launch

import (
	"os"
	"syscall"
	"testing"
)

// The test binary is the host, its supervisors, and the tools that misbehave in ways a
// shell script cannot. These do not end by os.Exit, which takes a second under the race detector.
func TestMain(m *testing.M) {
	if IsSupervisor(os.Args) {
		syscall.Exit(Supervise(startForTests))
	}
	if len(os.Args) > 1 && os.Args[0] == helperName {
		syscall.Exit(helper(os.Args[1], os.Args[2:]))
	}
	// The runtime's poller opens descriptors at its first use; tests count them.
	r, w, _ := os.Pipe()
	closeAll(r, w)
	os.Exit(m.Run())
}

const helperName = "launch-helper"
