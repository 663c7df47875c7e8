package fit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"github.com/jptools/jptools/jptool/wspath"
)

// Prepared is a policy fitted to the tree as it is, with the directories made that its rules
// need. Undo it when the call has ended, also when it never started.
type Prepared struct {
	*Fitted
	// Made are the paths of the directories that were made, outer before inner; of a dry run
	// those that would be.
	Made []string
	made []madeDir
}

// madeDir is a directory that was made, with the directory it was made in.
type madeDir struct {
	Node
	parent *wspath.Dir
}

// rounds bounds how often Prepare looks again; each round lists one level of directories.
const rounds = 64

// Prepare surveys and fits until nothing is left to list or to make. Errors are those of
// Survey and Fit; with a *RefusedError there is a result too, for the report, and nothing
// is left behind.
func Prepare(ctx context.Context, d *Policy, m Machine, o Options) (*Prepared, error) {
	p := &Prepared{}
	noMake := map[string]error{}
	maps.Copy(noMake, o.NoMake)
	o.NoMake = noMake
	o.Named = d.named(o.Arguments)
	found := &scan{}
	var unheld *RefusedError // what the patterns withhold could not be found
	if m.Landlock > 0 {
		var err error
		if d, found, err = withhold(ctx, d, &o); err != nil && !errors.As(err, &unheld) {
			return nil, err
		}
	}
	facts, err := Survey(ctx, d, o)
	for round := 0; err == nil; round++ {
		if p.Fitted, err = Fit(d, facts, m, o); p.Fitted != nil {
			p.Withheld, p.Scanned = found.found, found.Scanned
			if unheld != nil {
				p.NotEnforced = append(p.NotEnforced, unheld.Reasons...)
			}
		}
		if p.Fitted != nil && unheld != nil && (o.Required || !o.Checks) {
			return p, errors.Join(unheld, p.Undo())
		}
		var refused *RefusedError
		switch {
		case err != nil && !errors.As(err, &refused):
		case round < rounds && len(p.Want) > 0:
			err = facts.List(ctx, p.Want, maxEntries)
		case round < rounds && len(p.Make) > 0 && err == nil:
			for _, dir := range p.Make {
				if o.Dry {
					err = p.suppose(&o, dir)
				} else {
					err = p.make(roots(d, o), dir)
				}
				if err != nil {
					o.NoMake[dir] = wspath.Bare(err)
				}
			}
			facts, err = Survey(ctx, d, o)
		case err != nil:
			return p, errors.Join(err, p.Undo())
		default:
			return p, nil
		}
	}
	return nil, errors.Join(err, p.Undo())
}

// suppose takes a directory to be there if it could be made.
func (p *Prepared) suppose(o *Options, dir string) error {
	parent := path.Dir(dir)
	err := o.NoMake[parent]
	if err == nil && !slices.Contains(p.Made, parent) {
		err = mayMakeIn(parent)
	}
	if err == nil {
		p.Made = append(p.Made, dir)
		// No object has this identity: device 0 is none of the file system's.
		o.supposed = append(o.supposed, Node{Path: dir, Kind: Dir, ID: ID{0, uint64(len(p.Made))}})
	}
	return err
}

// make makes a directory in its tree. Nothing on the way, nor what stands there, may be a link.
func (p *Prepared) make(tops []string, dir string) error {
	top := topOf(tops, path.Dir(dir))
	if top == "" {
		return errors.New("it lies in no tree of the call")
	}
	below, _ := wspath.WithinAbs(top, path.Dir(dir))
	tree, err := wspath.OpenDir(top)
	if err != nil {
		return err
	}
	defer tree.Close()
	parent, err := tree.Sub(below)
	if err != nil {
		return err
	}
	if err = parent.Mkdir(path.Base(dir), 0o777); err == nil {
		if n, err := Look(dir); err == nil && n.Kind == Dir {
			p.Made = append(p.Made, dir)
			p.made = append(p.made, madeDir{n, parent})
			return nil
		}
		err = errors.New("something else took its place")
	}
	parent.Close()
	if errors.Is(err, fs.ErrExist) {
		return nil // somebody else was faster
	}
	return err
}

// Undo removes the directories that Prepare made and that are still empty.
func (p *Prepared) Undo() error {
	var errs []error
	for _, m := range slices.Backward(p.made) {
		now, err := Look(m.Path)
		if err == nil && now == m.Node { // else it is gone, or another one
			err = m.parent.RemoveDir(path.Base(m.Path))
		}
		m.parent.Close()
		// ErrExist: something is in it.
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("the directory %q that was made for the call cannot be removed: %w", m.Path, err))
		}
	}
	p.made = nil
	return errors.Join(errs...)
}
