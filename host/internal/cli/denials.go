package cli

import (
	"fmt"
	"runtime"
	"strings"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox/observe"
)

// explainDenials is the flag of `run` and `sandbox exec`.
const explainDenials = "--explain-denials"

// explainable refuses the flag where nothing can observe what is refused.
func explainable(flag bool) error {
	if flag && !observe.Supported {
		return exit.Errorf(exit.Usage, "%s: nothing can observe what is refused on %s/%s (Linux on amd64 or arm64 can)\nleave it out", explainDenials, runtime.GOOS, runtime.GOARCH)
	}
	return nil
}

// denials tells a person what the sandbox refused, and what it refuses unobserved. It leaves out the denials inside the
// workspace if the error of the tool names them already.
func (a *app) denials(inside []enforcement.Denial, o *enforcement.Observed, named bool) {
	_ = a.out.flush()
	if len(inside)+len(o.Outside) == 0 {
		a.out.note("no refused call was seen")
	}
	for i, list := range [][]enforcement.Denial{inside, o.Outside} {
		if i == 0 && named {
			continue
		}
		for i := range list {
			a.out.say("refused: ", "33", list[i].String())
		}
	}
	if o.More > 0 {
		a.out.note(fmt.Sprintf("%d more calls were refused; only the first %d different ones are listed", o.More, observe.Most))
	}
	if o.Unread > 0 {
		a.out.note(fmt.Sprintf("%d calls could not be looked at", o.Unread))
	}
	a.out.note("not observed:\n  " + strings.Join(o.NotObserved, "\n  "))
}

// hintDenials says how to find out what the sandbox refused.
func (a *app) hintDenials() {
	a.out.note("to see what the sandbox refused, run it again with " + explainDenials)
}
