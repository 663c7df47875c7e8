package sandbox

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/engine"
)

// Helpers are the processes that start programs and make sure that nothing of them is left. They are this program started
// again (see [Main]). Helpers are safe for concurrent use.
type Helpers struct{ engine *engine.Engine }

// HelperOptions are those of Helpers.
type HelperOptions struct {
	// Terminal leaves programs in the session and the process group of this process, so that the job control of its
	// terminal reaches them. Otherwise each program has a session of its own. With namespaces a program never
	// hears its terminal: pass signals on with [Cmd.Signal].
	Terminal bool
	// Once: this process starts a program or two and ends. Helpers are not kept for later calls, and end with it.
	Once bool
}

// NewHelpers returns Helpers. Nothing is started yet.
func NewHelpers(o HelperOptions) *Helpers {
	return &Helpers{engine.New(engine.Options(o))}
}

// Warm starts a helper in the background for a call that is likely to need one of this tier: the call then does not
// wait for it. It returns at once.
func (h *Helpers) Warm(tier fit.Tier) {
	h.engine.Warm(engine.Kind{Tier: tier, Network: tier != fit.TierNamespace})
}

// Close ends the helpers, and the calls that still run, and waits for them.
func (h *Helpers) Close() error { return h.engine.Close() }

// shared returns the Helpers of calls without any of their own. They end with the process.
var shared = sync.OnceValue(func() *Helpers { return NewHelpers(HelperOptions{}) })

// TreeControl returns nil if all processes of a call end with it, whatever they do. Otherwise the error says what may survive,
// and matches errors.ErrUnsupported.
func TreeControl() error {
	if runtime.GOOS == "linux" {
		return nil
	}
	return fmt.Errorf("on %s only the tool's own process group is ended; what leaves it, or outlives the host, goes on running (%w)", runtime.GOOS, errors.ErrUnsupported)
}
