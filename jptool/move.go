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
		if err := source.holdsWithheld(source, target, source.Cursor(), target.Cursor()); err != nil {
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

// holdsWithheld returns an error if a pattern withholds something in the directory t, or would once source is target: under
// another name it could be read. from and to are where t and what it becomes are among the rules. It looks at all that
// is in t, and the error does not name what it found: the caller may not know of that.
func (t *Target) holdsWithheld(source, target *Target, from, to Cursor) error {
	list, err := t.ReadDir()
	if err != nil {
		return err
	}
	for _, e := range list {
		name := e.Name()
		here, there := from.Child(name), to.Child(name)
		switch {
		case here.held.any():
			return source.deniedInside(Delete, here)
		case there.held.any():
			return target.deniedInside(Create, there)
		case e.IsDir():
			if err := t.Child(name).holdsWithheld(source, target, here, there); err != nil {
				return err
			}
		}
	}
	return nil
}

// deniedInside is the error for a directory that cannot be moved because of what is withheld at c, in it.
func (t *Target) deniedInside(need Caps, c Cursor) error {
	e := t.denied(need, false)
	e.Inside, e.Withheld, e.At, e.Covered = true, c.Withheld(), e.Path, 0
	return e
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
