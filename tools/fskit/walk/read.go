package walk

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// reader reads directories, one after the other.
type reader struct {
	w       *walker
	n       *node
	h       dir
	l       listing
	text    strings.Builder
	special specials

	// plain says that no rule lies below n, so that readable holds for every entry.
	plain, readable bool
}

// read lists n and decides about every entry. What it finds is in n afterwards.
func (r *reader) read(w *walker, n *node) {
	r.w, r.n = w, n
	if n.fromParent() {
		defer n.parent.unref()
	}
	if w.stop.Load() || w.ctx.Err() != nil {
		return
	}
	granted := n.cursor.Caps().Has(jptool.Read)
	list := granted && (n.all || n.sel.partly())
	h, err := n.open(list)
	if err != nil {
		// What has vanished since it was seen was never there.
		if !errors.Is(err, fs.ErrNotExist) {
			n.skipped.Unreadable++
		}
		return
	}
	if n.outside && w.isRoot(h) {
		h.close() // the mount holds the workspace itself
		return
	}
	r.h, n.listed = h, list
	r.l.reset()
	r.special = specials{}
	if list {
		if err := h.read(&r.l); err != nil {
			n.skipped.Unreadable++
		}
		r.special.find(&r.l)
	} else {
		r.probe(granted)
	}
	r.l.sort()
	r.rules()
	r.decide()
	refs := 0
	for _, s := range n.subs {
		if s.node.fromParent() {
			refs++
		}
	}
	if w.o.Open && len(n.files) > 0 {
		refs++
	}
	n.keep(h, refs)
	r.h = nil
}

// probe looks for the names that are wanted where the directory may not, or need not, be
// listed. A name that may not be read is not even looked for.
func (r *reader) probe(granted bool) {
	var names []string
	if r.n.all || r.n.sel.partly() {
		names = slices.Collect(r.n.cursor.Names())
	}
	if r.n.sel != nil {
		for name := range r.n.sel.children {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		c := r.n.cursor.Child(name)
		_, mount := c.Mount()
		if !mount && !c.Caps().Has(jptool.Read) && !c.Leads() {
			continue
		}
		k, err := r.h.kindOf(name)
		switch {
		case err == nil:
			r.l.add([]byte(name), k)
		case !errors.Is(err, fs.ErrNotExist):
			r.n.skipped.Unreadable++
		}
	}
	r.special = specials{probe: true}
}

// decide goes through the listing.
func (r *reader) decide() {
	n, l := r.n, &r.l
	r.plain = !n.cursor.Leads()
	if r.plain {
		r.readable = n.cursor.Child("x").Caps().Has(jptool.Read)
	}
	prefix := n.path
	if prefix != "" {
		prefix += "/"
	}
	// All paths of the directory are one string: a single allocation.
	size := len(l.names) + len(l.items)*len(prefix)
	r.text = strings.Builder{}
	r.text.Grow(size)
	n.files = make([]string, 0, len(l.items))
	valid := utf8.Valid(l.names)
	for _, it := range l.items {
		name := l.name(it)
		if !valid && !utf8.Valid(name) {
			k := it.kind
			if k == kindUnknown {
				k, _ = r.h.kindOf(string(name))
			}
			if k == kindFile || k == kindDir {
				n.skipped.NotAddressable++
			}
			continue
		}
		if it.kind == kindOther {
			continue
		}
		at := r.text.Len()
		r.text.WriteString(prefix)
		r.text.Write(name)
		r.entry(r.text.String()[at:], it.kind)
	}
	if len(n.files) == 0 {
		n.files = nil
	}
}

// entry decides about one entry.
func (r *reader) entry(path string, k kind) {
	n := r.n
	name := path[len(n.path):]
	if n.path != "" {
		name = name[1:]
	}
	c, all := n.sel.child(name)
	if name == ".git" {
		all = c != nil && c.all // only by its name
	} else if n.all {
		all = true
	}
	if !all && c == nil {
		return
	}
	if k == kindUnknown {
		var err error
		if k, err = r.h.kindOf(name); err != nil {
			return
		}
	}
	e := entry{path: path, name: name, cursor: n.cursor, sel: c, all: all, named: c != nil && c.start}
	if !r.plain {
		e.cursor = n.cursor.Child(name)
		if mount, ok := e.cursor.Mount(); ok {
			r.mount(&e, mount)
			return
		}
	}
	switch k {
	case kindFile:
		r.file(&e)
	case kindDir:
		r.dir(&e)
	}
}

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

func (r *reader) file(e *entry) {
	n, w := r.n, r.w
	if !e.all || !w.o.Filter.keep(e.path) || w.o.After != "" && Compare(e.path, w.o.After) <= 0 {
		return
	}
	switch {
	case !r.mayRead(e):
		n.skipped.Denied++
	case w.o.Suppress.MatchEntry(e.path):
		n.skipped.Suppressed++
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
	if !r.mayRead(e) {
		if e.all {
			n.skipped.Denied++
		}
		if !leads {
			return
		}
	}
	if w.o.Suppress.MatchEntry(e.path) {
		n.skipped.Suppressed++
		return
	}
	m := w.newNode()
	m.parent, m.name, m.path = n, e.name, e.path
	m.base, m.rel = n.base, joinPath(n.rel, e.name)
	m.cursor, m.outside = e.cursor, n.outside
	m.git, m.own = n.git, n.own
	m.depth = n.depth + 1
	r.enter(m, e, n.ignored || r.ignored(e.path, true))
}

// enter makes m a subdirectory of the one being read, if it is wanted.
func (r *reader) enter(m *node, e *entry, ignored bool) {
	n, w := r.n, r.w
	m.sel, m.all = e.sel, e.all
	if e.named {
		m.depth = 0
		if ignored {
			ignored, m.git, m.own = false, nil, nil
		}
	}
	if ignored {
		n.skipped.IgnoredDirs++
		if !e.sel.holdsStart() {
			return
		}
		m.ignored, m.all = true, false
	}
	if w.o.MaxDepth > 0 && m.depth >= w.o.MaxDepth {
		if m.all {
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
	t, err := w.ws.CheckContent(path, 0)
	if err != nil || !t.External() {
		n.skipped.Unreadable++
		return
	}
	cursor := t.Cursor()
	readable := cursor.Caps().Has(jptool.Read)
	if !readable {
		if e.all {
			n.skipped.Denied++
		}
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
	if w.o.Suppress.Match(path) {
		n.skipped.Suppressed++
		return
	}
	ignored := n.ignored || r.ignored(e.path, false) || r.ignored(e.path, true)
	m := w.newNode()
	m.path, m.base, m.rel, m.cursor, m.outside, m.depth = path, base, rel, cursor, true, n.depth+1
	if fi.IsDir() {
		r.enter(m, e, ignored)
		return
	}
	if !fi.Mode().IsRegular() || !readable || !e.all || !w.o.Filter.keep(path) || w.o.After != "" && Compare(path, w.o.After) <= 0 {
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
	w.rootOnce.Do(func() {
		if t, err := w.ws.CheckContent(".", 0); err == nil {
			w.rootFI, _ = t.Lstat()
		}
	})
	return w.rootFI != nil && h.same(w.rootFI)
}
