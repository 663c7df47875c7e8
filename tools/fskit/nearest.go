package fskit

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// maxNear is how many names of a directory are looked through for one that may have been meant.
const maxNear = 5000

// NotFound adds the path that was probably meant to err, which says that nothing is at t. It names only what
// the caller could list: the directory and the name must grant `read`, and g must not cover the name. Symlinks are
// never named, as in listings. Any other error is returned as it is.
func NotFound(g *ignore.Globs, t *jptool.Target, err error) error {
	if jptool.CodeOf(err) != jptool.CodeNotFound || errors.Is(err, wspath.ErrDangling) {
		return err
	}
	for !t.IsRoot() {
		dir := t.Parent()
		names, listErr := nearNames(g, dir)
		if errors.Is(listErr, fs.ErrNotExist) {
			t = dir // the directory is missing itself: what is it called?
			continue
		}
		if near := nearest.Word(t.Name(), names); near != "" {
			return jptool.Errorf(jptool.CodeNotFound, "%w; did you mean %s?", err, jptool.Quote(dir.Child(near).Path()))
		}
		break
	}
	return err
}

// nearNames lists what may be named of a directory. An error says that it cannot be listed, for any reason but the policy.
func nearNames(g *ignore.Globs, dir *jptool.Target) ([]string, error) {
	if !dir.Granted().Has(jptool.Read) {
		return nil, nil
	}
	d, err := dir.OpenDir()
	if err != nil {
		return nil, err
	}
	defer d.Close()
	list, _ := d.ReadDir(maxNear)
	var names []string
	for _, e := range list {
		child := dir.Child(e.Name())
		if (e.IsDir() || e.Type().IsRegular()) && child.Granted().Has(jptool.Read) && !Suppressed(g, child) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}
