// Package ignore has the patterns of git: which paths ignore files such as .gitignore exclude, and
// which paths a [Glob] of an access policy withholds.
//
// It does no I/O: the caller reads the files and walks the tree. Its rules are
// those of git itself, including the odd ones, because a listing that differs
// from "git status" looks like a bug to whoever compares the two; the tests
// run git next to it. Patterns are compiled once and matching allocates
// nothing, so that a walk over hundreds of thousands of entries can ask about
// each of them.
//
// Paths are relative to one root, separated by slashes, without a leading or
// trailing slash and without "." and ".." elements. They are bytes, not
// characters: "?" matches one byte, as in git. Matching is case-sensitive, also
// on systems whose file names are not.
//
// What it does not do: an ignore file is a convenience, not a boundary. It says
// what is noise, never what may be read. A Glob only matches; package jptool and
// the sandbox keep what it covers from being read.
package ignore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// Decision is what the patterns say about one path.
type Decision int8

const (
	// None means that no pattern matches: the path is not ignored, unless a
	// parent directory is.
	None Decision = iota
	// Ignore means that the last matching pattern excludes the path.
	Ignore
	// Include means that the last matching pattern is a negated one ("!x"),
	// so that the path is kept whatever less specific files say.
	Include
)

// File holds the compiled patterns of one ignore file. It is immutable and safe
// for concurrent use; the zero value and nil hold no pattern.
type File struct {
	patterns []pattern
}

// Parse compiles the content of an ignore file. It cannot fail: as in git, a
// pattern that makes no sense (an unclosed bracket, a trailing backslash)
// matches nothing. A byte order mark is skipped, a line ends at LF or CR LF, and
// a NUL ends its pattern. The caller bounds the size of data; Parse keeps no
// reference to it.
func Parse(data []byte) *File {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	f := &File{}
	for line := range strings.SplitSeq(text, "\n") {
		// The comment mark counts only in the first column; "\#" is a name.
		if line == "" || line[0] == '#' {
			continue
		}
		line = strings.TrimSuffix(line, "\r")
		// git holds a line in a C string.
		line, _, _ = strings.Cut(line, "\x00")
		if p, err := compile(trimTrailingSpaces(line), false); err == nil {
			f.patterns = append(f.patterns, p)
		}
	}
	return f
}

// Empty reports whether the file holds no pattern that could match, so that a
// walker need not push it.
func (f *File) Empty() bool { return f == nil || len(f.patterns) == 0 }

// decide returns what the last matching pattern says about a path, relative to the directory of the ignore file.
func (f *File) decide(rel string, isDir bool) Decision {
	name := rel[strings.LastIndexByte(rel, '/')+1:]
	for i := len(f.patterns) - 1; i >= 0; i-- {
		p := &f.patterns[i]
		switch {
		case p.dirOnly && !isDir || !p.match(rel, name):
		case p.negated:
			return Include
		default:
			return Ignore
		}
	}
	return None
}

// trimTrailingSpaces drops spaces (not tabs) from the end of a line, except one
// that a backslash protects.
func trimTrailingSpaces(line string) string {
	end := len(strings.TrimRight(line, " "))
	if end == len(line) {
		return line
	}
	// Only an odd number of backslashes protects: "a\\ " is an escaped
	// backslash and then a space to drop.
	backslashes := end - len(strings.TrimRight(line[:end], `\`))
	return line[:end+backslashes%2]
}

// Stack is the chain of ignore files that apply in one directory, from the least
// to the most specific. It is immutable: a walker pushes while it goes down and
// keeps the old value for the way back, and several goroutines may share it. A
// nil *Stack holds no files.
type Stack struct {
	parent *Stack
	dir    string
	file   *File
}

// Push returns s with f on top, whose patterns win over those of s. The patterns
// are anchored at dir, the path of the directory that holds the ignore file, ""
// for the root; they apply to what is below dir, not to dir itself. Files that
// hold for the whole tree (.git/info/exclude) are pushed first, at "". An empty
// f leaves s as it is.
func (s *Stack) Push(dir string, f *File) *Stack {
	if f.Empty() {
		return s
	}
	return &Stack{parent: s, dir: dir, file: f}
}

// Match returns what the files say about path alone: the last matching pattern
// of the topmost file that has one. isDir is false for a symbolic link to a
// directory. The caller has not descended into an ignored directory; where that
// is not certain, the question is [Stack.MatchWithParents].
func (s *Stack) Match(path string, isDir bool) Decision {
	for ; s != nil; s = s.parent {
		if rel, ok := wspath.Within(s.dir, path); ok && rel != "" {
			if d := s.file.decide(rel, isDir); d != None {
				return d
			}
		}
	}
	return None
}

// parents yields the directories above path, the topmost first, without the root
// and without path itself.
func parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; ; i++ {
			slash := strings.IndexByte(path[i:], '/')
			if slash < 0 {
				return
			}
			i += slash
			if !yield(path[:i]) {
				return
			}
		}
	}
}

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
	p, err := compile(s, true)
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
