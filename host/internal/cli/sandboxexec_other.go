//go:build !linux

package cli

import (
	"runtime"

	"github.com/jptools/jptools/host/internal/exit"
)

func (c *sandboxExecCmd) openReport(*app) error { return nil }

// exec refuses: there is no sandbox for this system, and running without is not what was asked.
func (c *sandboxExecCmd) exec(*app, *mergedFlags) error {
	return exit.Errorf(exit.Refused, "there is no sandbox for %s\nuse Linux, or start the program without jphost", runtime.GOOS)
}
