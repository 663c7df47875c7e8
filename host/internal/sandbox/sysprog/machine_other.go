//go:build !linux || !(amd64 || arm64)

package sysprog

import "errors"

// Exec returns errors.ErrUnsupported here.
func (p *Program) Exec(uintptr) (int, error) { return 0, errors.ErrUnsupported }

// Fork returns errors.ErrUnsupported here.
func (p *Program) Fork(uintptr, int) (int, error) { return 0, errors.ErrUnsupported }

// Await returns errors.ErrUnsupported here.
func (p *Program) Await(int) error { return errors.ErrUnsupported }

// Reap does nothing here: nothing was started.
func Reap(int) {}
