package ignore

import (
	"errors"
	"fmt"
	"strings"
)

// Globs is a list of gitignore patterns anchored at the root, taken from
// configuration and not from a file. It is immutable and safe for concurrent use;
// a nil *Globs covers nothing.
type Globs struct {
	file *File
}

// ParseGlobs compiles patterns, later ones winning over earlier ones. Each is a
// line of an ignore file, except that "#" does not start a comment.
//
// The list keeps files from being shown, so a pattern that would silently do
// nothing is an error that names it, and then there is no list at all: one that
// is empty (also "!" and "/"), has an unclosed bracket, a class that does not
// exist, a range that goes backwards, a bracket that matches nothing, a trailing
// backslash, a NUL or a line break, an empty, "." or ".." element, or braces,
// which other glob dialects expand and git takes literally.
func ParseGlobs(patterns []string) (*Globs, error) {
	f := &File{}
	for _, s := range patterns {
		p, err := compileStrict(s)
		if err != nil {
			return nil, fmt.Errorf("glob %q: %w", s, err)
		}
		f.patterns = append(f.patterns, p)
	}
	return &Globs{file: f}, nil
}

// Match reports whether the list covers path, be it by a pattern of its own or
// because it covers one of its parent directories: ".git/" covers ".git/HEAD",
// and no "!" takes that back. A path counts as a directory whatever it is, since
// the answer must not depend on whether it exists. The root, "", is never
// covered.
func (g *Globs) Match(path string) bool {
	for parent := range parents(path) {
		if g.MatchEntry(parent) {
			return true
		}
	}
	return g.MatchEntry(path)
}

// MatchEntry is [Globs.Match] without the parents of path, for a walker that has
// asked about each of them on its way down.
func (g *Globs) MatchEntry(path string) bool {
	if g == nil || path == "" {
		return false
	}
	return g.file.decide(path, true) == Ignore
}

func compileStrict(s string) (pattern, error) {
	switch {
	case strings.Contains(s, "\x00"):
		return pattern{}, errors.New("it contains a NUL byte")
	case strings.ContainsAny(s, "\r\n"):
		return pattern{}, errors.New("it contains a line break; give each glob an entry of its own")
	}
	s = trimTrailingSpaces(s)
	p, err := compile(s)
	if err == nil {
		err = findMistake(s)
	}
	if err != nil {
		return pattern{}, err
	}
	s = strings.TrimPrefix(strings.TrimPrefix(s, "!"), "/")
	for element := range strings.SplitSeq(strings.TrimSuffix(s, "/"), "/") {
		if element == "" || element == "." || element == ".." {
			return pattern{}, errors.New(`it has an empty, "." or ".." element, which no path has`)
		}
	}
	return p, nil
}

// findMistake looks for what is correct in an ignore file but hardly meant.
func findMistake(s string) error {
	for i := 0; i < len(s); {
		switch s[i] {
		case '{', '}':
			return errors.New(`braces are not part of the syntax; give each alternative an entry of its own, and write \{ and \} for the characters`)
		case '\\':
			i += 2
		case '[':
			b, err := parseBracket(s, i)
			switch {
			case err != nil:
				return err
			case b.reversed:
				return errors.New("a range in it goes backwards")
			case *b.set == byteSet{}:
				return errors.New("a bracket in it matches no character")
			}
			i = b.end
		default:
			i++
		}
	}
	return nil
}
