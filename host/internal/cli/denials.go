package cli

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/jptools/jptools/host/internal/enclose"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/sandbox/observe"
)

// explainDenials is the flag of `run` and `sandbox exec`.
const explainDenials = "--explain-denials"

// observed runs this command line in a second jphost, and observes what the sandbox refuses there.
func (a *app) observed() error {
	err := a.again(func(streams [3]*os.File) (int, error) { return observe.Under(a.environ, a.args, streams) })
	if errors.Is(err, errors.ErrUnsupported) {
		return exit.Errorf(exit.Usage, "%s: nothing can observe what is refused on %s/%s (Linux on amd64 or arm64 can)\nleave it out", explainDenials, runtime.GOOS, runtime.GOARCH)
	}
	return err
}

// again lets start run this command line in a second jphost, and ends with the status of that one.
func (a *app) again(start func(streams [3]*os.File) (int, error)) error {
	stdin, _ := a.stdin.(*os.File)
	stdout, _ := a.out.stdout.(*os.File)
	stderr, _ := a.out.stderr.(*os.File)
	code, err := start([3]*os.File{stdin, stdout, stderr})
	if err != nil {
		return exit.With(exit.Host, err)
	}
	if a.out.answered = true; code != 0 { // the other one said why
		return &exit.Error{Code: exit.Code(code)}
	}
	return nil
}

// denials tells a person what the sandbox refused, and what it refuses unobserved. It leaves out the denials inside the
// workspace if the error of the tool names them already.
func (a *app) denials(inside []enclose.Denial, o *enclose.Observed, named bool) {
	_ = a.out.flush()
	if len(inside)+len(o.Outside) == 0 {
		a.out.note("no refused call was seen")
	}
	for i, list := range [][]enclose.Denial{inside, o.Outside} {
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
