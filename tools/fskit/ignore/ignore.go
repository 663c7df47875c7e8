// Package ignore decides which paths ignore files such as .gitignore exclude.
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
// what is noise, never what may be read.
package ignore

import (
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
		if p, err := compile(trimTrailingSpaces(line)); err == nil {
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
