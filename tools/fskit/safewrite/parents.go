package safewrite

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// MakeParents makes the missing directories above t, outermost first, and returns them.
// `create` is checked on each before the first is made. After an error none of them is
// left, as far as `delete` is granted on them.
func MakeParents(t *jptool.Target) (made []*jptool.Target, err error) {
	missing, err := MissingParents(t)
	if err != nil {
		return nil, err
	}
	for _, p := range missing {
		base, path, err := p.Base()
		if err == nil {
			err = base.Mkdir(path, 0o777)
		}
		if errors.Is(err, fs.ErrExist) {
			// Another call was faster; what it made is not ours to remove. Whether
			// it is a directory shows when something is made in it.
			continue
		}
		if err == nil {
			made = append(made, p)
			err = step("directory made")
		}
		if err != nil {
			RemoveMade(made)
			return nil, p.Fail(err)
		}
	}
	return made, nil
}

// MissingParents returns the directories that MakeParents would make, outermost first,
// or why it could not; it changes nothing.
func MissingParents(t *jptool.Target) ([]*jptool.Target, error) {
	var missing []*jptool.Target
	for p := t; !p.IsRoot(); {
		p = p.Parent()
		if p.IsRoot() {
			break
		}
		fi, err := p.Lstat()
		if err == nil {
			if !fi.IsDir() {
				return nil, jptool.Errorf(jptool.CodeWrongType, "%s is not a directory, so that nothing can be made in it", jptool.Quote(p.Path()))
			}
			break
		}
		if jptool.CodeOf(err) == jptool.CodeWrongType {
			continue // something further up is not a directory
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if err := p.Require(jptool.Create); err != nil {
			return nil, err
		}
		missing = append(missing, p)
	}
	slices.Reverse(missing)
	return missing, nil
}

// RemoveMade removes directories that MakeParents made, if they are still empty, and
// returns those that are left; `delete` must be granted on each.
func RemoveMade(made []*jptool.Target) (left []*jptool.Target) {
	for i, p := range slices.Backward(made) {
		if p.Require(jptool.Delete) != nil {
			return made[:i+1]
		}
		base, path, err := p.Base()
		if err != nil || base.RemoveDir(path) != nil {
			return made[:i+1]
		}
	}
	return nil
}

// RemoveEmptyParent removes the directory that held t if it is empty now and `delete` is granted on it, and
// reports whether it did. It never removes the root, the target of a mount or a pinned directory. Nor does it
// remove a directory that has a rule on it or below it: removing it would reveal that nothing withheld is left in it,
// and a rule on a missing entry may have been written by way of a link, which would then lead nowhere.
func RemoveEmptyParent(t *jptool.Target) (*jptool.Target, bool) {
	p := t.Parent()
	if p.IsRoot() || p.HasRule() || p.Cursor().Leads() || !p.Granted().Has(jptool.Delete) {
		return nil, false
	}
	base, path, err := p.Base()
	if err != nil || base.RemoveDir(path) != nil {
		return nil, false
	}
	return p, true
}
