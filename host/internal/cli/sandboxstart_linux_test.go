package cli

import (
	"errors"
	"fmt"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/sandbox/confine"
	"github.com/jptools/jptools/sandbox/baseline"
)

// The exit status says whose fault it is that a program was not started.
func TestNotStarted(t *testing.T) {
	call := &enclose.Call{}
	p, g := enclose.Program{Argv: []string{"program"}}, &given{cwd: "/cwd", root: "/ws"}
	for _, c := range []struct {
		err  error
		want exit.Code
	}{
		{startError(call, p, g, unix.EACCES), 126},
		{startError(call, p, g, unix.ENOEXEC), 126},
		{startError(call, p, g, unix.ENOENT), 127},
		{startError(call, p, g, &confine.DirectoryError{Dir: "/cwd", Errno: unix.ENOENT}), 126},
		{startError(call, p, g, errors.New("opening a file named entering /cwd: no such file or directory")), exit.Host},
		{startError(call, p, g, errors.New("making a pipe: too many open files")), exit.Host},
		{prepareError(&baseline.ProgramError{Program: "/p", Err: unix.ENOENT}), 126},
		{prepareError(fmt.Errorf("some: %w", &baseline.ExtraError{Err: errors.New("/ is everything")})), exit.Usage},
		{prepareError(unix.ENOSPC), exit.Host},
	} {
		if got := exit.Of(c.err); got != c.want {
			t.Errorf("%v: %d, want %d", c.err, got, c.want)
		}
	}
}

// Only the links of the kernel to what is open are followed for a report.
func TestIsStream(t *testing.T) {
	for name, want := range map[string]bool{
		"/dev/stdout": true, "/dev/fd/3": true, "/proc/self/fd/1": true, "/proc/123/fd/1": true,
		"/dev/shm/report": false, "/dev/null": false, "/dev/../tmp/report": false, "/dev/fd/../../tmp/report": false,
		"/proc/self/cwd/report": false, "/proc/self/root/tmp/fd/1": false, "/proc/../tmp/fd/1": false, "report": false, "": false,
	} {
		if got := isStream(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}
