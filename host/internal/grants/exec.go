package grants

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

// Exec is `sandbox exec`: it runs a program under the grants of its flags.
type Exec struct {
	Flags
	Report         string `placeholder:"FILE" help:"Write what was enforced, and what could not be, as JSON to FILE."`
	Quiet          bool   `short:"q" help:"Say nothing about what cannot be enforced; with --report, nor about what was refused."`
	ExplainDenials bool   `help:"Say what was refused, and what would allow it. Slows the program down."`

	file    *os.File // of Report
	denials []enforcement.Denial
	seen    *enforcement.Observed
}

// notStarted is the error for a program that cannot be started, with the exit status of shells.
func notStarted(program string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.Errorf(127, "%s: there is no such program\ncheck its path; it is relative to the working directory", show.Visible(program))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EISDIR):
		return exit.Errorf(126, "%s cannot be executed: %w\nif it is a program, make it executable: chmod +x %s", show.Visible(program), wspath.Bare(err), show.Word(program))
	}
	return exit.Errorf(127, "%s: %w", show.Visible(program), err)
}
