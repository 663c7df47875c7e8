//go:build !linux

package grants

import (
	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/term"
)

// Start refuses: nothing can observe here what a program is refused.
func (l *Learn) Start(_ *Process, _ []string, _ func() term.Prompter) error {
	if err := l.check(); err != nil {
		return err
	}
	return enforcement.Explainable(true)
}
