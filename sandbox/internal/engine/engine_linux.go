package engine

import (
	"slices"
	"sync"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
	"github.com/jptools/jptools/sandbox/internal/linux"
)

// maxIdle is how many supervisors are kept for later calls: one of each kind, where calls have plans of two kinds and
// none.
const maxIdle = 3

// giveUp is how long the host waits for a supervisor to end a call after telling it to; a variable for tests.
var giveUp = 10 * time.Second

type engine struct {
	options Options

	mu     sync.Mutex
	closed bool
	idle   []*helper
	all    map[*helper]struct{}
	wait   sync.WaitGroup // for the process of every helper
}

func newEngine(o Options) engine { return engine{options: o, all: map[*helper]struct{}{}} }

func (e *engine) warm(k Kind) {
	if k.ABI == 0 && k.Tier == fit.TierLandlock {
		k.ABI = linux.Version()
	}
	k = k.reduced()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return
	}
	if i := slices.IndexFunc(e.idle, func(h *helper) bool { return h.kind == k }); i >= 0 {
		if h := e.idle[i]; !h.fresh {
			h.fresh = true
			_ = h.conn.send(request{Warm: true})
		}
		return
	}
	h := e.newHelperLocked(k)
	e.idle = append(e.idle, h)
	go h.start()
}

// take returns an idle supervisor of a kind, or a new one. Its process has been started.
func (e *engine) take(k Kind) (*helper, error) {
	for {
		e.mu.Lock()
		if e.closed {
			e.mu.Unlock()
			return nil, &failure.Error{Kind: failure.Failed, Step: "the engine is closed"}
		}
		i := slices.IndexFunc(e.idle, func(h *helper) bool { return h.kind == k })
		if i < 0 {
			h := e.newHelperLocked(k)
			e.mu.Unlock()
			h.start()
			return h, h.err
		}
		h := e.idle[i]
		e.idle = slices.Delete(e.idle, i, i+1)
		e.mu.Unlock()
		if <-h.ready; h.err != nil {
			return nil, h.err
		}
		if !h.ended() {
			return h, nil
		}
		h.dismiss() // it was killed while nothing was going on
	}
}

// put keeps a supervisor whose call ended well. When there are enough the oldest ends.
func (e *engine) put(h *helper) {
	e.mu.Lock()
	h.fresh = false
	var over *helper
	switch {
	case e.closed, h.kind.Tier == fit.TierNamespace: // which has ended with its call
		over = h
	case len(e.idle) == maxIdle:
		over = e.idle[0]
		e.idle = append(slices.Delete(e.idle, 0, 1), h)
	default:
		e.idle = append(e.idle, h)
	}
	e.mu.Unlock()
	if over != nil {
		<-over.ready
		over.dismiss()
	}
}

func (e *engine) close() error {
	e.mu.Lock()
	e.closed, e.idle = true, nil
	var open []*helper
	for h := range e.all {
		open = append(open, h)
	}
	e.mu.Unlock()
	var ends sync.WaitGroup
	for _, h := range open {
		ends.Go(h.abandon)
	}
	ends.Wait()
	e.wait.Wait()
	return nil
}

func (e *engine) newHelperLocked(k Kind) *helper {
	h := &helper{engine: e, kind: k, ready: make(chan struct{}), gone: make(chan struct{}), fresh: true}
	e.all[h] = struct{}{}
	e.wait.Add(1)
	return h
}
