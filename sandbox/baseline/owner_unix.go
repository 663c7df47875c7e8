//go:build unix

package baseline

import (
	"io/fs"
	"os"
	"syscall"
)

// administrators reports whether a file belongs to the superuser, and this process to somebody else.
func administrators(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && st.Uid == 0 && os.Geteuid() != 0
}
