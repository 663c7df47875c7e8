package baseline

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
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

// PlantedBy says who but the person may have made a symlink, "" for nobody: whoever did must not choose what a path of
// a flag or of the configuration means. The link and dirs are canonical, with slashes. Such links are those in
// dirs (the workspace, and what programs that are confined may write), in a directory below home that something marks as
// a repository or a workspace, and those of another user.
func PlantedBy(link, home string, dirs []string) string {
	for _, dir := range dirs {
		if _, in := wspath.WithinAbs(dir, link); in {
			return "that a repository or a program may have made"
		}
	}
	for dir := path.Dir(link); dir != home && path.Dir(dir) != dir; dir = path.Dir(dir) {
		for _, mark := range []string{".git", ".jp", ".jp.toml"} {
			if _, err := os.Lstat(filepath.FromSlash(path.Join(dir, mark))); err == nil {
				return fmt.Sprintf("in the repository or workspace %s", dir)
			}
		}
	}
	if fi, err := os.Lstat(filepath.FromSlash(link)); err == nil && state.Foreign(fi) && !state.Roots(fi) {
		return "of another user"
	}
	return ""
}
