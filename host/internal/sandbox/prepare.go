package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/jptool/wspath"
)

// Prepared is a policy fitted to the tree as it is, with the directories made that its rules
// need. Undo it when the call has ended, also when it never started.
type Prepared struct {
	*Fitted
	Facts *Facts
	made  []Node
}

// rounds bounds how often Prepare looks again; each round lists one level of directories.
const rounds = 64

// Prepare surveys and fits until nothing is left to list or to make. Errors are those of
// Survey and Fit; with a *RefusedError there is a result too, for the report, and nothing
// is left behind.
func Prepare(ctx context.Context, d *policy.Declared, m Machine, o Options) (*Prepared, error) {
	p := &Prepared{}
	facts, err := Survey(ctx, d, o)
	for round := 0; err == nil; round++ {
		var fitted *Fitted
		fitted, err = Fit(d, facts, m, o)
		if fitted != nil {
			p.Fitted, p.Facts = fitted, facts
		}
		var refused *RefusedError
		if err != nil && !errors.As(err, &refused) {
			break
		}
		switch {
		case round < rounds && len(fitted.Want) > 0:
			err = facts.List(ctx, fitted.Want, 0)
			continue
		case round < rounds && len(fitted.Make) > 0 && err == nil:
			if !p.makeAll(fitted.Make) {
				o.NoMake = true
			}
			facts, err = Survey(ctx, d, o)
			continue
		case err != nil:
			return p, errors.Join(err, p.Undo())
		}
		return p, nil
	}
	return nil, errors.Join(err, p.Undo())
}

// makeAll makes directories, and reports whether all are there now.
func (p *Prepared) makeAll(dirs []string) bool {
	for _, dir := range dirs {
		err := func() error {
			d, err := wspath.OpenDir(path.Dir(dir))
			if err != nil {
				return err
			}
			defer d.Close()
			return d.Mkdir(path.Base(dir), 0o777)
		}()
		if errors.Is(err, fs.ErrExist) {
			continue // somebody else was faster
		}
		if err != nil {
			return false
		}
		n, err := Look(dir)
		if err != nil || n.Kind != Dir {
			return false
		}
		p.made = append(p.made, n)
	}
	return true
}

// Undo removes the directories that Prepare made and that are still empty.
func (p *Prepared) Undo() error {
	var errs []error
	for _, n := range slices.Backward(p.made) {
		now, err := Look(n.Path)
		if err == nil && now != n {
			continue // gone, or another one
		}
		if err == nil {
			err = removeEmpty(n.Path)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("the directory %q that was made for the call cannot be removed: %w", n.Path, err))
		}
	}
	p.made = nil
	return errors.Join(errs...)
}

// removeEmpty removes a directory if nothing is in it.
func removeEmpty(dir string) error {
	if names, _, err := readNames(dir, 1); err != nil || len(names) > 0 {
		return err
	}
	d, err := wspath.OpenDir(path.Dir(dir))
	if err != nil {
		return err
	}
	defer d.Close()
	err = d.RemoveDir(path.Base(dir))
	if names, _, again := readNames(dir, 1); err != nil && again == nil && len(names) > 0 {
		return nil // filled in between
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
