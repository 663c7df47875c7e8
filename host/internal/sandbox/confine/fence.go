package confine

import (
	"runtime"
	"sync"
	"syscall"

	"github.com/jptools/jptools/host/internal/sandbox"
)

// Fence keeps together what programs in the Landlock tier start, so that it can be ended all at once,
// however fast it forks. In the namespace tier the init does that.
//
// It is a Landlock domain around those of the programs, which holds nothing but signals, from version
// 6 on. A thread is in it, for good: it has to start the programs, and can start none in the
// namespace tier, because in a domain nothing can be mounted.
type Fence struct{ fence *fence }

// NewFence puts the thread of the calling goroutine into a new domain, and locks it. Where the plan
// or the kernel has no use for one, it is a Fence around nothing, and the thread is as before.
func NewFence(plan *sandbox.Plan) (Fence, error) {
	f, err := newFence(plan)
	return Fence{f}, err
}

// Signal sends a signal to every process in the domain, and reports whether it could. It has to be
// called by the goroutine that called NewFence.
func (f Fence) Signal(sig syscall.Signal) bool { return f.fence.signal(sig) }

// behind is the thread of this process with a fence, if it has one: it never ends, because what it
// has started would.
var behind struct {
	sync.Once
	work chan func(Fence)
	err  error
}

// fenced carries something out on that thread, which is made for the first plan.
func fenced(plan *sandbox.Plan, do func(Fence) error) (err error) {
	behind.Do(func() {
		behind.work = make(chan func(Fence))
		ready := make(chan error)
		go func() {
			runtime.LockOSThread()
			f, err := NewFence(plan)
			ready <- err
			for do := range behind.work {
				do(f)
			}
		}()
		behind.err = <-ready
	})
	if behind.err != nil {
		return behind.err
	}
	done := make(chan error)
	behind.work <- func(f Fence) { done <- do(f) }
	return <-done
}
