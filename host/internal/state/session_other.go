//go:build !linux && !darwin

package state

// terminalSession takes what Windows Terminal calls its session.
func terminalSession(getenv func(string) string) string { return getenv("WT_SESSION") }
