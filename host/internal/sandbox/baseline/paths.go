package baseline

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
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
