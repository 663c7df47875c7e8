package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
)

// openReport opens the file of --report before there is a program: afterwards its name may be a
// symlink that the program made, to a file that only this process may write. One that an earlier
// program may have left is not followed either. It is emptied: without a report of this held, there
// is not to be that of another.
func (c *sandboxExecCmd) openReport(a *app) error {
	if c.Report == "" {
		return nil
	}
	var f *os.File
	var err error
	if isStream(c.Report) {
		f, err = os.OpenFile(c.Report, os.O_WRONLY|os.O_CREATE, 0o666)
	} else {
		dir, refused := a.placed("--report", filepath.Dir(c.Report), c.writable(a)...)
		if refused != nil {
			return refused
		}
		f, err = createHere(dir, filepath.Base(c.Report))
	}
	switch {
	case errors.Is(err, unix.ELOOP):
		return exit.Errorf(exit.Usage, "--report %s is a symlink, which a program may have put there\nremove it, or name the file that it leads to", show.Visible(c.Report))
	case err != nil:
		return exit.Errorf(exit.Usage, "--report: %w\nname a file that you may write", err)
	}
	c.file = f
	return nil
}

// writable are the places of the flags in which the program, or an earlier one, may have made links.
func (c *sandboxExecCmd) writable(a *app) (dirs []string) {
	list := append([]string{cmp.Or(c.Root, a.global.Workspace, ".")}, c.RW...)
	for _, spec := range c.Grant {
		if path, caps, err := parseGrant(spec); err == nil && caps&jptool.Write != 0 {
			list = append(list, path)
		}
	}
	for _, path := range list {
		if abs, err := filepath.Abs(path); err == nil {
			if to, _ := wspath.CanonicalizeAbs(abs, nil); to.Abs != "" {
				dirs = append(dirs, to.Abs)
			}
		}
	}
	return dirs
}

// createHere opens an empty file for writing, in a directory that was resolved. No symlink is followed any more: not
// the file itself, and none that appears on the way meanwhile. A FIFO that nobody reads from does not block.
func createHere(dir, name string) (*os.File, error) {
	path := filepath.Join(dir, name)
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags:   unix.O_WRONLY | unix.O_CREAT | unix.O_TRUNC | unix.O_CLOEXEC | unix.O_NONBLOCK,
		Mode:    0o666,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	})
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) { // before Linux 5.6, or a filter that knows no openat2
		return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o666)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// isStream reports whether a path names what is open already, by links of the kernel's own. Others in
// these places (/dev/shm, /proc/self/cwd) anybody can make.
func isStream(name string) bool {
	return name == filepath.Clean(name) && slices.ContainsFunc([]string{"/dev/std*", "/dev/fd/*", "/proc/*/fd/*"}, func(pattern string) bool {
		is, _ := filepath.Match(pattern, name)
		return is
	})
}

// report writes what was enforced to the file of --report.
func (c *sandboxExecCmd) report(a *app, cmd *sandbox.Cmd) error {
	if c.file == nil || cmd.Attempt == nil {
		return nil
	}
	report := struct {
		*enforcement.Report
		// Exit is how the program ended; absent if it was not started.
		Exit    *call.Ended          `json:"exit,omitempty"`
		Denials []enforcement.Denial `json:"denials,omitzero"`
	}{Report: &enforcement.Report{Report: cmd.Report(), Observed: c.seen}, Denials: c.denials}
	if s := cmd.State; s != nil {
		report.Exit = &call.Ended{Code: s.Code, Signal: s.SignalName()}
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return err
	}
	return exit.With(exit.Host, c.writeReport(append(data, '\n')))
}

func (c *sandboxExecCmd) writeReport(data []byte) error {
	is, err := c.file.Stat()
	if err == nil && is.Mode().IsRegular() {
		err = c.file.Truncate(0)
	}
	if err == nil {
		_, err = c.file.Write(data)
	}
	if err := errors.Join(err, c.file.Close()); err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	if !is.Mode().IsRegular() {
		return nil
	}
	if at, err := os.Lstat(c.Report); err != nil || !os.SameFile(is, at) {
		return fmt.Errorf("--report: %s was removed or replaced while the program ran, so there is no report\nname a file where the program may not write", show.Visible(c.Report))
	}
	return nil
}
