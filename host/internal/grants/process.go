// Package grants is the part of a command line that says what a program may do: what its paths mean, which policy its
// flags describe, and `sandbox exec` and `sandbox plan`, which apply it to any program.
//
// A path of a flag means the place where it is written. It never leads through a symlink that a repository or a confined
// program may have made.
package grants

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
)

// Process is what this process was started with.
type Process struct {
	Ctx     context.Context
	Environ []string
	Stdin   io.Reader
	Out     *term.Output
	// Helpers start programs; nil means new ones.
	Helpers *sandbox.Helpers
	// Workspace is the directory of -C, or "".
	Workspace string
	// Configured: --cfg or --conversation is on the line.
	Configured bool
}

// Getenv returns a variable of the environment, or "".
func (p *Process) Getenv(name string) string { return jptool.LookupEnv(p.Environ, name) }

// Home is the home directory without links; if it cannot be resolved, it is what HOME says.
func (p *Process) Home() string {
	home := p.Getenv("HOME")
	if h, err := filepath.EvalSymlinks(home); err == nil {
		return h
	}
	return home
}

// housed is p with the home directory of the user database if HOME is no absolute path, because what lies there must be
// protected from the program even then.
func (p *Process) housed() *Process {
	if filepath.IsAbs(p.Getenv("HOME")) {
		return p
	}
	u, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil || u.HomeDir == "" {
		return p // a user without a home directory
	}
	return &Process{Environ: append(slices.Clip(p.Environ), "HOME="+u.HomeDir)}
}

// Own are the directories of the user's configuration and of the state of jphost.
func (p *Process) Own() []string {
	list := []string{filepath.ToSlash(filepath.Dir(config.UserGlobalPath(p.housed().Environ)))}
	if base, err := state.OS(p.housed().Getenv).Base(); err == nil {
		list = append(list, filepath.ToSlash(base))
	}
	return list
}

// TempBase is the directory for the private directories of calls, if the tier has none of its own.
func (p *Process) TempBase() string {
	for _, dir := range []string{p.Getenv("TMPDIR"), "/tmp"} {
		if real, err := filepath.EvalSymlinks(dir); err == nil && filepath.IsAbs(dir) && isDir(real) {
			return filepath.ToSlash(real)
		}
	}
	return os.TempDir()
}

// WorkingDirectory is the working directory without links.
func WorkingDirectory() (string, error) {
	cwd, err := syscall.Getwd() // os.Getwd would believe $PWD, which may lead through links
	real := cwd
	if err == nil {
		real, err = filepath.EvalSymlinks(cwd)
	}
	if err != nil {
		return "", exit.Errorf(exit.Usage, "the working directory cannot be used: %w\nchange into one that exists", err)
	}
	return real, Unmoved(cwd, real)
}

// TooWide reports whether dir is a workspace only if somebody names it. Both paths are absolute and without links.
func TooWide(dir, home string) bool { return dir == home || filepath.Dir(dir) == dir }

// Unmoved is an error if a directory that was resolved is another one when it is used: a program that may write beside
// it can put a link in its place in between. It does not check on Windows, where a directory has several spellings.
func Unmoved(found, used string) error {
	if runtime.GOOS == "windows" || filepath.ToSlash(found) == filepath.ToSlash(used) {
		return nil
	}
	return exit.Errorf(exit.Usage, "%s was replaced by a symlink while it was looked at\ntry again when nothing else changes it", show.Visible(found))
}

// Follow resolves a path of a flag, once, so that the path that is judged is the one that is used. It is an error if a
// symlink on the way may have been made by somebody who must not choose what the path means: a repository, a program
// that was confined in an earlier call, or another user. Otherwise `--rw build/` would grant `~/.ssh` if a repository
// has the link `build -> ../../.ssh`.
//
// dirs are the workspace and the places where the program may write; see [baseline.Planted]. flag names the flag in the
// error; path is as the user wrote it. A path that does not exist is no error; missing says why a path cannot be
// followed to its end.
func (p *Process) Follow(flag, path string, dirs []string) (to wspath.Canonical, missing, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return to, nil, exit.With(exit.Usage, err)
	}
	to, missing = resolve(abs)
	return to, missing, p.refuseLinks(flag, path, to, dirs)
}

