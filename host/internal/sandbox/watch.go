package sandbox

import (
	"errors"
	"sync"
)

// ErrNoWatch: entries cannot be watched here, or no more of them. [EntryChecks] say
// afterwards what a watcher would have said.
var ErrNoWatch = errors.New("entries cannot be watched")

// Watcher notices when entries are replaced, moved or removed while a call runs: from
// outside that undoes the mount on one of them. It does not notice what happens before Watch
// returns to entries that were replaced by something with the same identity, nor changes of content.
type Watcher struct {
	lost  chan Node
	stop  func() error
	done  chan struct{}
	close sync.Once
	err   error
}

// Lost receives the first entry that is no longer in its place, once, and is closed when
// the watcher is.
func (w *Watcher) Lost() <-chan Node { return w.lost }

// Close ends the watcher and waits for it. It may be called more than once.
func (w *Watcher) Close() error {
	w.close.Do(func() {
		w.err = w.stop()
		<-w.done
	})
	return w.err
}

// Watch watches the entries of nodes, each of which must stand where it stood. The error wraps
// ErrNoWatch where watching is not possible; an entry that is lost already is told by Lost.
func Watch(nodes []Node) (*Watcher, error) { return watch(nodes) }

// inPlace reports whether the same object still stands there.
func inPlace(n Node) bool {
	now, err := Look(n.Path)
	return err == nil && now.Kind == n.Kind && now.ID == n.ID
}
