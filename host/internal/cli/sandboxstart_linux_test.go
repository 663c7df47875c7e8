package cli

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/sandbox/baseline"
)

// The exit status says whose fault it is that a program was not started.
func TestNotStarted(t *testing.T) {
	p := enclose.Program{Argv: []string{"program"}}
	for _, c := range []struct {
		err  error
		want exit.Code
	}{
		{startError(p, "/cwd", "/ws", unix.EACCES), 126},
		{startError(p, "/cwd", "/ws", unix.ENOEXEC), 126},
		{startError(p, "/cwd", "/ws", unix.ENOENT), 127},
		{startError(p, "/cwd", "/ws", errors.New("entering /cwd: no such file or directory")), 126},
		{startError(p, "/cwd", "/ws", errors.New("making a pipe: too many open files")), exit.Host},
		{prepareError(&baseline.ProgramError{Program: "/p", Err: unix.ENOENT}), 126},
		{prepareError(fmt.Errorf("some: %w", &baseline.ExtraError{Err: errors.New("/ is everything")})), exit.Usage},
		{prepareError(unix.ENOSPC), exit.Host},
	} {
		if got := exit.Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}
