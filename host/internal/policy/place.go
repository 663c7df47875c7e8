package policy

import (
	"errors"
	"runtime"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// place is a canonical path: below the workspace root, or absolute outside of it. Rules
// are compared by place, as the library does when it evaluates them.
type place struct {
	outside bool
	path    string
}

// mounted is an external rule that is approved: its link, and where that leads.
type mounted struct {
	path, target string
	rule         int
}

// site is the workspace as rules see it.
type site struct {
	root   string
	mounts []mounted
	// readlink is nil for the file system as it is now.
	readlink wspath.Readlink
}

// once has paths resolved by one state of the tree until the function that it returns is called: what
// is guarded lies close together, and is looked at again and again.
func (s *site) once() func() {
	s.readlink = wspath.Once()
	return func() { s.readlink = nil }
}

var errOutside = errors.New("it leads outside the workspace")

func (s *site) placeOf(abs string) place {
	if rest, ok := wspath.WithinAbs(s.root, abs); ok {
		return place{path: rest}
	}
	return place{true, abs}
}

// mountOf is the mount with the deepest target that holds an absolute path.
func (s *site) mountOf(abs string) *mounted {
	var best *mounted
	for i := range s.mounts {
		m := &s.mounts[i]
		if _, ok := wspath.WithinAbs(m.target, abs); ok && (best == nil || len(m.target) > len(best.target)) {
			best = m
		}
	}
	return best
}

// known reports whether a tool can reach the place at all.
func (s *site) known(at place) bool { return !at.outside || s.mountOf(at.path) != nil }

// wire is the path that leads to a known place without a link other than a mount's.
func (s *site) wire(at place) string {
	if !at.outside {
		return at.path
	}
	if m := s.mountOf(at.path); m != nil {
		rest, _ := wspath.WithinAbs(m.target, at.path)
		return wspath.JoinSlash(m.path, rest)
	}
	return at.path
}

// resolved is what a path of the workspace resolves to.
type resolved struct {
	at      place
	abs     string
	missing bool
	// links are the entries of the symlinks that were followed.
	links []place
	// onLink: the path itself is a symlink.
	onLink bool
}

// content resolves what a path leads to. After an error the place is where it was heading.
func (s *site) content(rel wspath.Rel) (resolved, error) { return s.resolve(rel, false) }

func (s *site) resolve(rel wspath.Rel, entry bool) (resolved, error) {
	c, err := wspath.Canonicalize(s.root, rel, entry, s.readlink)
	r := resolved{at: s.placeOf(c.Abs), abs: c.Abs, missing: c.Missing}
	for _, hop := range c.Hops {
		r.links = append(r.links, s.placeOf(hop.Entry))
		r.onLink = r.onLink || hop.Entry == hop.Path
	}
	return r, err
}

// entry is the place of the directory entry that a path names, whatever it links to, and
// the path that names it without links on the way; a path that cannot be told stays as
// it is.
func (s *site) entry(rel wspath.Rel) (at place, path string) {
	r, err := s.resolve(rel, true)
	if err != nil || !s.known(r.at) {
		return place{path: rel.Slash()}, rel.Slash()
	}
	return r.at, s.wire(r.at)
}

// fold makes places compare as the library compares them.
func fold(path string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// holds reports whether at is dir or below it.
func (dir place) holds(at place) bool {
	if dir.outside != at.outside {
		return false
	}
	if dir.outside {
		_, ok := wspath.WithinAbs(fold(dir.path), fold(at.path))
		return ok
	}
	_, ok := wspath.Within(fold(dir.path), fold(at.path))
	return ok
}

func (dir place) same(at place) bool {
	return dir.outside == at.outside && fold(dir.path) == fold(at.path)
}

// dotted is a path for people.
func dotted(path string) string {
	if path == "" {
		return "."
	}
	return path
}
