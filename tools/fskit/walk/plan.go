package walk

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit"
)

// sel says what of a directory is wanted. All starts of a walk make one tree of these,
// so that overlapping starts are visited once and everything comes in order.
type sel struct {
	// all: everything below is.
	all bool
	// start: the caller named this path. Depth counts from here, and ignore files above
	// do not hide it.
	start bool
	// denied: and it may not be read, which the plan has counted.
	denied bool
	// names: the entries whose names begin so.
	names []*partial
	// seeks: the beginnings of names that this path is one for.
	seeks    []*partial
	children map[string]*sel
}

// partial is the beginning of a name.
type partial struct {
	prefix string
	// found: there is such a name, and it is none that is withheld. To the caller a
	// withheld one must look like one that is not there.
	found atomic.Bool
}

func (s *sel) insert(path string) *sel {
	for path != "" {
		var name string
		name, path, _ = strings.Cut(path, "/")
		next := s.children[name]
		if next == nil {
			next = &sel{}
			if s.children == nil {
				s.children = map[string]*sel{}
			}
			s.children[name] = next
		}
		s = next
	}
	return s
}

// child is what of an entry is visited: nil and false for nothing.
func (s *sel) child(name string) (c *sel, all bool) {
	if s == nil {
		return nil, false
	}
	c = s.children[name]
	all = c != nil && c.all
	for _, p := range s.names {
		if strings.HasPrefix(name, p.prefix) {
			all = true
		}
	}
	return c, all
}

// partly reports whether names have to be looked at for their beginnings.
func (s *sel) partly() bool { return s != nil && len(s.names) > 0 }

// leads reports whether anything below s, not s itself, is wanted by name.
func (s *sel) leads() bool { return s != nil && (len(s.children) > 0 || len(s.names) > 0) }

// holdsStart reports whether a start lies below s.
func (s *sel) holdsStart() bool {
	if s == nil {
		return false
	}
	for _, c := range s.children {
		if c.start || c.holdsStart() {
			return true
		}
	}
	return false
}

// plan turns the starts into a tree of sel.
func (p *Planned) plan(ctx context.Context) error {
	starts := p.o.Starts
	if starts == nil {
		starts = []string{"."}
	}
	if len(starts) > 0 {
		p.root = &sel{}
	}
	usable := 0
	for _, given := range starts {
		if p.result.Ended = ctx.Err(); p.result.Ended != nil {
			p.root = nil
			return nil
		}
		s := Start{Given: given}
		if s.Err = p.add(&s); s.Err == nil {
			usable++
		}
		p.result.Starts = append(p.result.Starts, s)
	}
	if usable == 0 && len(starts) > 0 {
		return p.noneUsable()
	}
	return nil
}

// Places is where the starts lead, for a token.
func (p *Planned) Places() []string {
	var list []string
	for _, s := range p.result.Starts {
		list = append(list, s.Given, s.Place)
	}
	return list
}

func (p *Planned) noneUsable() error {
	list := p.result.Starts
	if len(list) == 1 {
		return list[0].Err
	}
	text := strings.Join(StartNotes(list), "\n- ")
	return jptool.Errorf(jptool.CodeOf(list[0].Err), "none of the paths can be used:\n- %s", text)
}

// add puts one start into the tree. For a path that may not be read, no error reveals what is in the file
// system.
func (p *Planned) add(s *Start) error {
	t, err := fskit.CheckContent(p.ws, p.o.Suppress, s.Given, jptool.Read)
	var denied *jptool.DeniedError
	switch {
	case errors.As(err, &denied):
		return p.addDenied(s, err)
	case err != nil:
		return err
	}
	s.Place = t.Place()
	fi, err := t.Lstat()
	switch {
	case errors.Is(err, fs.ErrNotExist) && (strings.HasSuffix(s.Given, "/") || t.IsRoot()):
		return t.Fail(fs.ErrNotExist)
	case errors.Is(err, fs.ErrNotExist):
		s.missing = t
		return p.addPartial(s, t.Parent(), t.Name())
	case err != nil:
		return err
	case !fi.IsDir() && !fi.Mode().IsRegular():
		return t.Fail(wspath.ErrNotRegular)
	}
	_, err = p.addWhole(t)
	return err
}

