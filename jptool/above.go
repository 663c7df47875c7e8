package jptool

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/jptools/jptools/jptool/wspath"
)

// EntryAbove reports whether an entry called name stands in any directory above the
// workspace root or, below a mount, above the mount's target. It looks at nothing but
// its existence, which is no secret there: no rule speaks of those directories. name must
// be one component. An error says that it could not be found out.
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
