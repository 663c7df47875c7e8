package cli

import (
	"path/filepath"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/sandbox/baseline"
	"github.com/jptools/jptools/jptool/wspath"
)

// refuseLinks is an error if a symlink on the way of path may have been made by somebody who must not choose what
// path means: a repository, a program that was confined in an earlier call, or another user. The kernel would
// follow it, so that `--rw build/` would grant `~/.ssh` where a repository has `build -> ../../.ssh`.
//
// dirs are the workspace and what the program may write; see [baseline.PlantedBy]. flag names the flag in the error; path is as it was written.
func (a *app) refuseLinks(flag, path string, dirs []string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	home := a.housed().home()
	to, _ := wspath.CanonicalizeAbs(abs, nil) // also where a link leads nowhere, or around in a circle
	for _, hop := range to.Hops {
		why := baseline.PlantedBy(hop.Entry, filepath.ToSlash(home), dirs)
		if why == "" {
			continue
		}
		target := ask.Word(filepath.FromSlash(to.Abs))
		return exit.Errorf(exit.Usage, "%s %s: %s is a symlink %s, and the path leads to %s\nif that place is meant, write %s",
			flag, ask.Visible(path), ask.Visible(hop.Entry), why, target, target)
	}
	return nil
}

// placed is refuseLinks for a directory that a command works in (-C, --root). The working directory
// counts as a workspace, except where nobody would take it for one.
func (a *app) placed(flag, path string) error {
	cwd, err := workingDirectory()
	if err != nil {
		return err
	}
	var dirs []string
	if !tooWide(cwd, a.housed().home()) {
		dirs = []string{filepath.ToSlash(cwd)}
	}
	return a.refuseLinks(flag, path, dirs)
}
