package jptool

import (
	"io/fs"
	"strings"
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
	r := w.rules
	if !dir {
		if err := source.mayStandAt(target); err != nil {
			return err
		}
		if target.Granted()&contentCaps&^source.Granted() == 0 {
			return nil
		}
		return source.Require(Read)
	}
	from, to := source.Cursor(), target.Cursor()
	var err error
	keep := func(e error) {
		if err == nil {
			err = e
		}
	}
	suffixes := map[string]bool{"": true}
	visit := func(side *Target, c Cursor, need Caps) {
		if c.n == nil {
			return
		}
		c.n.below("", func(path string, n *node) {
			suffixes[path] = true
			if path == "" {
				return
			}
			entry := side.below(path)
			// Pinned entries lack both capabilities: the moved tree may neither contain
			// nor replace one.
			if n.rule >= 0 || n.pinned || n.mount >= 0 {
				keep(entry.Require(need))
			}
		})
	}
	visit(source, from, Delete)
	visit(target, to, Create)
	if err != nil {
		return err
	}
	if to.n != nil {
		to.n.below("", func(path string, _ *node) {
			keep(source.below(path).mayStandAt(target.below(path)))
		})
	}
	if err != nil {
		return err
	}
	for path := range suffixes {
		have, would := r.along(from, path), r.along(to, path)
		if would&^have != 0 && !have.Has(Read) {
			entry := source
			if path != "" {
				entry = source.below(path)
			}
			keep(entry.denied(Read, false))
		}
	}
	return err
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

// along returns what is granted at path below a cursor.
func (r *Rules) along(c Cursor, path string) Caps {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		c = c.Child(name)
	}
	return c.Caps()
}

// below returns the target at a slash path below t.
func (t *Target) below(path string) *Target {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		t = t.Child(name)
	}
	return t
}
