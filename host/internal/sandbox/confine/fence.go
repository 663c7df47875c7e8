package confine

import (
	"syscall"

	"github.com/jptools/jptools/sandbox/fit"
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
func NewFence(plan *fit.Plan) (Fence, error) {
	f, err := newFence(plan)
	return Fence{f}, err
}

// Signal sends a signal to every process in the domain, and reports whether it could. It has to be
// called by the goroutine that called NewFence.
func (f Fence) Signal(sig syscall.Signal) bool { return f.fence.signal(sig) }

// here reports whether the calling goroutine is behind the fence.
func (f Fence) here() bool { return f.fence.here() }
