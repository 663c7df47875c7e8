package cli

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
)

// follow resolves a path of a flag, once, so that the path that is judged is the one that is used. It is an error if a
// symlink on the way may have been made by somebody who must not choose what the path means: a repository, a program
// that was confined in an earlier call, or another user. Otherwise `--rw build/` would grant `~/.ssh` if a repository
// has the link `build -> ../../.ssh`.
//
// dirs are the workspace and the places where the program may write; see [baseline.Planted]. flag names the flag in the
// error; path is as the user wrote it. A path that does not exist is no error; broken says why a path cannot be followed
// to its end.
func (a *app) follow(flag, path string, dirs []string) (to wspath.Canonical, broken, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return to, nil, exit.With(exit.Usage, err)
	}
	to, broken = wspath.CanonicalizeAbs(abs, nil)
	return to, broken, a.refuseLinks(flag, path, to, dirs)
}

// refuseLinks is the error of [app.follow] for a path that was resolved.
func (a *app) refuseLinks(flag, path string, to wspath.Canonical, dirs []string) error {
	home := filepath.ToSlash(a.housed().home())
	for _, hop := range to.Hops {
		if baseline.Planted(hop.Entry, home, dirs) {
			target := show.Word(filepath.FromSlash(to.Abs))
			return exit.Errorf(exit.Usage, "%s %s: %s is a symlink that a repository or a program may have made, and the path leads to %s\nif that place is meant, write %s",
				flag, show.Visible(path), show.Visible(hop.Entry), target, target)
		}
	}
	return nil
}

// placed is follow for a directory that a command works in (-C, --root). The working directory counts as a workspace
// unless it is too wide for one; dirs are further directories in which a program may have made links.
func (a *app) placed(flag, path string, dirs ...string) (string, error) {
	cwd, err := workingDirectory()
	if err != nil {
		return "", err
	}
	if !tooWide(cwd, a.housed().home()) {
		dirs = append(dirs, filepath.ToSlash(cwd))
	}
	to, broken, err := a.follow(flag, path, dirs)
	if err != nil {
		return "", err
	}
	if broken == nil && to.Missing {
		_, broken = os.Lstat(filepath.FromSlash(to.Abs))
	}
	if broken != nil {
		return "", exit.Errorf(exit.Usage, "%s %s cannot be used: %w\nname an existing directory", flag, show.Visible(path), wspath.Bare(broken))
	}
	return filepath.FromSlash(to.Abs), nil
}

// unmoved is an error if a directory that was resolved is another one when it is used: a program that may write beside
// it can put a link in its place in between. It does not check on Windows, where a directory has several spellings.
func unmoved(found, used string) error {
	if runtime.GOOS == "windows" || filepath.ToSlash(found) == filepath.ToSlash(used) {
		return nil
	}
	return exit.Errorf(exit.Usage, "%s was replaced by a symlink while it was looked at\ntry again when nothing else changes it", show.Visible(found))
}
