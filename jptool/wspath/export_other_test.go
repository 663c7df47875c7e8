//go:build !linux

package wspath

// ForcePortable does nothing: the portable backend is the only one here.
func ForcePortable(bool) (restore func()) { return func() {} }
