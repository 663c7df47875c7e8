package jptool

import (
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// Place is a canonical path: below the root of the workspace ("" is the root itself), or absolute outside of it.
// Rules and targets are compared by place, so that no spelling and no link can dodge a rule.
type Place struct {
	Outside bool
	Path    string
}

// Same reports whether both are one place.
func (p Place) Same(q Place) bool {
	return p.Outside == q.Outside && Fold(p.Path) == Fold(q.Path)
}

// Contains reports whether q is p or below it.
func (p Place) Contains(q Place) bool {
	if p.Outside != q.Outside {
		return false
	}
	_, ok := wspath.WithinAbs(Fold(p.Path), Fold(q.Path))
	return ok
}

// Fold returns a path in the form in which rules and targets are compared. The usual file systems of macOS and
// Windows ignore case: `.ENV` opens `.env`, so a rule on the one is a rule on the other.
func Fold(path string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// Join returns the place of a slash path below p.
func (p Place) Join(below string) Place {
	if p.Outside {
		return Place{true, joinAbs(p.Path, below)}
	}
	return Place{Path: wspath.JoinSlash(p.Path, below)}
}

func joinAbs(dir, below string) string {
	if below == "" {
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + below
}

// Site is a workspace as its rules see it: its root, and the approved mounts, below which paths outside of it
// have names too.
type Site struct {
	// Root is the canonical absolute path of the workspace.
	Root   string
	Mounts []Mount

	dir      *wspath.Dir     // Root held open, or nil
	readlink wspath.Readlink // nil: the file system as it is now
}

// Mount is an external rule whose link leads to its approved target.
type Mount struct {
	// Path names the link, without any link on the way but those of other mounts; Link is its place.
	Path string
	Link Place
	// Target is where the link leads: canonical and absolute.
	Target string
	// Rule is the index of the external rule; of several on one link, that of the last.
	Rule int
}

// PlaceOf returns the place of a canonical absolute path.
func (s *Site) PlaceOf(abs string) Place {
	if rest, ok := wspath.WithinAbs(s.Root, abs); ok {
		return Place{Path: rest}
	}
	return Place{true, abs}
}

// Abs returns the absolute path of a place.
func (s *Site) Abs(p Place) string {
	if p.Outside {
		return p.Path
	}
	return joinAbs(s.Root, p.Path)
}

// mountOf returns the mount with the deepest target that contains the absolute path, or nil.
func (s *Site) mountOf(abs string) *Mount {
	var best *Mount
	for i := range s.Mounts {
		m := &s.Mounts[i]
		if _, ok := wspath.WithinAbs(m.Target, abs); ok && (best == nil || len(m.Target) > len(best.Target)) {
			best = m
		}
	}
	return best
}

// Known reports whether a tool can name the place p at all: it lies in the workspace or below a mount's target.
func (s *Site) Known(p Place) bool { return !p.Outside || s.mountOf(p.Path) != nil }

// Name returns the workspace-relative path of a place, "" for the root. No link but a mount's stands on it. What
// is not known has no name: the absolute path of such a place is never shown to a model.
func (s *Site) Name(p Place) string {
	if !p.Outside {
		return p.Path
	}
	if m := s.mountOf(p.Path); m != nil {
		rest, _ := wspath.WithinAbs(m.Target, p.Path)
		return wspath.JoinSlash(m.Path, rest)
	}
	return "(outside the workspace)"
}

// WirePath returns the path that the wire has for a canonical absolute path in the workspace or in a mount's target,
// and false for any other.
func (s *Site) WirePath(abs string) (string, bool) {
	place := s.PlaceOf(abs)
	if !s.Known(place) {
		return "", false
	}
	return s.Name(place), true
}

// Lexical returns where a workspace-relative path would be if no link but a mount's stood on the way.
func (s *Site) Lexical(path string) Place {
	var best *Mount
	p := Place{Path: path}
	for i := range s.Mounts {
		m := &s.Mounts[i]
		// Of nested mounts the deepest contains the path, as it does when the path is resolved.
		if rest, ok := wspath.Within(m.Path, path); ok && rest != "" && (best == nil || len(m.Path) > len(best.Path)) {
			best, p = m, Place{true, joinAbs(m.Target, rest)}
		}
	}
	return p
}

// Resolved is what a path of the workspace leads to.
type Resolved struct {
	Place Place
	Kind  Kind
	// Hops are the symlinks that were followed, in order.
	Hops []wspath.Hop
}

// Missing reports whether nothing was there.
func (r *Resolved) Missing() bool { return r.Kind == KindMissing }

// onLink reports whether the path itself is a symlink.
func (r *Resolved) onLink() bool {
	return slices.ContainsFunc(r.Hops, func(h wspath.Hop) bool { return h.Entry == h.Path })
}

// Resolve finds the place of a path: of what it leads to, or with entry of the directory entry that it names,
// whatever that links to. After an error the place is where the resolution was heading.
func (s *Site) Resolve(rel wspath.Rel, entry bool) (Resolved, error) {
	if s.dir != nil {
		// If no symlink is on the way, one system call tells, even if the target is missing.
		if r, ok := s.probe(rel, entry); ok {
			return r, nil
		}
	}
	c, err := wspath.Canonicalize(s.Root, rel, entry, s.readlink)
	return s.resolved(c), err
}

// resolved is the result of a resolution. Nothing is missing after an error.
func (s *Site) resolved(c wspath.Canonical) Resolved {
	r := Resolved{Place: s.PlaceOf(c.Abs), Hops: c.Hops}
	if c.Missing {
		r.Kind = KindMissing
	}
	return r
}

func (s *Site) probe(rel wspath.Rel, entry bool) (Resolved, bool) {
	probe := rel.Slash()
	if entry {
		probe = wspath.ParentOf(probe)
	}
	mode, err := s.dir.Probe(probe)
	switch {
	case err == nil && !entry:
		return Resolved{Place: Place{Path: rel.Slash()}, Kind: kindOfMode(mode)}, true
	case err == nil && mode.IsDir():
		return Resolved{Place: Place{Path: rel.Slash()}}, true
	case errors.Is(err, fs.ErrNotExist):
		// A symlink would have been met before what is missing.
		return Resolved{Place: Place{Path: rel.Slash()}, Kind: KindMissing}, true
	}
	return Resolved{}, false
}

// ResolveAbs resolves an absolute path that a host names, as Resolve does: the same state of the tree is seen.
func (s *Site) ResolveAbs(abs string) (Resolved, error) {
	c, err := wspath.CanonicalizeAbs(abs, s.readlink)
	if c.Abs == "" {
		return Resolved{}, err // not a usable path
	}
	return s.resolved(c), err
}

// entry returns the place of the directory entry that a path names, and its name without links on the way. What
// cannot be resolved stays as it is written.
func (s *Site) entry(rel wspath.Rel) (Place, string) {
	r, err := s.Resolve(rel, true)
	switch {
	case err != nil:
		return s.Lexical(rel.Slash()), rel.Slash()
	case !s.Known(r.Place):
		return r.Place, rel.Slash()
	}
	return r.Place, s.Name(r.Place)
}

// Entry returns the name of the directory entry that a path names, without links on the way; a path that cannot be
// resolved stays as it is written.
func (s *Site) Entry(rel wspath.Rel) string {
	_, name := s.entry(rel)
	return name
}

// Frozen returns the site as one state of the tree shows it: each link is read once at most. It is not for use by
// several goroutines.
func (s Site) Frozen() Site {
	s.dir, s.readlink = nil, wspath.Once()
	return s
}

// RulePath reads the path of a rule. An absolute path below one of roots is taken as relative to it.
func RulePath(path string, roots ...string) (wspath.Rel, error) {
	rel, err := wspath.Parse(path)
	if err == nil || !filepath.IsAbs(path) {
		return rel, err
	}
	clean := filepath.ToSlash(filepath.Clean(path))
	for _, root := range roots {
		if rest, ok := wspath.WithinAbs(filepath.ToSlash(filepath.Clean(root)), clean); ok {
			return wspath.Parse(rest)
		}
	}
	return rel, err
}
