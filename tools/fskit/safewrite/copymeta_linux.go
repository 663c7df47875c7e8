package safewrite

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// copyMeta is CopyAttributes.
func copyMeta(from, to *os.File) error {
	fi, err := from.Stat()
	if err != nil {
		return err
	}
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	mode := fi.Mode()
	owned := to.Chown(int(st.Uid), int(st.Gid)) == nil
	if !owned {
		mode &^= fs.ModeSetuid | fs.ModeSetgid
		_ = to.Chown(-1, int(st.Gid))
	}
	copyXattrs(int(from.Fd()), int(to.Fd()), owned)
	if err := to.Chmod(mode); err != nil {
		return err
	}
	times := []unix.Timespec{unix.Timespec(st.Atim), unix.Timespec(st.Mtim)}
	if unix.UtimesNanoAt(int(to.Fd()), "", times, unix.AT_EMPTY_PATH) != nil {
		// An old kernel; microseconds have to do.
		_ = unix.Futimes(int(to.Fd()), []unix.Timeval{unix.NsecToTimeval(times[0].Nano()), unix.NsecToTimeval(times[1].Nano())})
	}
	return nil
}

func copyXattrs(from, to int, owned bool) {
	names, err := xattrNames(from)
	if err != nil {
		return
	}
	for name := range names {
		if name == "security.capability" && !owned {
			continue
		}
		if value, err := xattr(from, name); err == nil {
			_ = unix.Fsetxattr(to, name, value, 0)
		}
	}
}
