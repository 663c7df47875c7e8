//go:build !linux

package grants

import (
	"runtime"

	"github.com/jptools/jptools/host/internal/exit"
)

// Start refuses: there is no sandbox for this system, and running without is not what was asked.
func (c *Exec) Start(p *Process, _ []string, _ func() string) error {
	if _, err := c.compile(p); err != nil {
		return err
	}
	return exit.Errorf(exit.Refused, "there is no sandbox for %s\nuse Linux, or start the program without jphost", runtime.GOOS)
}
