package walk

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jptools/jptools/jptool"
)

// Filter selects files by their names. It is safe for concurrent use.
type Filter struct {
	suffixes []string // with the dot
	globs    []glob
}

type glob struct {
	pattern string
	// base is the directory that everything the pattern matches lies in.
	base string
	// onName: the pattern has no slash and is held against the last component.
	onName bool
}

// NewFilter makes a filter of extensions, with or without their dot, and of globs in the
// syntax of doublestar (`**`, `{a,b}`, `[a-z]`). A file must have one of the extensions
// and match one of the globs; an empty list asks for nothing. A name without a dot in it,
// or with only a leading one, has no extension. A glob is held against the
// workspace-relative path, or against the name alone if it has no slash. Errors carry
// CodeInvalidArguments.
func NewFilter(extensions, globs []string) (*Filter, error) {
	f := &Filter{}
	for _, e := range extensions {
		e = strings.TrimPrefix(e, "*")
		e = strings.TrimPrefix(e, ".")
		switch {
		case strings.ContainsAny(e, "/*?[]{}"):
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `extensions`: %q is not an extension; for patterns use `glob`", e)
		case e != "":
			f.suffixes = append(f.suffixes, "."+e)
		}
	}
	for _, pattern := range globs {
		if pattern == "" {
			continue
		}
		g, err := newGlob(pattern)
		if err != nil {
			return nil, err
		}
		f.globs = append(f.globs, g)
	}
	if f.suffixes == nil && f.globs == nil {
		return nil, nil
	}
	return f, nil
}

func newGlob(pattern string) (glob, error) {
	for strings.HasPrefix(pattern, "./") {
		pattern = strings.TrimLeft(pattern[1:], "/")
	}
	fail := func(why string) (glob, error) {
		return glob{}, jptool.Errorf(jptool.CodeInvalidArguments, "argument `glob`: %q %s", pattern, why)
	}
	switch {
	case strings.HasPrefix(pattern, "/"):
		return fail("is absolute; globs are relative to the workspace")
	case strings.HasPrefix(pattern, "!"):
		return fail("is negated, which is not supported")
	case !doublestar.ValidatePattern(pattern):
		return fail("is not a valid glob")
	}
	for part := range strings.SplitSeq(pattern, "/") {
		if part == ".." || part == "." || part == "" && !strings.HasSuffix(pattern, "/") {
			return fail("has an empty, `.` or `..` component, which no path has")
		}
	}
	if strings.HasSuffix(pattern, "/") {
		pattern += "**" // a directory: what is in it
	}
	g := glob{pattern: pattern, onName: !strings.Contains(pattern, "/")}
	if !g.onName {
		base, _ := doublestar.SplitPattern(pattern)
		// An escaped character makes the base differ from the path it stands for.
		if base != "." && !strings.Contains(base, `\`) {
			g.base = base
		}
	}
	return g, nil
}

// keep reports whether the file at path is selected; f may be nil.
func (f *Filter) keep(path string) bool {
	if f == nil {
		return true
	}
	name := baseName(path)
	if f.suffixes != nil {
		found := false
		for _, s := range f.suffixes {
			if len(name) > len(s) && strings.HasSuffix(name, s) {
				found = true
				break
			}
		}
		if !found {
			return false
		}
	}
	if f.globs == nil {
		return true
	}
	for i := range f.globs {
		g := &f.globs[i]
		subject := path
		if g.onName {
			subject = name
		}
		if doublestar.MatchUnvalidated(g.pattern, subject) {
			return true
		}
	}
	return false
}

// bases are the directories that everything selected lies in, nil for anywhere.
func (f *Filter) bases() []string {
	if f == nil {
		return nil
	}
	var list []string
	for _, g := range f.globs {
		if g.base == "" {
			return nil
		}
		list = append(list, g.base)
	}
	return list
}
