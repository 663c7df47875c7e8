package baseline

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// FromConfig makes Extras of sandbox.paths; home replaces `~`. A path that says nothing of
// capabilities gets read and execute, any other exactly what it sets to true; nothing at all
// is an error.
func FromConfig(paths []config.SandboxPath, home string) ([]Extra, error) {
	var list []Extra
	for _, p := range paths {
		e := Extra{Path: filepath.ToSlash(p.Path), Origin: p.Origin.String()}
		if rest, ok := strings.CutPrefix(e.Path, "~"); ok && (rest == "" || rest[0] == '/') {
			if !filepath.IsAbs(home) {
				return nil, fmt.Errorf("%s: sandbox.paths: %q needs a home directory, and HOME is %q\nset HOME, or write the path in full", e.Origin, p.Path, home)
			}
			e.Path = filepath.ToSlash(home) + rest
		}
		e.Path = path.Clean(e.Path)
		written := false
		for _, c := range []struct {
			given *bool
			caps  jptool.Caps
		}{{p.Read, jptool.Read}, {p.Write, jptool.Write}, {p.Execute, jptool.Execute}} {
			written = written || c.given != nil
			if c.given != nil && *c.given {
				e.Caps |= c.caps
			}
		}
		switch {
		case !written:
			e.Caps = jptool.Read | jptool.Execute
		case e.Caps == 0:
			return nil, fmt.Errorf("%s: sandbox.paths: %q grants nothing\nset read, write or execute to true, or take it out", e.Origin, p.Path)
		}
		if err := e.check(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// Reach is what extras let be written, in the form that self-protection wants. What is not there is left out.
func Reach(extras []Extra) []policy.Reach {
	var list []policy.Reach
	for _, e := range extras {
		if to, err := wspath.CanonicalizeAbs(e.Path, nil); err == nil && !to.Missing && e.Caps&jptool.Write != 0 {
			list = append(list, policy.Reach{Abs: to.Abs, Caps: e.Caps})
		}
	}
	return list
}

// check refuses what no sandbox could be made of.
func (e Extra) check() error {
	switch {
	case !path.IsAbs(e.Path):
		return fmt.Errorf("%s: sandbox.paths: %q is not absolute", e.Origin, e.Path)
	case e.Path == "/":
		return fmt.Errorf("%s: sandbox.paths: / is everything\nname the directories that programs need, or write sandbox.mode = \"off\"", e.Origin)
	case e.Path == "/proc" || strings.HasPrefix(e.Path, "/proc/"):
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
	for _, dir := range dirs {
		if _, in := wspath.WithinAbs(dir, link); in {
			return true
		}
	}
	dir := path.Dir(link)
	if dir == home || slices.Contains(administered, dir) {
		return false
	}
	for _, system := range installed {
		if _, in := wspath.WithinAbs(system, link); in {
			return false
		}
	}
	fi, err := os.Lstat(filepath.FromSlash(link))
	return err != nil || !state.Roots(fi)
}

// installed hold what the system is installed to, administered what an administrator puts beside it.
var (
	installed    = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/nix", "/gnu", "/run", "/proc", "/sys"}
	administered = []string{"/", "/var", "/opt", "/srv", "/home", "/mnt", "/media"}
)
