// Package launch reads the result of a tool ([Parse]).
package launch

import (
	"fmt"
	"time"
)

// Limits bound one call of a tool.
type Limits struct {
	// Time is how long the tool may run.
	Time time.Duration
	// Stdout and Stderr are how many bytes it may print. One more ends it.
	Stdout, Stderr int
	// Grace is what is left between SIGTERM and SIGKILL on a time-out or cancellation.
	Grace time.Duration
}

// DefaultLimits hold for what a configuration does not set.
var DefaultLimits = Limits{
	Time:   120 * time.Second,
	Stdout: 64 << 20,
	Stderr: 4 << 20,
	Grace:  250 * time.Millisecond,
}

// Exit is how a process ended.
type Exit struct {
	// Code is the exit status, or -1 if a signal ended it.
	Code int
	// Signal is the name of that signal (`SIGSEGV`), or empty.
	Signal string
}

// String is for messages: "exit status 3", "killed by SIGSEGV". Of the signals that limits of
// resources send it says so.
func (e Exit) String() string {
	switch e.Signal {
	case "":
	case "SIGXCPU":
		return "killed by SIGXCPU, at the limit of processor time (limits.cpu_seconds)"
	case "SIGXFSZ":
		return "killed by SIGXFSZ, at the limit of the size of a file (limits.file_size)"
	default:
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}
