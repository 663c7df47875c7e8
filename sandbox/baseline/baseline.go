// Package baseline says what a program needs of the system to start at all: itself, its
// interpreter and libraries, and the parts of /etc that programs read before they do anything of
// their own.
//
// It grants reading and executing only, except where the user's own sandbox.paths say more.
// What a program claims to need (the interpreter in its header or first line) is believed
// only in the directories of the system: a file in a repository cannot open another by naming it, also not
// one that may be executed. Interpreters and libraries outside of /usr and /lib are
// therefore not found by themselves; they are what sandbox.paths is for.
//
// Not here, because it is not a place that can be named before the start: /proc/self. A back
// end gives that by itself.
package baseline

import (
	_ "embed" // for system.txt
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

//go:embed system.txt
var systemText string

// system are the places of system.txt, by what they are.
var system = func() map[string][]string {
	lists, name := map[string][]string{}, ""
	for line := range strings.Lines(systemText) {
		switch line = strings.TrimSpace(line); {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			name = strings.Trim(line, "[]")
		default:
			lists[name] = append(lists[name], line)
		}
	}
	return lists
}()

// ProgramError says that the operating system could not start a program: it lacks something, or an
// interpreter does.
type ProgramError struct {
	Program string
	Err     error
}

// Error names the program and the reason.
func (e *ProgramError) Error() string { return e.Program + " cannot be started: " + e.Err.Error() }

// Unwrap returns the reason.
func (e *ProgramError) Unwrap() error { return e.Err }

// ExtraError says that a path of [Options.Extra] cannot be granted.
type ExtraError struct{ Err error }

// Error says where the path is from, and what is wrong with it.
func (e *ExtraError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *ExtraError) Unwrap() error { return e.Err }

// Options are what beside the program decides. All paths are absolute.
type Options struct {
	// Workspace is its canonical root, the directory that programs are started in.
	Workspace string
	// Path is the PATH that the tool gets: `#!/usr/bin/env NAME` is looked up in it.
	// Entries that are not absolute are skipped.
	Path string
	// Network: sockets of the internet families can be made. Then name servers, hosts and
	// certificates are readable.
	Network bool
	// System: a static program gets what other programs get of the system, because it starts some.
	System bool
	// Extra are the paths of the user's own configuration. None may lead through a symlink that is
	// [Planted]; Writable and what grants writing among them count as places where programs make links.
	Extra []Extra
	// Writable are further directories that programs may write to: the targets of mounts.
	Writable []string
	// Home is the home directory, without links.
	Home string
	// Names are paths that people use for what is granted, HOME for one: the links on the way to
	// them are there as well, and grant nothing. What is missing is skipped.
	Names []string
}

// Extra is one more path that programs need.
type Extra struct {
	Path string
	Caps jptool.Caps
	// Origin is where it was written, for messages.
	Origin string
}

// Baseline is what one program needs. It must not be modified: parts of it are shared.
type Baseline struct {
	// Grants are ordered by path, so that outer ones come first; none is covered by another.
	// Paths are canonical. A program or an interpreter in the workspace is among them.
	Grants []fit.Grant `json:"grants"`
	// Links are symbolic links on the way to what is granted which lie outside of it, ordered by path: a private tree
	// must have them too (`/bin`). Where links are looked up in the host's own tree they mean nothing, since walking
	// needs no right, and these grant none.
	Links []fit.Grant `json:"links,omitempty"`
	// Devices are nodes below /dev, readable and writable.
	Devices []string `json:"devices"`
	// Static: the program brings all it needs, and got itself alone.
	Static bool `json:"static,omitempty"`
	// Chain are the canonical paths of what was granted of what the kernel starts: the program, then
	// interpreter after interpreter.
	Chain []string `json:"chain"`
	// Outside are the canonical paths of interpreters and loaders that the program claims to be started by
	// and that were not granted, since they lie neither in the system's directories nor in the workspace.
	// Something else may grant them.
	Outside []string `json:"outside,omitempty"`
	// Given are the canonical paths of those of Options.Extra that do exist.
	Given []string `json:"given,omitempty"`
	// Missing are those of Options.Extra that do not exist.
	Missing []Extra `json:"missing,omitempty"`
}

// For looks up what a program needs. The program is an absolute path, as the launcher found it;
// argv is its command line, of which only the name that `env` looks up is used: arguments
// can be chosen by a model, and give nothing else.
//
// The nodes are as they are now; a back end that finds another object there later must refuse,
// and ask again. Errors say that the program or an interpreter of it could not be started
// anyway, or that a path in Options cannot be granted. It is safe for concurrent use.
func For(program string, argv []string, o Options) (*Baseline, error) {
	return tree{}.find(program, argv, &o)
}

// Check refuses a path of which no sandbox could be made.
func (e Extra) Check() error {
	switch {
	case !path.IsAbs(e.Path):
		return fmt.Errorf("%s: sandbox.paths: %q is not absolute", e.Origin, e.Path)
	case e.Path == "/":
		return fmt.Errorf("%s: sandbox.paths: / is everything\nname the directories that programs need, or write sandbox.mode = \"off\"", e.Origin)
	case fit.Holds("/proc", e.Path):
		return fmt.Errorf("%s: sandbox.paths: %s shows other processes, and a tool has a /proc of its own\ntake it out", e.Origin, e.Path)
	}
	return nil
}

// Planted reports whether somebody else than the person may have made a symlink, who must not choose what a path of a
// flag or of the configuration means: a repository, an unpacked archive, a program in an earlier call, another user.
// Nothing records where programs were allowed to write, so only those links count as the person's own or
// the system's that lie directly in the home directory or in a directory of the system, or belong to
// root where the person is somebody else. Never those in dirs: the workspace, and what is granted for writing now. The link, home
// and dirs are canonical, with slashes.
func Planted(link, home string, dirs []string) bool {
	if slices.ContainsFunc(dirs, holds(link)) {
		return true
	}
	dir := path.Dir(link)
	administered := dir == home || slices.Contains(system["administered"], dir)
	if administered || slices.ContainsFunc(system["installed"], holds(link)) {
		return false
	}
	fi, err := os.Lstat(filepath.FromSlash(link))
	return err != nil || !administrators(fi)
}

// holds tells of a directory whether a path is that or lies below it.
func holds(path string) func(dir string) bool {
	return func(dir string) bool { return fit.Holds(dir, path) }
}
