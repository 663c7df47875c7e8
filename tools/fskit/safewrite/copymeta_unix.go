//go:build unix && !linux

package safewrite

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// copyMeta is CopyAttributes. Extended attributes are not copied here.
func copyMeta(from, to *os.File) error {
	fi, err := from.Stat()
	if err != nil {
		return err
	}
	mode := fi.Mode()
	if st, ok := fi.Sys().(*syscall.Stat_t); !ok || to.Chown(int(st.Uid), int(st.Gid)) != nil {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
	}
	if err := to.Chmod(mode); err != nil {
		return err
	}
	at := unix.NsecToTimeval(fi.ModTime().UnixNano())
	_ = unix.Futimes(int(to.Fd()), []unix.Timeval{at, at})
	return nil
}
