//go:build darwin || windows

package jptool

import "strings"

// Fold returns a path in the form in which rules and targets are compared, as the usual file systems here compare
// names: `.ENV` opens `.env`, so a rule on the one is a rule on the other.
func Fold(path string) string { return strings.ToLower(path) }