// resolve follows an absolute path; missing says why nothing is there.
func resolve(abs string) (to wspath.Canonical, missing error) {
	to, missing = wspath.CanonicalizeAbs(abs, nil)
	if missing == nil && to.Missing {
		_, missing = os.Lstat(filepath.FromSlash(to.Abs))
	}
	return to, missing
}

// refuseLinks is the error of [Process.Follow] for a path that was resolved.
func (p *Process) refuseLinks(flag, path string, to wspath.Canonical, dirs []string) error {
	home := filepath.ToSlash(p.housed().Home())
	for _, hop := range to.Hops {
		if baseline.Planted(hop.Entry, home, dirs) {
			target := show.Word(filepath.FromSlash(to.Abs))
			return exit.Errorf(exit.Usage, "%s %s: %s is a symlink that a repository or a program may have made, and the path leads to %s\nif that place is meant, write %s",
				flag, show.Visible(path), show.Visible(hop.Entry), target, target)
		}
	}
	return nil
}

// Placed is Follow for a directory that a command works in (-C, --root). The working directory counts as a workspace
// unless it is too wide for one; dirs are further directories in which a program may have made links.
func (p *Process) Placed(flag, path string, dirs ...string) (string, error) {
	cwd, err := WorkingDirectory()
	if err != nil {
		return "", err
	}
	if !TooWide(cwd, p.housed().Home()) {
		dirs = append(dirs, filepath.ToSlash(cwd))
	}
	to, missing, err := p.Follow(flag, path, dirs)
	if err != nil {
		return "", err
	}
	if missing == nil && !isDir(filepath.FromSlash(to.Abs)) {
		missing = errors.New("it is not a directory")
	}
	if missing != nil {
		return "", exit.Errorf(exit.Usage, "%s %s cannot be used: %w\nname an existing directory", flag, show.Visible(path), wspath.Bare(missing))
	}
	return filepath.FromSlash(to.Abs), nil
}

// FindRoot finds the workspace around the directory cwd: the nearest directory with a `.jp` directory, else with
// `.git`, else the outermost with a `.jp.toml` (so that no restriction is left out), else cwd itself.
//
// In a directory that everybody may write to, the directory and the mark must belong to this user, because somebody
// else could have put the mark there. This does not count for cwd itself: a tool that makes the root of the workspace
// writable for everybody must not get rid of its rules. A mark in the home directory or in the root of the file system
// does not count either: it would make everything one workspace.
func FindRoot(cwd, home string) string {
	marked := func(dir, mark string) bool {
		fi, err := os.Stat(filepath.Join(dir, mark))
		if err != nil || mark == ".jp" && !fi.IsDir() {
			return false
		}
		at, err := os.Stat(dir)
		if err != nil {
			return false
		}
		if at.Mode().Perm()&0o002 == 0 || dir == cwd {
			return true
		}
		own, err := os.Lstat(filepath.Join(dir, mark)) // a link of others could lead to something of ours
		return err == nil && !state.Foreign(own) && !state.Foreign(at)
	}
	var jp, git, toml string
	for dir := cwd; !TooWide(dir, home); dir = filepath.Dir(dir) {
		if jp == "" && marked(dir, ".jp") {
			jp = dir
		}
		if git == "" && marked(dir, ".git") {
			git = dir
		}
		if marked(dir, ".jp.toml") {
			toml = dir
		}
	}
	return cmp.Or(jp, git, toml, cwd)
}

func isFile(path string) bool {
	is, err := os.Stat(path)
	return err == nil && !is.IsDir()
}

func isDir(path string) bool {
	is, err := os.Stat(path)
	return err == nil && is.IsDir()
}
