package walk

import (
	"io/fs"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// entry is an entry of the directory being read, with what is wanted of it.
type entry struct {
	path, name string
	cursor     jptool.Cursor
	sel        *sel
	all, named bool
}

func (r *reader) mayRead(e *entry) bool {
	if r.plain {
		return r.readable
	}
	return e.cursor.Caps().Has(jptool.Read)
}

// ignored reports whether ignore files exclude the entry, not counting those above a
// start.
func (r *reader) ignored(path string, isDir bool) bool {
	if d := r.n.own.Match(path, isDir); d != ignore.None {
		return d == ignore.Ignore
	}
	return r.n.git.Match(path, isDir) == ignore.Ignore
}

// withheld adds to the number of denied or suppressed entries, but only if the whole directory of e is
// visited. If it counted e because its name was asked for, a caller could try names and learn from the number
// which of them exist.
func (r *reader) withheld(number *int64, e *entry) {
	if r.counts && e.all {
		*number++
	}
}

// denied counts what rules withhold in a directory that is visited as a whole. It counts rules, not
// entries: a number of entries would reveal whether anything is there.
func (r *reader) denied() {
	n := r.n
	if !r.counts || r.plain || !n.cursor.Caps().Has(jptool.Read) {
		return
	}
	for name := range n.cursor.Names() {
		c := n.cursor.Child(name)
		if _, mount := c.Mount(); !mount && !c.Caps().Has(jptool.Read) && name != ".git" {
			n.skipped.Denied++
		}
	}
}

// saw notes for the starts that are beginnings of names that there is one: e may be known.
func (r *reader) saw(e *entry) {
	for _, p := range r.n.seekers(e) {
		p.found.Store(true)
	}
}

// outOfPage reports whether a file lies before the place to go on at.
func (w *walker) outOfPage(path string) bool {
	return w.o.After != "" && Compare(path, w.o.After) <= 0
}

// file decides about policy and suppression first: nothing that a caller chooses may
// make a difference for what he may not know of.
func (r *reader) file(e *entry) {
	n, w := r.n, r.w
	switch {
	case !r.mayRead(e):
		return
	case w.o.Suppress.MatchEntry(e.path):
		r.withheld(&n.skipped.Suppressed, e)
		return
	}
	r.saw(e)
	switch {
	case !e.all || !w.o.Filter.keep(e.path) || w.outOfPage(e.path):
	case !e.named && r.ignored(e.path, false):
		n.skipped.Ignored++
	default:
		if e.named {
			n.named = append(n.named, len(n.files))
		}
		n.files = append(n.files, e.path)
	}
}

func (r *reader) dir(e *entry) {
	n, w := r.n, r.w
	leads := !r.plain && e.cursor.Leads()
	if r.plain {
		e.cursor = n.cursor.Child(e.name)
	}
	readable := r.mayRead(e)
	if !readable && !leads {
		return
	}
	if w.o.Suppress.MatchEntry(e.path) {
		if readable {
			r.withheld(&n.skipped.Suppressed, e)
		}
		return
	}
	m := w.newNode()
	m.parent, m.name, m.path = n, e.name, e.path
	m.base, m.rel = n.base, wspath.JoinSlash(n.rel, e.name)
	m.cursor, m.outside = e.cursor, n.outside
	m.git, m.own = n.git, n.own
	m.depth = n.depth + 1
	r.enter(m, e, readable, n.ignored || r.ignored(e.path, true))
}

// enter makes m a subdirectory of the one being read, if it is wanted. One that is not
// readable is only passed through, and known of only if something below it is.
func (r *reader) enter(m *node, e *entry, readable, ignored bool) {
	n, w := r.n, r.w
	m.sel, m.all = e.sel, e.all
	if readable {
		r.saw(e)
	} else {
		m.seeks = n.seekers(e)
	}
	if e.named {
		m.depth = 0
		if ignored {
			ignored, m.git, m.own = false, nil, nil
		}
	}
	if ignored {
		if readable { // who can write an ignore file can try names with it
			n.skipped.IgnoredDirs++
		}
		if !e.sel.holdsStart() {
			return
		}
		m.ignored, m.all = true, false
	}
	if w.o.MaxDepth > 0 && m.depth >= w.o.MaxDepth {
		if m.all && readable {
			n.skipped.Deeper++
		}
		if !e.sel.leads() {
			return
		}
		m.all = false
	}
	if after := w.o.After; after != "" && Compare(m.path, after) < 0 && !strings.HasPrefix(after, m.path+"/") {
		return
	}
	n.subs = append(n.subs, sub{m, len(n.files)})
}

// mount visits what the link of a mount leads to, in the link's place. The mount has
// ignore files of its own; those of the workspace decide about the link only.
func (r *reader) mount(e *entry, path string) {
	n, w := r.n, r.w
	if w.o.Suppress.Match(path) {
		r.withheld(&n.skipped.Suppressed, e)
		return
	}
	t, err := w.ws.CheckContent(path, 0)
	if err != nil || !t.External() {
		if r.counts || e.named { // without a target nobody knows whether it may be read
			n.skipped.Unreadable++
		}
		return
	}
	cursor := t.Cursor()
	readable := cursor.Caps().Has(jptool.Read)
	if !readable {
		r.withheld(&n.skipped.Denied, e)
		if !cursor.Leads() {
			return
		}
	}
	base, rel, err := t.Base()
	var fi fs.FileInfo
	if err == nil {
		fi, err = t.Lstat()
	}
	if err != nil {
		n.skipped.Unreadable++
		return
	}
	ignored := n.ignored || r.ignored(e.path, false) || r.ignored(e.path, true)
	m := w.newNode()
	m.path, m.base, m.rel, m.cursor, m.outside, m.depth = path, base, rel, cursor, true, n.depth+1
	if fi.IsDir() {
		r.enter(m, e, readable, ignored)
		return
	}
	if !fi.Mode().IsRegular() || !readable {
		return
	}
	r.saw(e)
	if !e.all || !w.o.Filter.keep(path) || w.outOfPage(path) {
		return
	}
	if ignored && !e.named {
		n.skipped.Ignored++
		return
	}
	// A directory with this one file, which is read already.
	m.state, m.files, m.realName = done, []string{path}, baseName(rel)
	m.rel = strings.TrimSuffix(rel[:len(rel)-len(m.realName)], "/")
	if e.named {
		m.named = []int{0}
	}
	if w.o.Open {
		m.refs.Store(1)
	}
	n.subs = append(n.subs, sub{m, len(n.files)})
}

// isRoot reports whether h is the root of the workspace.
func (w *walker) isRoot(h dir) bool {
	t, err := w.ws.CheckContent(".", 0)
	if err != nil {
		return false
	}
	root, err := t.Lstat()
	return err == nil && h.same(root)
}
