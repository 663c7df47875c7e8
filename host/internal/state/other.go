//go:build !unix

package state

import "io/fs"

// terminalSession takes what Windows Terminal calls its session.
func terminalSession(getenv func(string) string) string { return getenv("WT_SESSION") }

// owner tells nothing: profile directories on Windows are closed to others by their ACL,
// which is not examined here.
func owner(fs.FileInfo) (uid uint32, foreign bool) { return 0, false }
