package trust

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// site is the workspace whose paths are looked up; root is canonical, with slashes.
type site struct{ root string }

// found is what a path of the workspace leads to.
type found struct {
	// abs is the canonical absolute path.
	abs string
	// path is the path below the root; "" when outside.
	path             string
	outside, missing bool
}

// content resolves what a path leads to, with all links followed.
func (s site) content(rel wspath.Rel) (found, error) { return s.resolve(rel, false) }

func (s site) resolve(rel wspath.Rel, entry bool) (found, error) {
	c, err := wspath.Canonicalize(s.root, rel, entry, nil)
	to := found{abs: c.Abs, missing: c.Missing}
	rest, inside := wspath.WithinAbs(s.root, c.Abs)
	to.path, to.outside = rest, !inside
	return to, err
}

// entry is the path of the directory entry that rel names, without links on the way to it. A path
// that cannot be resolved, or that leads outside, stays as it is.
func (s site) entry(rel wspath.Rel) string {
	to, err := s.resolve(rel, true)
	if err != nil || to.outside {
		return rel.Slash()
	}
	return to.path
}

// parse takes the path of a file; an absolute one below the root is relative to it.
func (s site) parse(path string) (wspath.Rel, error) {
	rel, err := wspath.Parse(path)
	if errors.Is(err, wspath.ErrAbsolute) {
		if rest, ok := wspath.WithinAbs(s.root, filepath.ToSlash(filepath.Clean(path))); ok {
			return wspath.Parse(rest)
		}
	}
	return rel, err
}

// grant is what a rule of the user grants at an absolute path outside the workspace.
type grant struct {
	abs  string
	caps jptool.Caps
}

// granted is what the rule that decides at abs grants: the deepest, of equals the last.
func granted(rules []grant, abs string) jptool.Caps {
	best := -1
	for i, r := range rules {
		if holds(r.abs, abs) && (best < 0 || len(fold(r.abs)) >= len(fold(rules[best].abs))) {
			best = i
		}
	}
	if best < 0 {
		return 0
	}
	return rules[best].caps
}

// holds reports whether an absolute path is dir or below it.
func holds(dir, abs string) bool {
	_, ok := wspath.WithinAbs(fold(dir), fold(abs))
	return ok
}

// atOrBelow reports whether a path of the workspace is one of dirs or below one.
func atOrBelow(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		_, ok := wspath.Within(fold(dir), fold(path))
		return ok
	})
}

// fold makes paths compare as the library compares them.
func fold(path string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}
