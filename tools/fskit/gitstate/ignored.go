package gitstate

import (
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// maxIgnoreFile bounds one ignore or attributes file.
const maxIgnoreFile = 4 << 20

// rules are the ignore files that apply in one directory.
type rules struct {
	stack *ignore.Stack
	// blind is set when one of them could not be read. It may hold a "!pattern", so then nothing counts as
	// ignored.
	blind bool
}

// rootRules has only what applies everywhere: info/exclude.
func (r *repo) rootRules() rules {
	return rules{}.push(r.fsys, "", join(r.commonDir, "info/exclude"))
}

// below adds the .gitignore of the directory sub.
func (r *repo) rulesBelow(s rules, sub string) rules {
	return s.push(r.fsys, sub, join(join(r.top, sub), ".gitignore"))
}

func (s rules) push(fsys FS, sub, file string) rules {
	// As in git, an ignore file that is a symbolic link or anything else than a file counts as none. Unlike
	// git we do not look for one that a sparse checkout left out in the index.
	info, err := fsys.Lstat(file)
	switch {
	case notThere(err), err == nil && !info.Mode().IsRegular():
		return s
	case err != nil:
		s.blind = true
		return s
	}
	data, err := readSmall(fsys, file, maxIgnoreFile)
	if err != nil {
		s.blind = true
		return s
	}
	s.stack = s.stack.Push(sub, ignore.Parse(data))
	return s
}

// match says whether the entry is ignored, given that none of its parents is.
func (s rules) match(sub string, dir bool) bool {
	return !s.blind && s.stack.Match(sub, dir) == ignore.Ignore
}

// ignored judges a path by the ignore files of all directories above it.
func (r *repo) ignored(path string, dir bool) (bool, error) {
	sub := r.sub(path)
	s := r.rulesAbove(sub)
	return !s.blind && s.stack.MatchWithParents(sub, dir), nil
}

// rulesAbove reads the ignore files of all directories above sub.
func (r *repo) rulesAbove(sub string) rules {
	s := r.rulesBelow(r.rootRules(), "")
	for i := range len(sub) {
		if sub[i] == '/' {
			s = r.rulesBelow(s, sub[:i])
		}
	}
	return s
}
