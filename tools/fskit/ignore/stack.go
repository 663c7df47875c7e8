package ignore

import (
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

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
	if s == nil {
		return None
	}
	t := newTarget(path, isDir)
	for ; s != nil; s = s.parent {
		rel, ok := wspath.Within(s.dir, path)
		if !ok || rel == "" {
			continue
		}
		t.rel = rel
		if d := s.file.decide(&t); d != None {
			return d
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
