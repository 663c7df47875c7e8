package undo

import (
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// attributesMost bounds the extended attributes of a file that are kept, in bytes.
const attributesMost = 64 << 10

// attributes are the extended attributes of a file that its user can set: `user.*` and access lists. What cannot be read
// is left out.
func attributes(f *os.File) map[string][]byte {
	n, err := unix.Flistxattr(int(f.Fd()), nil)
	if n <= 0 || err != nil || n > attributesMost {
		return nil
	}
	buf := make([]byte, n)
	if n, err = unix.Flistxattr(int(f.Fd()), buf); err != nil {
		return nil
	}
	all, total := map[string][]byte{}, 0
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:max(n, 0)]), "\x00"), "\x00") {
		if !strings.HasPrefix(name, "user.") && name != "system.posix_acl_access" {
			continue
		}
		n, err := unix.Fgetxattr(int(f.Fd()), name, nil)
		if total += n; err != nil || total > attributesMost {
			continue
		}
		value := make([]byte, n)
		if n, err = unix.Fgetxattr(int(f.Fd()), name, value); err == nil {
			all[name] = value[:n]
		}
	}
	return all
}

func setAttributes(f *os.File, all map[string][]byte) {
	for name, value := range all {
		_ = unix.Fsetxattr(int(f.Fd()), name, value, 0)
	}
}

// clone makes the content of a file that of another without copying it, if the file system can.
func clone(to, from *os.File) bool {
	return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) == nil
}
