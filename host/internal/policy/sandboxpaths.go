package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
)

// SandboxPaths makes what [baseline.Options] takes of sandbox.paths; home replaces `~`. A path that says nothing of
// capabilities gets read and execute, any other exactly what it sets to true; nothing at all
// is an error.
func SandboxPaths(paths []config.SandboxPath, home string) ([]baseline.Extra, error) {
	var list []baseline.Extra
	for _, p := range paths {
		e := baseline.Extra{Path: filepath.ToSlash(p.Path), Origin: p.Origin.String()}
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
		if err := e.Check(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// ReachOf is what extras let be written, in the form that self-protection wants. What is not there is left out.
func ReachOf(extras []baseline.Extra) []Reach {
	var list []Reach
	for _, e := range extras {
		if to, err := wspath.CanonicalizeAbs(e.Path, nil); err == nil && !to.Missing && e.Caps&jptool.Write != 0 {
			list = append(list, Reach{Abs: to.Abs, Caps: e.Caps})
		}
	}
	return list
}
