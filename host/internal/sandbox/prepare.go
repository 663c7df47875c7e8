package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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
			o.NoMake = p.makeAll(fitted.Make, o.NoMake)
			facts, err = Survey(ctx, d, o)
			continue
		case err != nil:
			return p, errors.Join(err, p.Undo())
		}
		return p, nil
	}
	return nil, errors.Join(err, p.Undo())
}

// makeAll makes directories, and returns those of failed and of dirs that cannot be made.
func (p *Prepared) makeAll(dirs []string, failed map[string]error) map[string]error {
	all := map[string]error{}
	maps.Copy(all, failed)
	for _, dir := range dirs {
		if err := p.make(dir); err != nil {
			all[dir] = wspath.Bare(err)
		}
	}
	return all
}

func (p *Prepared) make(dir string) error {
	parent, err := wspath.OpenDir(path.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	err = parent.Mkdir(path.Base(dir), 0o777)
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody else was faster
	}
	if err != nil {
		return err
	}
	n, err := Look(dir)
	if err == nil && n.Kind != Dir {
		err = errors.New("something else took its place")
	}
	if err == nil {
		p.made = append(p.made, n)
	}
	return err
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
