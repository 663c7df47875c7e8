package walk

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
)

// reader reads directories, one after the other.
type reader struct {
	w *walker
	n *node
	h dir
	l listing

	// plain says that no rule lies below n, so that readable holds for every entry.
	plain, readable bool
	// judged: patterns may withhold entries that no rule names.
	judged bool
	// counts: what is withheld in n is counted.
	counts bool
}

// read lists n and decides about every entry. What it finds is in n afterwards.
func (r *reader) read(w *walker, n *node) {
	r.w, r.n = w, n
	if w.stop.Load() || w.ctx.Err() != nil {
		return
	}
	if n.unread = n.counted && w.late.Load(); n.unread {
		return
	}
	granted := n.cursor.Caps().Has(jptool.Read)
	list := granted && (n.all || n.sel.partly())
	h, err := openPath(n.base, n.rel, list)
	if list && errors.Is(err, fs.ErrPermission) && (n.cursor.Leads() || n.sel.leads()) {
		// It cannot be listed although it may be; what is known by name can be tried.
		n.skipped.Unreadable++
		list = false
		h, err = openPath(n.base, n.rel, false)
	}
	if err != nil {
		// What has vanished since it was seen was never there.
		if granted && !errors.Is(err, fs.ErrNotExist) {
			n.skipped.Unreadable++
		}
		return
	}
	defer h.close()
	if n.outside && w.isRoot(h) {
		return // the mount holds the workspace itself
	}
	r.h, n.listed = h, list
	r.l.reset(n.path)
	if list {
		if err := h.read(&r.l); err != nil {
			n.skipped.Unreadable++
		}
	} else {
		r.probe()
	}
	r.l.sort()
	r.rules()
	r.decide()
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
}

