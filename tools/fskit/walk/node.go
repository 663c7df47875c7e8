package walk

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/tools/fskit/ignore"
)

// node is a directory of the walk, or a single file that is the target of a mount.
type node struct {
	parent *node  // nil for the root and for what a mount leads to
	name   string // in parent
	path   string // as it is shown, "" for the root of the workspace
	// base and rel are another way to the directory: rel is its path below base.
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

	// listed: it was opened for listing, and can be again.
	listed bool
	// refs counts what may still need the open directory: subdirectories that are not
	// open yet, and files.
	refs  atomic.Int32
	mu    sync.Mutex // guards h
	h     dir
	kept  *atomic.Int32 // counts directories held open
	limit int32

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

// fromParent reports whether n is opened through its parent, and so holds a reference to it.
func (n *node) fromParent() bool { return n.parent != nil }

// open opens the directory, through the one that holds it where that is open.
func (n *node) open(list bool) (dir, error) {
	if n.fromParent() {
		n.parent.mu.Lock()
		h := n.parent.h // n holds a reference, so that it stays open
		n.parent.mu.Unlock()
		if h != nil {
			return h.openDir(n.name, list)
		}
	}
	return openPath(n.base, n.rel, list)
}

// keep takes over h, which is kept open as long as refs says if there are not too many.
func (n *node) keep(h dir, refs int) {
	n.refs.Store(int32(refs))
	if refs == 0 {
		h.close()
		return
	}
	if n.kept.Add(1) > n.limit {
		n.kept.Add(-1)
		h.close()
		return
	}
	n.mu.Lock()
	n.h = h
	n.mu.Unlock()
}

// unref drops one reference.
func (n *node) unref() {
	if n.refs.Add(-1) != 0 {
		return
	}
	n.mu.Lock()
	if n.h != nil {
		n.h.close()
		n.h = nil
		n.kept.Add(-1)
	}
	n.mu.Unlock()
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
	n.kept.Add(1)
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
