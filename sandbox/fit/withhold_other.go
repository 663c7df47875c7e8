//go:build !linux

package fit

import "context"

// walk finds nothing: on this system nothing is enforced that would need it.
func (s *scan) walk(context.Context) error { return nil }
