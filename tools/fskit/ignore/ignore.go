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

import "strings"

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

	// Every pattern is in exactly one chain, linked from the last to the first
	// through pattern.next. A path is compared only with the chain of its name,
	// the chain of its extension and the chain of the patterns that have neither,
	// so most of a long file costs nothing. The numbers are those of patterns,
	// from 1 on; 0 ends a chain.
	chains map[chain]int
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
			f.add(p)
		}
	}
	return f
}

// Empty reports whether the file holds no pattern that could match, so that a
// walker need not push it.
func (f *File) Empty() bool { return f == nil || len(f.patterns) == 0 }

// add appends p, which then wins over all patterns before it.
func (f *File) add(p pattern) {
	if f.chains == nil {
		f.chains = map[chain]int{}
	}
	c := p.chain()
	p.next = f.chains[c]
	f.patterns = append(f.patterns, p)
	f.chains[c] = len(f.patterns)
}

// decide returns what the last matching pattern says about t.
func (f *File) decide(t *target) Decision {
	best := 0
	for _, c := range [...]chain{{byName, t.name}, {byExt, t.ext}, {byRest, ""}} {
		best = f.last(f.chains[c], best, t)
	}
	switch {
	case best == 0:
		return None
	case f.patterns[best-1].negated:
		return Include
	}
	return Ignore
}

// last walks a chain from its head i and returns the first match that comes
// after best, or else best.
func (f *File) last(i, best int, t *target) int {
	for i > best {
		p := &f.patterns[i-1]
		if (t.isDir || !p.dirOnly) && p.match(t) {
			return i
		}
		i = p.next
	}
	return best
}

// target is a path prepared for matching, so that a stack of files splits it
// only once.
type target struct {
	rel   string // path relative to the directory of the ignore file
	name  string // last element
	ext   string // name from its last dot on, "" without a dot
	isDir bool
}

func newTarget(path string, isDir bool) target {
	t := target{rel: path, name: path[strings.LastIndexByte(path, '/')+1:], isDir: isDir}
	if dot := strings.LastIndexByte(t.name, '.'); dot >= 0 {
		t.ext = t.name[dot:]
	}
	return t
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
