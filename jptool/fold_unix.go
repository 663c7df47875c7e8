//go:build !darwin && !windows

package jptool

// foldKey: names that differ in case are different here.
func foldKey(path string) string { return path }
