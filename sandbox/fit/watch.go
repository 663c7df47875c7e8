package fit

import (
	"errors"
	"os"
	"path"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// ErrNoWatch: the entries cannot be watched: there is no inotify, or no more of it. [Before.Verify]
// says afterwards what it can tell of what a watcher would have said.
var ErrNoWatch = errors.New("entries cannot be watched")

// Watched is what a [Watcher] looks after.
type Watched struct {
	// Entries must stay where they stand: from outside, replacing, moving or removing one undoes the
	// mount on it.
	Entries []Node
	// Absent are paths at which nothing may come to be, not even for a moment.
	Absent []string
	// Trees hold the paths of Absent. What lies above a tree is not watched: the program cannot
	// change it.
	Trees []Node
}

// LossKind is what became of something that is watched.
type LossKind string

const (
	// Replaced: an entry was replaced, moved or removed.
	Replaced LossKind = "replaced"
	// Appeared: something came to be at a path of Absent, or may have: whoever makes a directory on
	// the way and removes it at once may have had something in it.
	Appeared LossKind = "momentary"
	// Unwatched: more happened than the kernel keeps for a watcher, or what came to be cannot be
	// watched. Anything may have happened.
	Unwatched LossKind = "unwatched"
)

// Loss is the first thing that a [Watcher] noticed.
type Loss struct {
	Kind LossKind
	// Path is the entry or the path of Absent; where many may be meant, one of them.
	Path string
}

// Watcher notices while a call runs what checks after the call may find no trace of. What happens
// between Watch and Close is noticed, also just before Close. It does not notice changes of content.
//
// An absent path whose directory is missing too is followed: each directory on the way is watched as
// soon as it has been seen. What is in it for a moment before that goes unnoticed.
type Watcher struct {
	file  *os.File
	lost  chan Loss
	stop  func()
	done  chan struct{}
	first *Loss // set before lost is closed
}

// File is what the kernel reports to, for whoever keeps a copy of it open; nil where there is none.
func (w *Watcher) File() *os.File { return w.file }

// Lost receives the first loss, once, and is closed when the watcher is.
func (w *Watcher) Lost() <-chan Loss { return w.lost }

// Close ends the watcher, waits for it, and returns the first loss, or nil. It may be called more than once.
func (w *Watcher) Close() *Loss {
	w.stop()
	<-w.done
	return w.first
}

// Watch begins to watch. The error wraps ErrNoWatch where that is not possible; it is of the kind [failure.Changed] if
// something is lost already.
func Watch(what Watched) (*Watcher, error) {
	if len(what.Entries)+len(what.Absent) == 0 {
		return nil, errors.New("there is nothing to watch")
	}
	return watch(what)
}

// keepWays adds checks for the links and directories on the way to each rule that takes something away. If somebody
// outside exchanges one, the rule stands elsewhere: a mount goes with the old directory, and with Landlock alone a
// directory that was granted keeps its rights when it is moved there. The ways of other rules are not checked.
//
// At most one directory is watched for each link, and for each directory between a rule or link and its tree.
func (h *fitting) keepWays() {
	for _, s := range h.zones {
		if !s.bare && s.from == nil {
			h.keepWay(s.Abs, "", s.most|s.extra)
		}
	}
	for _, w := range h.d.Ways {
		h.keepWay(w.Entry, w.Text, w.Caps)
	}
}

// keepWay adds the checks for the way to p: the place of a rule, which grants left, or, if text is not empty, a link on
// the way to it, which says text. Where a directory grants no more than that, its entries may change.
func (h *fitting) keepWay(p, text string, left jptool.Caps) {
	for _, x := range h.onWay(p) {
		around := h.does(path.Dir(x))
		if s := h.governing(path.Dir(x)); s != nil {
			around |= s.most // Landlock alone may grant it to each entry that is there, and not to the directory
		}
		c := Check{Path: x, Want: SameEntry, Node: h.facts.node(x)}
		switch {
		case around&^left == 0:
			continue
		case x == p && text != "":
			c.Node.Kind, c.Text = Link, text
		case h.covers[x] != nil || h.pins[x]:
			continue
		case c.Node.Kind == Link && !slices.Contains(h.d.Pins, x):
			c.Node.Kind = Dir // it was none when the places of rules were found: the check fails at once
		case c.Node.Kind != Dir || text == "" && h.facts.node(p).Kind == Missing: // what is missing is watched for anyway
			continue
		}
		h.after = append(h.after, c)
	}
}
