package launch

import (
	"os"
	"testing"
)

// The test binary is the host, its supervisors, and the tools that misbehave in ways a
// shell script cannot.
func TestMain(m *testing.M) {
	if IsSupervisor(os.Args) {
		os.Exit(Supervise(startForTests))
	}
	if len(os.Args) > 1 && os.Args[0] == helperName {
		os.Exit(helper(os.Args[1], os.Args[2:]))
	}
	// The runtime's poller opens descriptors at its first use; tests count them.
	r, w, _ := os.Pipe()
	closeAll(r, w)
	os.Exit(m.Run())
}

const helperName = "launch-helper"
