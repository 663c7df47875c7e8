package jptool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jptools/jptools/jptool/wspath"
)

// EntryAbove reports whether any directory above the workspace root, or below a mount above the
// mount's target, has an entry called name, which must be one component. It looks only at its
// existence, which is not secret: no rule applies to those directories. An error says that the
// existence of an entry could not be determined.
func (t *Target) EntryAbove(name string) (bool, error) {
	top := t.w.root
	if t.place.Outside {
		m := t.w.rules.mountOf(t.place.Path)
		if m == nil {
			return false, t.Fail(errOutside)
		}
		top = m.Target
	}
	for dir := filepath.FromSlash(top); ; {
		parent := filepath.Dir(dir)
		if parent == dir {
			return false, nil
		}
		_, err := os.Lstat(filepath.Join(parent, name))
		if err == nil {
			return true, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return false, t.Fail(wspath.Bare(err))
		}
		dir = parent
	}
}
