package walk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// maxRules is the largest ignore file that is read, in bytes. A larger one counts as
// unreadable.
const maxRules = 4 << 20

// maxPatterns bounds the patterns of all ignore files of a walk: one of two bytes takes more than a hundred in
// memory. A file that is too much counts as unreadable.
const maxPatterns = 500_000

// rules puts the ignore files of the directory on the stacks of its node. As any file,
// they are read only if the policy grants it, and not through symlinks.
func (r *reader) rules() {
	n := r.n
	if r.w.o.NoIgnore || n.ignored {
		return
	}
	if r.has(".git") {
		r.repository()
	}
	if r.has(".gitignore") {
		n.git = n.git.Push(n.path, r.load(r.h, n.cursor, ".gitignore"))
	}
	if r.has(".ignore") {
		n.own = n.own.Push(n.path, r.load(r.h, n.cursor, ".ignore"))
	}
}

// has reports whether the directory has an entry called name; where it was not listed that has to be tried.
func (r *reader) has(name string) bool {
	if !r.n.listed {
		return true
	}
	_, found := slices.BinarySearchFunc(r.l.items, name, func(it item, name string) int { return strings.Compare(it.name, name) })
	return found
}

// repository starts anew where a repository of its own begins: the rules of git that lie
// above do not hold in it.
func (r *reader) repository() {
	n := r.n
	at := n.cursor.Child(".git")
	if !n.listed && !at.Caps().Has(jptool.Read) {
		return
	}
	k, err := r.h.kindOf(".git")
	if err != nil || k != kindDir && k != kindFile {
		return
	}
	n.git = nil
	at = at.Child("info")
	if k != kindDir || !at.Child("exclude").Caps().Has(jptool.Read) {
		return
	}
	info, err := openPath(n.base, wspath.JoinSlash(n.rel, ".git/info"), false)
	if err != nil {
		return
	}
	defer info.close()
	n.git = n.git.Push(n.path, r.load(info, at, "exclude"))
}

// load reads an ignore file; nil if there is none that may be read.
func (r *reader) load(h dir, at jptool.Cursor, name string) *ignore.File {
	if !at.Child(name).Caps().Has(jptool.Read) {
		return nil
	}
	if k, err := h.kindOf(name); err != nil || k != kindFile {
		return nil
	}
	var f File
	err := h.openFile(name, &f)
	if err == nil {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(&f, maxRules+1))
		f.Close()
		if err == nil && len(text) <= maxRules {
			n := int64(bytes.Count(text, []byte("\n")) + len(text)/100 + 1)
			if r.w.patterns.Add(n) <= maxPatterns {
				return ignore.Parse(text)
			}
			r.w.patterns.Add(-n)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		r.n.skipped.Unreadable++
	}
	return nil
}
