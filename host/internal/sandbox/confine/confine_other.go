//go:build !linux

package confine

import (
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/jptools/jptools/host/internal/sandbox"
)

// DefaultMapping is empty here: nothing is mapped.
func DefaultMapping() Mapping { return Mapping{} }

func (r *Renderer) start(*sandbox.Plan, *exec.Cmd) (*Process, error) {
	return nil, errors.ErrUnsupported
}

// watcher is nothing here.
type watcher struct{}

func (*watcher) lost() string { return "" }

func (*watcher) close() {}

func (p *Process) pipe() *os.File { return nil }

func (p *Process) wait() (syscall.WaitStatus, error) {
	var none syscall.WaitStatus
	return none, errors.ErrUnsupported
}

// fence is nothing here.
type fence struct{}

func newFence(*sandbox.Plan) (*fence, error) { return nil, nil }

func (*fence) here() bool { return false }

func (*fence) signal(syscall.Signal) bool { return false }
