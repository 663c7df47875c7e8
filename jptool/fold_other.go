//go:build darwin || windows

package jptool

import "strings"

// foldKey makes rules and targets compare as the usual file systems here do: `.ENV`
// opens `.env`, so a rule on the one is a rule on the other.
func foldKey(path string) string { return strings.ToLower(path) }
