package walk

import (
	"errors"
	"io/fs"
	"slices"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

// reader reads directories, one after the other.
type reader struct {
	w       *walker
	n       *node
	h       dir
	l       listing
	special specials

	// plain says that no rule lies below n, so that readable holds for every entry.
	plain, readable bool
	// counts: what is withheld in n is counted.
	counts bool
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
	if list && errors.Is(err, fs.ErrPermission) && (n.cursor.Leads() || n.sel.leads()) {
		// It cannot be listed although it may be; what is known by name can be tried.
		n.skipped.Unreadable++
		list = false
		h, err = n.open(false)
	}
	if err != nil {
		// What has vanished since it was seen was never there.
		if granted && !errors.Is(err, fs.ErrNotExist) {
			n.skipped.Unreadable++
		}
		return
	}
	if n.outside && w.isRoot(h) {
		h.close() // the mount holds the workspace itself
		return
	}
	r.h, n.listed = h, list
	r.l.reset(n.path)
	r.special = specials{}
	if list {
		if err := h.read(&r.l); err != nil {
			n.skipped.Unreadable++
		}
		r.special.find(&r.l)
	} else {
		r.probe()
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
func (r *reader) probe() {
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
		case !errors.Is(err, fs.ErrNotExist) && (mount || c.Caps().Has(jptool.Read)):
			r.n.skipped.Unreadable++
		}
	}
	r.special = specials{probe: true}
}

// decide goes through the listing.
func (r *reader) decide() {
	n := r.n
	r.counts = n.all && r.w.o.After == ""
	r.plain = !n.cursor.Leads()
	if r.plain {
		r.readable = n.cursor.Child("x").Caps().Has(jptool.Read)
	}
	r.denied()
	for _, it := range r.l.items {
		if r.w.ctx.Err() != nil {
			return // directories can be large, and globs and ignore files slow
		}
		switch {
		case !utf8.ValidString(it.name):
			k := it.kind
			if k == kindUnknown {
				k, _ = r.h.kindOf(it.name)
			}
			if k == kindFile || k == kindDir {
				n.skipped.NotAddressable++
			}
		case it.kind != kindOther:
			r.entry(it)
		}
	}
}

// entry decides about one entry.
func (r *reader) entry(it item) {
	n, name, k := r.n, it.name, it.kind
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
	e := entry{path: it.path, name: name, cursor: n.cursor, sel: c, all: all, named: c != nil && c.start}
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
	case kindLink:
		// Not shown, but a name all the same.
		if r.mayRead(&e) && !r.w.o.Suppress.MatchEntry(it.path) {
			r.saw(&e)
		}
	}
}
