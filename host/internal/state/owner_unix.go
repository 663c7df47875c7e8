//go:build unix

package state

import (
	"io/fs"
	"os"
	"syscall"
)

// euid is a variable so that tests can be somebody else.
var euid = os.Geteuid

// owner returns the owner of a file and whether that is not us; false for file
// systems without owners.
func owner(fi fs.FileInfo) (uid uint32, foreign bool) {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok || st == nil {
		return 0, false
	}
	return st.Uid, int64(st.Uid) != int64(euid())
}
