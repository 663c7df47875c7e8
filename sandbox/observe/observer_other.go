//go:build !linux || !(amd64 || arm64)

package observe

import (
	"errors"

	"github.com/jptools/jptools/sandbox/fit"
)

// Supported reports whether programs can be observed on this system.
const Supported = false

type call struct{}

// Start fails: nothing can be observed here.
func Start(*fit.Plan) (*Observer, error) { return nil, errors.ErrUnsupported }

// Calls are none: nothing can be observed here.
func Calls(*fit.Plan) []uint32 { return nil }
