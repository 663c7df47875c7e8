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
	// through pattern.next. A path is held only against the chain of its name,
	// the chain of its extension and the chain of the patterns that fit neither
	// map, so most of a long file costs nothing.
	names map[string]int32
	exts  map[string]int32
	rest  int32
}

// Parse compiles the content of an ignore file. It cannot fail: as in git, a
// pattern that makes no sense (an unclosed bracket, a trailing backslash)
// matches nothing. A byte order mark is skipped, a line ends at LF or CR LF, and
// a NUL ends its pattern. The caller bounds the size of data; Parse keeps no
// reference to it.
func Parse(data []byte) *File {
	text := strings.TrimPrefix(string(data), "\xef\xbb\xbf")
	f := newFile()
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

func newFile() *File { return &File{rest: noPattern} }

// noPattern ends a chain.
const noPattern = -1

// add appends p, which then wins over all patterns before it.
func (f *File) add(p pattern) {
	i := int32(len(f.patterns))
	switch kind, key := p.chain(); kind {
	case byName:
		f.names, p.next = link(f.names, key, i)
	case byExt:
		f.exts, p.next = link(f.exts, key, i)
	default:
		p.next, f.rest = f.rest, i
	}
	f.patterns = append(f.patterns, p)
}

// link makes i the head of key's chain and returns the former head.
func link(m map[string]int32, key string, i int32) (map[string]int32, int32) {
	if m == nil {
		m = make(map[string]int32)
	}
	former, ok := m[key]
	if !ok {
		former = noPattern
	}
	m[key] = i
	return m, former
}

// decide returns what the last matching pattern says about t.
func (f *File) decide(t *target) Decision {
	best := int32(noPattern)
	if f.names != nil {
		if i, ok := f.names[t.name]; ok {
			best = f.last(i, best, t)
		}
	}
	if f.exts != nil && t.ext != "" {
		if i, ok := f.exts[t.ext]; ok {
			best = f.last(i, best, t)
		}
	}
	best = f.last(f.rest, best, t)
	switch {
	case best == noPattern:
		return None
	case f.patterns[best].negated:
		return Include
	}
	return Ignore
}

// last walks a chain from its head i and returns the first match that comes
// after best, or else best.
func (f *File) last(i, best int32, t *target) int32 {
	for i > best {
		p := &f.patterns[i]
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
