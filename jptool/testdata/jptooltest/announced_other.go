//go:build !linux

package jptooltest

// Announced reports whether calls of this process are announced to a sandbox around it, which Linux alone has.
func Announced() bool { return false }
