//go:build !linux || !(amd64 || arm64)

package observe

import (
	"errors"
	"os"

	"github.com/jptools/jptools/sandbox/fit"
)

// Supported reports whether programs can be observed on this system.
const Supported = false

type observer struct{ theirs *os.File }

// Start fails: nothing can be observed here.
func Start(*fit.Plan) (*Observer, error) { return nil, errors.ErrUnsupported }

// End is never called: there is no Observer here.
func (*Observer) End() *Seen { return nil }

// Calls are none: nothing can be observed here.
func Calls(*fit.Plan) []uint32 { return nil }
