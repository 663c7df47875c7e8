//go:build !darwin && !windows

package jptool

// Fold returns a path in the form in which rules and targets are compared. Names that differ in case are different
// here.
func Fold(path string) string { return path }
