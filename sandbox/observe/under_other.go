//go:build !linux || !(amd64 || arm64)

package observe

import (
	"errors"
	"os"

	"github.com/jptools/jptools/sandbox/fit"
)

// Under starts this program a second time and observes its calls; here nothing can.
func Under(_, _ []string, _ [3]*os.File) (int, error) { return 0, errors.ErrUnsupported }

// Calls are none: nothing can be observed here.
func Calls(*fit.Plan) []uint32 { return nil }

func inherited() *os.File { return nil }

// Gone is never closed: there is no Link here.
func (l *Link) Gone() <-chan struct{} { return nil }
