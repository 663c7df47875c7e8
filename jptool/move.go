package jptool

import (
	"io/fs"
)

// contentCaps are the rights on a file's content, as opposed to its entry. A move may not
// add to them. The kernel compares the same rights when it moves a file.
const contentCaps = Read | Update | Execute

// CheckMove checks what moving the entry source to the entry target needs besides
// delete on the source and create or update on the target, which the caller has checked.
// dir says that the source is a directory: then everything in it moves, and rules and pins
// below both sides count.
//
// If the target grants a capability on the content that the source does not grant, the
// move needs `read` on the source, as a copy would. No symlink may be moved to a path that
// a rule names or that leads to a rule: in the next call the rule would apply where the link
// leads.
func (w *Workspace) CheckMove(source, target *Target, dir bool) error {
	if !dir {
		if err := source.mayStandAt(target); err != nil {
			return err
		}
		if target.Granted()&contentCaps&^source.Granted() == 0 {
			return nil
		}
		return source.Require(Read)
	}
	var err error
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	suffixes := map[string]bool{"": true}
	visit := func(side *Target, need Caps) {
		side.Cursor().n.below("", func(path string, n *node) {
			suffixes[path] = true
			if path == "" {
				return
			}
			entry := side.Child(path)
			// Pinned entries lack both capabilities: the moved tree may neither contain
			// nor replace one.
			if n.rule >= 0 || n.pinned || n.mount >= 0 || n.deny > 0 || n.secret > 0 {
				keep(entry.Require(need))
			}
		})
	}
	visit(source, Delete)
	visit(target, Create)
	if err != nil {
		return err
	}
	target.Cursor().n.below("", func(path string, _ *node) {
		keep(source.Child(path).mayStandAt(target.Child(path)))
	})
	if err != nil {
		return err
	}
	if w.rules.globs != nil {
		if err := source.movable(target); err != nil {
			return err
		}
	}
	for path := range suffixes {
		entry := source.Child(path)
		if have, would := entry.Granted(), target.Child(path).Granted(); would&^have != 0 && !have.Has(Read) {
			keep(entry.denied(Read, false))
		}
	}
	return err
}

// movable returns an error if something in the directory t is withheld by a pattern, or would be below target. Under
// another name it could be read. It needs to look at everything in the directory.
func (t *Target) movable(target *Target) error {
	d, err := t.OpenDir()
	if err != nil {
		return err
	}
	list, err := d.ReadDir(-1)
	d.Close() // no more than one is open, however deep they lie
	if err != nil {
		return t.Fail(err)
	}
	for _, e := range list {
		from, to := t.Child(e.Name()), target.Child(e.Name())
		switch {
		case from.Cursor().held.any():
			return from.Require(Delete)
		case to.Cursor().held.any():
			return to.Require(Create)
		case e.IsDir():
			if err := from.movable(to); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayStandAt returns an error if t is a symlink and target is a path that a rule names or
// that leads to a rule.
func (t *Target) mayStandAt(target *Target) error {
	c := target.Cursor()
	if c.n == nil || c.n.rule < 0 && c.n.mount < 0 && len(c.n.children) == 0 {
		return nil
	}
	fi, err := t.Lstat()
	if err != nil || fi.Mode()&fs.ModeSymlink == 0 {
		return nil // nothing there, or nothing that leads elsewhere
	}
	e := target.denied(Create, false)
	e.Link = true
	return e
}