// addDenied takes a path that may not be read for what rules below it, or rules whose
// names begin so, grant. Only the rules are asked, not the file system.
func (p *Planned) addDenied(s *Start, err error) error {
	t, locateErr := fskit.CheckContent(p.ws, p.o.Suppress, s.Given, 0)
	if locateErr == nil && t.Cursor().Leads() {
		s.Place = t.Place()
		n, err := p.addWhole(t)
		// Counted here, since it is counted whether there is such a directory or not.
		if err == nil && !n.denied {
			n.denied = true
			p.result.Skipped.Denied++
		}
		return err
	}
	rel, parseErr := wspath.Parse(s.Given)
	if parseErr != nil || rel.IsRoot() || strings.HasSuffix(s.Given, "/") {
		return err
	}
	parent, locateErr := p.ws.CheckContent(rel.Parent().String(), 0)
	if locateErr != nil || parent.Granted().Has(jptool.Read) {
		return err
	}
	found := false
	for name := range parent.Cursor().Names() {
		if name == rel.Base() {
			return err // a rule of its own denies it
		}
		found = found || strings.HasPrefix(name, rel.Base())
	}
	if !found {
		return err
	}
	s.Place = parent.Place()
	return p.addPartial(s, parent, rel.Base())
}

func (p *Planned) addPartial(s *Start, parent *jptool.Target, prefix string) error {
	path, err := p.place(parent)
	if err != nil {
		return err
	}
	s.Partial, s.partial = true, &partial{prefix: prefix}
	bases, looked := p.o.Filter.bases(), false
	here := func(base string) bool { _, ok := wspath.Within(base, path); return ok }
	if bases == nil || path != slashPath(parent) || slices.ContainsFunc(bases, here) {
		n := p.root.insert(path)
		n.names = append(n.names, s.partial)
		return nil
	}
	for _, base := range bases {
		if rest, ok := wspath.Within(path, base); ok && strings.HasPrefix(rest, prefix) {
			name, _, _ := strings.Cut(rest, "/")
			n := p.root.insert(wspath.JoinSlash(path, name))
			n.seeks = append(n.seeks, s.partial)
			p.root.insert(base).all = true
			looked = true
		}
	}
	if !looked {
		s.partial.found.Store(true) // for all that is known: the globs lead elsewhere
	}
	return nil
}

// addWhole takes everything below t, as far as the globs allow for it.
func (p *Planned) addWhole(t *jptool.Target) (*sel, error) {
	path, err := p.place(t)
	if err != nil {
		return nil, err
	}
	n := p.root.insert(path)
	n.start = true
	bases := p.o.Filter.bases()
	if bases == nil || path != slashPath(t) {
		n.all = true
		return n, nil
	}
	for _, base := range bases {
		if _, ok := wspath.Within(base, path); ok {
			n.all = true
		} else if rest, ok := wspath.Within(path, base); ok {
			n.insert(rest).all = true
		}
	}
	return n, nil
}

// slashPath is the path of a target with "" for the root.
func slashPath(t *jptool.Target) string {
	if path := t.Path(); path != "." {
		return path
	}
	return ""
}

// place is where the walk meets a target: its canonical path, or below a mount that of
// the mount's link and what follows.
func (p *Planned) place(t *jptool.Target) (string, error) {
	if !t.External() {
		return slashPath(t), nil
	}
	link, below := t.Path(), ""
	if !t.IsRoot() {
		var err error
		if _, below, err = t.Base(); err != nil {
			return "", err
		}
		link = strings.TrimSuffix(link, "/"+below)
	}
	entry, err := p.ws.CheckEntry(link, 0)
	if err != nil {
		return "", err
	}
	if entry.External() {
		// The link lies below another mount.
		outer, err := p.place(entry)
		return wspath.JoinSlash(outer, below), err
	}
	return wspath.JoinSlash(entry.Path(), below), nil
}
