package grants

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// The exit status says whose fault it is that a program was not started. What execve says is in testdata/script.
func TestNotStarted(t *testing.T) {
	c, m := &Exec{}, &merged{cwd: "/cwd", root: "/ws"}
	for _, x := range []struct {
		err  error
		want exit.Code
	}{
		{&sandbox.StartError{Program: "program", NotGranted: "/opt/perl", Err: unix.EACCES}, 126},
		{&sandbox.StartError{Program: "program", Err: errors.New("opening a file named entering /cwd: no such file or directory")}, exit.Host},
		{&sandbox.StartError{Program: "program", Err: fmt.Errorf("making a pipe: %w", unix.EMFILE)}, exit.Host},
		{&baseline.ProgramError{Program: "/p", Err: unix.ENOENT}, 126},
		{fmt.Errorf("some: %w", &baseline.ExtraError{Err: errors.New("/ is everything")}), exit.Usage},
		{&fit.RefusedError{}, exit.Refused},
		{exit.Errorf(exit.Interrupted, "interrupted"), exit.Interrupted},
		{unix.ENOSPC, exit.Host},
	} {
		if got := exit.Of(c.startError(m, x.err)); got != x.want {
			t.Errorf("%v: %d, want %d", x.err, got, x.want)
		}
	}
}

// An interpreter outside of the system is often one that a preset has.
func TestNotGrantedNamesThePreset(t *testing.T) {
	err := &sandbox.StartError{Program: "tool", NotGranted: "/home/me/.pyenv/bin/python3.11", Err: unix.EACCES}
	for _, x := range []struct {
		preset []string
		want   string
	}{
		{nil, "\nif it is yours, there is a preset: --preset python; or grant it yourself: --ro /home/me/.pyenv/bin/python3.11"},
		{[]string{"python"}, "\ngrant it yourself: --ro /home/me/.pyenv/bin/python3.11"},
	} {
		c := &Exec{}
		c.Preset = x.preset
		if got := c.startError(&merged{}, err).Error(); !strings.HasSuffix(got, x.want) {
			t.Errorf("%q: %s", x.preset, got)
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
