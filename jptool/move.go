package jptool

// contentCaps are the rights on a file's content, as opposed to its entry: what a move
// may not add to. The kernel compares the same ones when it moves a file.
const contentCaps = Read | Update | Execute

// CheckMove checks what moving the entry source to the entry target needs beyond
// delete on the source and create or update on the target, which the caller has
// asked for (design, rule 7). dir says that the source is a directory: then it is
// everything in it that moves, so that rules and pins below either side count.
//
// needRead reports that the target would grant a capability on the content that the
// source does not; the move is then only allowed with `read` on the source, as copying
// would be.
func (w *Workspace) CheckMove(source, target *Target, dir bool) error {
	p := w.policy
	if !dir {
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
			at := side.below(path)
			// Pinned entries lack both capabilities; on the target's side nothing
			// of the moved tree may take a pinned place either.
			if n.rule >= 0 || n.pinned || n.mount >= 0 {
				keep(at.Require(need))
			}
		})
	}
	visit(source, from, Delete)
	visit(target, to, Create)
	if err != nil {
		return err
	}
	for path := range suffixes {
		have, would := p.along(from, path), p.along(to, path)
		if would&^have != 0 && !have.Has(Read) {
			at := source
			if path != "" {
				at = source.below(path)
			}
			keep(at.denied(Read, false))
		}
	}
	return err
}

// along returns what is granted at path below a cursor.
func (p *Policy) along(c Cursor, path string) Caps {
	for path != "" {
		var name string
		name, path = cutComponent(path)
		c = c.Child(name)
	}
	return c.Caps()
}

// below returns the target at a slash path below t.
func (t *Target) below(path string) *Target {
	for path != "" {
		var name string
		name, path = cutComponent(path)
		t = t.Child(name)
	}
	return t
}
