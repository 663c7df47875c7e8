package walk

import (
	"container/list"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/jptools/jptools/jptool"
)

// The bounds of reading ahead; variables for tests.
var (
	aheadEntries = 1 << 16
	// aheadOpen takes its place when files are opened, which takes longer than listing
	// them: the directories should still be open then.
	aheadOpen = 1 << 11
	// keptDirs is how many directories are kept open because something in them will be
	// opened. What is beyond is opened again by its path.
	keptDirs int32 = 200
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
	ended   error
	kept    atomic.Int32
	// patterns counts what ignore files hold, see maxPatterns.
	patterns atomic.Int64
	// stop is set when the walk is over.
	stop atomic.Bool

	most int // of ahead

	mu sync.Mutex
	// front has the directories (*node) that are known and not read, in order.
	front list.List
	// ahead counts the entries that are read and not emitted.
	ahead   int
	idle    int        // helpers that wait
	work    *sync.Cond // something may be claimed
	arrived *sync.Cond // something was read, for the caller's goroutine
	needed  *node      // what that waits for
}

func newWalker(ctx context.Context, ws *jptool.Workspace, o *Options, root *sel) *walker {
	w := &walker{ctx: ctx, ws: ws, o: o, most: aheadEntries}
	if o.Open {
		w.most = aheadOpen
	}
	w.work, w.arrived = sync.NewCond(&w.mu), sync.NewCond(&w.mu)
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
	n := w.newNode()
	n.base, n.rel, n.cursor, n.sel, n.all = base, rel, t.Cursor(), root, root.all
	n.place = w.front.PushBack(n)
}

func (w *walker) newNode() *node { return &node{kept: &w.kept, limit: keptDirs} }

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
	e := emitter{w: w, emit: emit}
	err := e.visit(root)
	w.mu.Lock()
	w.stop.Store(true)
	w.work.Broadcast()
	w.mu.Unlock()
	helpers.Wait()
	if err == errEnded {
		w.ended, err = w.ctx.Err(), nil
	}
	if err != nil || w.ended != nil {
		w.discard(root)
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
		if w.ahead < w.most {
			n = w.claim()
		}
		if n == nil {
			w.idle++
			w.work.Wait()
			w.idle--
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
	if w.idle > 0 && len(n.subs) > 0 {
		w.work.Broadcast()
	}
	if w.needed == n {
		w.arrived.Signal()
	}
}

// await returns when n is read. Meanwhile the goroutine makes itself useful.
func (w *walker) await(n *node, r *reader) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for n.state != done {
		m := n
		if n.state == waiting {
			n.state = claimed
		} else if w.ahead >= w.most {
			m = nil
		} else {
			m = w.claim()
		}
		if m == nil {
			w.needed = n
			w.arrived.Wait()
			w.needed = nil
			continue
		}
		w.read(m, r)
	}
	full := w.ahead >= w.most
	w.ahead -= n.ahead
	if full && w.ahead < w.most {
		w.work.Broadcast()
	}
}

// emitter goes through the tree in order.
type emitter struct {
	w      *walker
	emit   func(*Batch) error
	reader reader
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
	e.w.skipped.add(&n.skipped)
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
	if len(n.files) > 0 && e.w.o.Open {
		n.unref()
	}
	n.files, n.subs = nil, nil
	return nil
}

// files emits files[from:to], those that were named each for itself.
func (e *emitter) files(n *node, from, to int) error {
	for from < to {
		end := to
		next, named := slices.BinarySearch(n.named, from)
		if named {
			end = from + 1
		} else if next < len(n.named) {
			end = min(end, n.named[next])
		}
		if err := e.emit(&Batch{Paths: n.files[from:end], Named: named, dir: n}); err != nil {
			return err
		}
		from = end
	}
	return nil
}

// discard drops the references of what an early end left unvisited. Nothing else uses the
// tree any more, but for batches that are held.
func (w *walker) discard(n *node) {
	if n.state != done {
		if n.fromParent() {
			n.parent.unref()
		}
		return
	}
	for _, s := range n.subs {
		if s.node != nil {
			w.discard(s.node)
		}
	}
	if w.o.Open && len(n.files) > 0 {
		n.unref()
	}
}
