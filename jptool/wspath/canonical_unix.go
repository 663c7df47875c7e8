//go:build !windows

package wspath

func isNotReparsePoint(error) bool { return false }
