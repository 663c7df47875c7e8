package walk

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/ignore"
	"github.com/jptools/jptools/jptool/wspath"
)

// The bounds of reading ahead; variables for tests.
var (
	// aheadEntries is how many entries may be read and not emitted. It is not more, so that directories are still
	// open when the files in them are opened.
	aheadEntries = 1 << 11
)

// maxHelpers bounds the goroutines that read ahead. More of them wait for each other in the
// kernel's directory cache.
const maxHelpers = 15

// walker runs a walk. The caller's goroutine goes through the tree in order; helpers
// read directories ahead of it, always the next ones in order. Waiting cannot deadlock: a
// goroutine waits only for a directory that another one has claimed, and reads an unclaimed one itself.
type walker struct {
	ctx     context.Context
	ws      *jptool.Workspace
	o       *Options
	skipped Skipped
	counted int64
	ended   error
	// late: the time to count files is over.
	late atomic.Bool
	// patterns counts what ignore files hold, see maxPatterns.
	patterns atomic.Int64
	// stop is set when the walk is over.
	stop atomic.Bool

	mu sync.Mutex
	// front has the directories (*node) that are known and not read, in order.
	front list.List
	// ahead counts the entries that are read and not emitted.
	ahead   int
	changed *sync.Cond // something was read, or may be claimed
}

func newWalker(ctx context.Context, ws *jptool.Workspace, o *Options, root *sel) *walker {
	w := &walker{ctx: ctx, ws: ws, o: o}
	w.changed = sync.NewCond(&w.mu)
	w.pushRoot(root)
	return w
}

// pushRoot makes the node of the workspace root.
func (w *walker) pushRoot(root *sel) {
	t, err := w.ws.CheckContent(".", 0)
	if err != nil {
		w.skipped.Unreadable++
		return
	}
	base, rel, err := t.Base()
	if err != nil {
		w.skipped.Unreadable++
		return
	}
	n := &node{base: base, rel: rel, cursor: t.Cursor(), sel: root, all: root.all}
	n.shown = n.all && w.o.Tree && w.o.After == ""
	n.known = n.shown && w.o.Filter == nil && n.cursor.Caps().Has(jptool.Read)
	n.place = w.front.PushBack(n)
}

func (w *walker) run(emit func(*Batch) error) error {
	first := w.front.Front()
	if first == nil {
		return nil
	}
	root := first.Value.(*node)
	var helpers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0)-1, maxHelpers) {
		helpers.Go(w.help)
	}
	if w.o.CountTime > 0 {
		defer time.AfterFunc(w.o.CountTime, func() { w.late.Store(true) }).Stop()
	}
	e := emitter{w: w, emit: emit}
	err := e.visit(root)
	e.atLeast() // of the directories that were not finished
	w.mu.Lock()
	w.stop.Store(true)
	w.changed.Broadcast()
	w.mu.Unlock()
	helpers.Wait()
	if err == errEnded {
		w.ended, err = w.ctx.Err(), nil
	}
	return err
}

// claim takes the next directory in order that no goroutine has claimed, nil if there is none.
func (w *walker) claim() *node {
	for e := w.front.Front(); e != nil; e = e.Next() {
		if n := e.Value.(*node); n.state == waiting {
			n.state = claimed
			return n
		}
	}
	return nil
}

// help reads directories until the walk is over.
func (w *walker) help() {
	var r reader
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.stop.Load() {
		var n *node
		if w.ahead < aheadEntries {
			n = w.claim()
		}
		if n == nil {
			w.changed.Wait()
			continue
		}
		w.read(n, &r)
	}
}

// read reads a claimed directory. The lock is held before and after, not meanwhile.
func (w *walker) read(n *node, r *reader) {
	w.mu.Unlock()
	r.read(w, n)
	w.mu.Lock()
	w.finish(n)
}

// finish puts what was found in n in its place. The lock is held.
func (w *walker) finish(n *node) {
	for _, s := range n.subs {
		if s.node.state == waiting {
			s.node.place = w.front.InsertBefore(s.node, n.place)
		}
	}
	w.front.Remove(n.place)
	n.state = done
	n.ahead = len(n.files) + len(n.subs) + 1
	w.ahead += n.ahead
	w.changed.Broadcast()
}

// await returns when n is read. Meanwhile the goroutine makes itself useful.
func (w *walker) await(n *node, r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n.state != done {
		m := n
		if n.state == waiting {
			n.state = claimed
		} else if w.ahead >= aheadEntries {
			m = nil
		} else {
			m = w.claim()
		}
		if m == nil {
			w.changed.Wait()
			continue
		}
		w.read(m, r)
	}
	full := w.ahead >= aheadEntries
	w.ahead -= n.ahead
	if full && w.ahead < aheadEntries {
		w.changed.Broadcast()
	}
}