// decide goes through the listing.
func (r *reader) decide() {
	n := r.n
	r.counts = n.all && r.w.o.After == ""
	r.plain, r.judged = !n.cursor.Leads(), n.cursor.Judges()
	if r.plain && !r.judged {
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
	e := entry{item: it, cursor: n.cursor, sel: c, all: all, named: c != nil && c.start}
	if !r.plain || r.judged {
		e.cursor = n.cursor.Child(name)
	}
	if r.judged && r.secret(&e, k) {
		return
	}
	if !r.plain {
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

// secret reports whether a pattern withholds the entry and all that is in it, and counts it if it would be shown
// otherwise. The number says how many there are in a directory, as that of what is suppressed.
func (r *reader) secret(e *entry, k kind) bool {
	w := e.cursor.Withheld()
	if w.Pattern == "" {
		return false
	}
	if (k == kindFile || k == kindDir) && e.cursor.Covered().Has(jptool.Read) {
		number := &r.n.skipped.Denied
		if w.Secret {
			number = &r.n.skipped.Secrets
		}
		r.withheld(number, e)
	}
	return !e.cursor.Leads()
}

// entry is an entry of the directory being read, with what is wanted of it.
type entry struct {
	item
	cursor     jptool.Cursor
	sel        *sel
	all, named bool
}

func (r *reader) mayRead(e *entry) bool {
	if r.plain && !r.judged {
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
		if _, mount := c.Mount(); !mount && !c.Covered().Has(jptool.Read) && name != ".git" {
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
	case !e.all || !w.o.Filter.selects(e.path) || w.outOfPage(e.path):
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
	if r.plain && !r.judged {
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
	m := &node{
		path: e.path, base: n.base, rel: wspath.JoinSlash(n.rel, e.name),
		cursor: e.cursor, outside: n.outside, git: n.git, own: n.own, depth: n.depth + 1,
	}
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
	after := w.o.After
	past := after != "" && Compare(m.path, after) <= 0 // an earlier page has shown it
	deep := w.o.MaxDepth > 0 && m.depth >= w.o.MaxDepth
	switch {
	case w.o.OnDir != nil && m.all && (w.o.Tree || deep && !past):
		m.counted = deep
		m.shown = !past && (deep && !n.counted || !deep && w.o.Tree)
		m.known = m.shown && readable && w.o.Filter == nil
	case deep:
		if m.all && readable && w.o.OnDir == nil {
			n.skipped.Deeper++
		}
		if !e.sel.leads() {
			return
		}
		m.all = false
	}
	if past && m.path != after && !strings.HasPrefix(after, m.path+"/") {
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
	m := &node{path: path, base: base, rel: rel, cursor: cursor, outside: true, depth: n.depth + 1}
	if fi.IsDir() {
		r.enter(m, e, readable, ignored)
		return
	}
	if !fi.Mode().IsRegular() || !readable {
		return
	}
	r.saw(e)
	if !e.all || !w.o.Filter.selects(path) || w.outOfPage(path) {
		return
	}
	if ignored && !e.named {
		n.skipped.Ignored++
		return
	}
	// A directory with this one file, which is read already.
	m.state, m.files, m.realName, m.counted = done, []string{path}, baseName(rel), n.counted
	m.rel = strings.TrimSuffix(rel[:len(rel)-len(m.realName)], "/")
	if e.named {
		m.named = []int{0}
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

// maxRules is the largest ignore file that is read, in bytes. A larger one counts as
// unreadable.
const maxRules = 4 << 20

// maxPatterns bounds the patterns of all ignore files of a walk: one of two bytes takes more than a hundred in
// memory. A file that is too much counts as unreadable.
const maxPatterns = 500_000

// rules puts the ignore files of the directory on the stacks of its node. As any file,
// they are read only if the policy grants it, and not through symlinks.
func (r *reader) rules() {
	n := r.n
	if r.w.o.NoIgnore || n.ignored {
		return
	}
	if r.has(".git") {
		r.repository()
	}
	if r.has(".gitignore") {
		n.git = n.git.Push(n.path, r.load(r.h, n.cursor, ".gitignore"))
	}
	if r.has(".ignore") {
		n.own = n.own.Push(n.path, r.load(r.h, n.cursor, ".ignore"))
	}
}

// has reports whether the directory has an entry called name; where it was not listed that has to be tried.
func (r *reader) has(name string) bool {
	if !r.n.listed {
		return true
	}
	byName := func(it item, name string) int { return strings.Compare(it.name, name) }
	_, found := slices.BinarySearchFunc(r.l.items, name, byName)
	return found
}

// repository starts anew where a repository of its own begins: the rules of git that lie
// above do not hold in it.
func (r *reader) repository() {
	n := r.n
	at := n.cursor.Child(".git")
	if !n.listed && !at.Caps().Has(jptool.Read) {
		return
	}
	k, err := r.h.kindOf(".git")
	if err != nil || k != kindDir && k != kindFile {
		return
	}
	n.git = nil
	at = at.Child("info")
	if k != kindDir || !at.Child("exclude").Caps().Has(jptool.Read) {
		return
	}
	info, err := openPath(n.base, wspath.JoinSlash(n.rel, ".git/info"), false)
	if err != nil {
		return
	}
	defer info.close()
	n.git = n.git.Push(n.path, r.load(info, at, "exclude"))
}

// load reads an ignore file; nil if there is none that may be read.
func (r *reader) load(h dir, at jptool.Cursor, name string) *ignore.File {
	if !at.Child(name).Caps().Has(jptool.Read) {
		return nil
	}
	if k, err := h.kindOf(name); err != nil || k != kindFile {
		return nil
	}
	var f File
	err := h.openFile(name, &f)
	if err == nil {
		var text []byte
		text, err = io.ReadAll(io.LimitReader(&f, maxRules+1))
		f.Close()
		if err == nil && len(text) <= maxRules {
			n := int64(bytes.Count(text, []byte("\n")) + len(text)/100 + 1)
			if r.w.patterns.Add(n) <= maxPatterns {
				return ignore.Parse(text)
			}
			r.w.patterns.Add(-n)
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		r.n.skipped.Unreadable++
	}
	return nil
}
