package confine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// watcher looks whether the covers and pins of a private tree are where they were put. What
// somebody outside does to an entry of the host's tree undoes what is mounted on it: deleting or
// replacing it removes the mount, and renaming it, or a directory that holds it, takes the
// mount along, away from its path.
type watcher struct {
	fd    int
	paths []string
	buf   []byte
}

// watch makes a watcher for what was mounted in the private tree of pid, or nil if there is
// nothing to lose. It can be used after the death of pid.
func watch(pid int, covers []place) (*watcher, error) {
	w := &watcher{}
	for i := range covers {
		if covers[i].mounted {
			w.paths = append(w.paths, escape(covers[i].Path))
		}
	}
	if len(w.paths) == 0 {
		return nil, nil
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/mountinfo", pid), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("watching the private tree: %w", err)
	}
	w.fd = fd
	return w, nil
}

// lost returns a path that has nothing mounted on it any more, or nothing. A list of mounts that
// cannot be read counts as lost.
func (w *watcher) lost() string {
	if _, err := unix.Seek(w.fd, 0, 0); err != nil {
		return unescape(w.paths[0])
	}
	w.buf = w.buf[:0]
	for {
		if len(w.buf) == cap(w.buf) {
			w.buf = append(w.buf, make([]byte, max(4096, len(w.buf)))...)[:len(w.buf)]
		}
		n, err := unix.Read(w.fd, w.buf[len(w.buf):cap(w.buf)])
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return unescape(w.paths[0])
		}
		w.buf = w.buf[:len(w.buf)+n]
		if n == 0 {
			break
		}
	}
	missing := slices.Clone(w.paths)
	for rest := w.buf; len(rest) > 0; {
		var line []byte
		line, rest, _ = bytes.Cut(rest, newline)
		on := mountedOn(line)
		missing = slices.DeleteFunc(missing, func(p string) bool { return p == string(on) })
	}
	if len(missing) == 0 {
		return ""
	}
	return unescape(missing[0])
}

var newline, space = []byte{'\n'}, []byte{' '}

// mountedOn is the fifth field of a line of mountinfo, after id, parent, device and root.
func mountedOn(line []byte) (field []byte) {
	for range 5 {
		field, line, _ = bytes.Cut(line, space)
	}
	return field
}

func (w *watcher) close() { _ = unix.Close(w.fd) }

// escape writes a path as the kernel does in lists of mounts.
func escape(p string) string {
	if !strings.ContainsAny(p, " \t\n\\") {
		return p // almost always, and a replacer is not made for nothing
	}
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(p)
}

func unescape(p string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(p)
}