// emitter goes through the tree in order.
type emitter struct {
	w      *walker
	emit   func(*Batch) error
	reader reader
	// open are the shown directories that are being visited, the outermost first.
	open []*openDir
}

// openDir is a Dir, and whether OnDir has it.
type openDir struct {
	Dir
	told bool
}

// tell tells OnDir of the open directories.
func (e *emitter) tell() {
	for _, d := range e.open {
		if !d.told {
			d.told = true
			e.w.o.OnDir(&d.Dir)
		}
	}
}

// count adds files to the open directories.
func (e *emitter) count(files int) {
	for _, d := range e.open {
		d.Files += int64(files)
	}
	e.tell()
}

func (e *emitter) atLeast() {
	for _, d := range e.open {
		d.AtLeast = true
	}
}

// errEnded: the context ended.
var errEnded = errors.New("the walk ended early")

func (e *emitter) visit(n *node) error {
	if e.w.ctx.Err() != nil {
		return errEnded
	}
	e.w.await(n, &e.reader)
	if e.w.ctx.Err() != nil {
		return errEnded // n may have been read in part
	}
	n.refs.Store(1)
	defer n.unref()
	if n.shown {
		e.open = append(e.open, &openDir{Dir: Dir{Path: n.path}})
		if n.known {
			e.tell()
		}
	}
	if n.unread || n.skipped.Unreadable > 0 {
		e.atLeast()
	}
	if !n.counted {
		e.w.skipped.add(&n.skipped)
	}
	from := 0
	for i := range n.subs {
		s := n.subs[i]
		if err := e.files(n, from, s.at); err != nil {
			return err
		}
		from = s.at
		if err := e.visit(s.node); err != nil {
			return err
		}
		n.subs[i].node = nil // it may be forgotten
	}
	if err := e.files(n, from, len(n.files)); err != nil {
		return err
	}
	n.files, n.subs = nil, nil
	if n.shown {
		e.open = e.open[:len(e.open)-1]
	}
	return nil
}

// files emits or counts files[from:to], those that were named each for itself.
func (e *emitter) files(n *node, from, to int) error {
	for from < to {
		end := to
		next, named := slices.BinarySearch(n.named, from)
		if named {
			end = from + 1
		} else if next < len(n.named) {
			end = min(end, n.named[next])
		}
		e.count(end - from)
		if (n.counted || e.w.o.Tree) && !named {
			e.w.counted += int64(end - from)
		} else if err := e.emit(&Batch{Paths: n.files[from:end], Named: named, dir: n}); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// node is a directory of the walk, or a single file that is the target of a mount.
type node struct {
	path string // as it is shown, "" for the root of the workspace
	// It is opened by rel, its path below base.
	base *wspath.Dir
	rel  string
	// realName is the name of the file, for the target of a mount.
	realName string

	cursor jptool.Cursor
	sel    *sel
	all    bool // everything below is wanted
	// seeks are the starts that have found something as soon as anything below is known.
	seeks []*partial
	depth int // below the start
	// outside: below a mount.
	outside bool
	// shown: OnDir gets it; known: also if no file is in it. counted: its files are only counted.
	shown, known, counted bool

	// git holds the patterns of .gitignore and exclude files, own those of .ignore
	// files, which win. ignored: they exclude the directory, and the walk only passes
	// through to a start.
	git, own *ignore.Stack
	ignored  bool

	// What reading it gave. The i-th of subs comes in front of files[subs[i].at].
	files   []string
	named   []int // files that the caller named himself
	subs    []sub
	skipped Skipped
	unread  bool // there was no time

	// listed: it was opened for listing, and can be again.
	listed bool
	// refs counts who may still open files in the directory.
	refs atomic.Int32
	mu   sync.Mutex // guards h
	h    dir        // nil until the first file is opened

	// The scheduler's, see walker.mu.
	state state
	place *list.Element // in walker.front
	ahead int           // entries that it adds to walker.ahead
}

type sub struct {
	node *node
	at   int
}

type state uint8

const (
	waiting state = iota
	claimed
	done
)

// unref drops one reference.
func (n *node) unref() {
	if n.refs.Add(-1) != 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.h != nil {
		n.h.close()
		n.h = nil
	}
}

// handle returns the open directory for opening files in it. The caller has a reference.
func (n *node) handle() (dir, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.h != nil {
		return n.h, nil
	}
	h, err := openPath(n.base, n.rel, n.listed)
	if err != nil {
		return nil, err
	}
	n.h = h
	return h, nil
}

// seekers are the starts that e is something for.
func (n *node) seekers(e *entry) []*partial {
	list := n.seeks[:len(n.seeks):len(n.seeks)]
	if n.sel != nil {
		for _, p := range n.sel.names {
			if strings.HasPrefix(e.name, p.prefix) {
				list = append(list, p)
			}
		}
	}
	if e.sel != nil {
		list = append(list, e.sel.seeks...)
	}
	return list
}
