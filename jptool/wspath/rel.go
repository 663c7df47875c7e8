// Package wspath has the two forms of a path that access decisions are made on,
// and the means to act on a path without a race.
//
// [Rel] is lexical: what a caller typed, normalised without any I/O. [Canonicalize]
// resolves one against the file system into an absolute path without symlinks, for
// policy to judge. [Dir] is a held directory whose operations reach a canonical path
// without following any symlink, so that what was judged is what is used, however
// the tree changes in between.
//
// None of this stops hard links: a file is judged by the path it is reached by.
package wspath

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"
)

// The reasons for which Parse refuses its input, all before any I/O.
var (
	// ErrAbsolute: the input is absolute or rooted.
	ErrAbsolute = errors.New("absolute paths are not permitted")
	// ErrEscape: the input leaves the workspace by its `..` components.
	ErrEscape = errors.New("path escapes the workspace")
	// ErrInvalid: the input cannot name a file: NUL bytes, invalid UTF-8, too long.
	ErrInvalid = errors.New("not a usable path")
)

// Linux limits; longer paths cannot be handed to the kernel in one piece.
const (
	maxPath      = 4095
	maxComponent = 255
)

// Rel is a workspace-relative path in lexical normal form: slashes, no empty, `.` or
// `..` components. The zero value is the workspace root. Only Parse and the methods
// of Rel make one.
type Rel struct{ s string }

// Parse normalises what a caller typed (RFD D43, "Pre-canonical workspace-relative
// invariant"): it collapses `..` lexically, so `link/../x` is `x`. It does no I/O.
// The error wraps ErrAbsolute, ErrEscape or ErrInvalid.
func Parse(unsafePath string) (Rel, error) {
	if strings.IndexByte(unsafePath, 0) >= 0 {
		return Rel{}, fmt.Errorf("%w: it holds a NUL byte", ErrInvalid)
	}
	if !utf8.ValidString(unsafePath) {
		return Rel{}, fmt.Errorf("%w: it is not valid UTF-8", ErrInvalid)
	}
	slashed := filepath.ToSlash(unsafePath) // a backslash is an ordinary byte of a name but on Windows
	// On Windows, `C:x` is relative to a directory that only the process knows.
	if strings.HasPrefix(slashed, "/") || filepath.VolumeName(unsafePath) != "" {
		return Rel{}, ErrAbsolute
	}
	clean := path.Clean(slashed)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return Rel{}, ErrEscape
	}
	if clean == "." {
		clean = ""
	}
	if len(clean) > maxPath {
		return Rel{}, fmt.Errorf("%w: it is %d bytes long, the limit is %d", ErrInvalid, len(clean), maxPath)
	}
	for part := range strings.SplitSeq(clean, "/") {
		if len(part) > maxComponent {
			return Rel{}, fmt.Errorf("%w: a component is %d bytes long, the limit is %d", ErrInvalid, len(part), maxComponent)
		}
	}
	if runtime.GOOS == "windows" {
		if err := checkWindows(clean); err != nil {
			return Rel{}, err
		}
	}
	return Rel{clean}, nil
}

// checkWindows refuses alternate data streams and the reserved device names of Windows.
func checkWindows(clean string) error {
	if strings.ContainsAny(clean, `:*?"<>|`) || clean != "" && !filepath.IsLocal(filepath.FromSlash(clean)) {
		return fmt.Errorf("%w: it holds a reserved name or character", ErrInvalid)
	}
	for part := range strings.SplitSeq(clean, "/") {
		// Windows drops these, so `.env.` would open `.env`.
		if strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
			return fmt.Errorf("%w: a component ends in a dot or a space", ErrInvalid)
		}
		// A short name (PROGRA~1) is another spelling that rules would not know.
		if _, after, _ := strings.Cut(part, "~"); after != "" && after[0] >= '0' && after[0] <= '9' {
			return fmt.Errorf("%w: a component looks like a short (8.3) name; use the long one", ErrInvalid)
		}
	}
	return nil
}

// String returns the path for people: "." for the root.
func (r Rel) String() string { return cmp.Or(r.s, ".") }

// Slash returns the path with slashes: "" for the root.
func (r Rel) Slash() string { return r.s }

// IsRoot reports whether r is the workspace root.
func (r Rel) IsRoot() bool { return r.s == "" }

// Base returns the last component, "" for the root.
func (r Rel) Base() string { return r.s[strings.LastIndexByte(r.s, '/')+1:] }

// Parent returns the path without its last component; the root is its own parent.
func (r Rel) Parent() Rel { return Rel{ParentOf(r.s)} }

// ParentOf returns a normalised slash path without its last component.
func ParentOf(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return ""
}

// JoinSlash joins two normalised slash paths, either of which may be "".
func JoinSlash(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	}
	return a + "/" + b
}

// Within reports whether the normalised path p is dir or below it, by components,
// and returns what follows dir.
func Within(dir, p string) (rest string, ok bool) {
	switch {
	case dir == "":
		return p, true
	case p == dir:
		return "", true
	case len(p) > len(dir) && p[len(dir)] == '/' && p[:len(dir)] == dir:
		return p[len(dir)+1:], true
	}
	return "", false
}

// WithinAbs is Within for canonical absolute paths: there "/" is above everything.
func WithinAbs(dir, abs string) (rest string, ok bool) {
	rest, ok = Within(strings.TrimSuffix(dir, "/"), abs)
	return strings.TrimPrefix(rest, "/"), ok
}
