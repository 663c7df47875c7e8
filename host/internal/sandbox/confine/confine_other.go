//go:build !linux

package confine

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/machine"
)

// DefaultMapping is empty here: nothing is mapped.
func DefaultMapping() Mapping { return Mapping{} }

func (r *Renderer) start(*fit.Plan, *exec.Cmd) (*Process, error) {
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

func newFence(*fit.Plan) (*fence, error) { return nil, nil }

func (*fence) here() bool { return false }

func (*fence) signal(syscall.Signal) bool { return false }

func try(context.Context) machine.Attempt {
	return machine.Attempt{Step: machine.StepClone, Errno: int(syscall.ENOSYS)}
}
