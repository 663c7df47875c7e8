package linux

import (
	"bytes"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// changed are the errors that say that a path is not what it was: something is missing, is no directory any more,
// or is a link now.
func changed(err error) bool {
	return err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP || err == unix.EXDEV
}

// openPath opens a canonical path for rules and mounts, as [fit.OpenEntry] does. The plan was made from paths without
// links, so a link in it means that somebody has put it there since: the rule would be on whatever it leads to.
func openPath(root int, path string) (int, *unix.Stat_t, error) {
	fd, err := fit.OpenEntry(root, path)
	if changed(err) {
		return -1, nil, &failure.Error{Kind: failure.Changed, Path: path}
	}
	if err != nil {
		return -1, nil, failure.At(failure.Failed, "opening", path, err)
	}
	st := &unix.Stat_t{}
	if err := unix.Fstat(fd, st); err != nil {
		_ = unix.Close(fd)
		return -1, nil, failure.At(failure.Failed, "looking at", path, err)
	}
	return fd, st, nil
}

// openNode opens a node of the plan and makes sure that it is the same object as before: the rights in the plan were
// worked out for that object, and another one at its path may be somebody's trap.
func openNode(root int, n *fit.Node) (int, error) {
	fd, st, err := openPath(root, n.Path)
	if err == nil && (fit.ID{Dev: st.Dev, Ino: st.Ino}) != n.ID {
		_ = unix.Close(fd)
		return -1, &failure.Error{Kind: failure.Changed, Path: n.Path}
	}
	return fd, err
}

// openDevice opens a character device. It is not compared with anything: /dev may be made anew at any time.
func openDevice(path string) (int, error) {
	fd, st, err := openPath(unix.AT_FDCWD, path)
	if failure.Is(err, failure.Changed) {
		return -1, failure.NoDevice(path)
	}
	if err == nil && st.Mode&unix.S_IFMT != unix.S_IFCHR {
		_ = unix.Close(fd)
		return -1, &failure.Error{Kind: failure.Failed, Step: path + " is not a character device"}
	}
	return fd, err
}

// readLink returns where a link of the plan leads, if it is still the same link.
func readLink(n *fit.Node) (string, error) {
	fd, err := openNode(unix.AT_FDCWD, n)
	if err != nil {
		return "", err
	}
	defer func() { _ = unix.Close(fd) }()
	var b [unix.PathMax]byte
	size, err := unix.Readlinkat(fd, "", b[:])
	return string(b[:max(size, 0)]), failure.At(failure.Failed, "reading the link", n.Path, err)
}

// Watcher looks whether the covers and pins of the private tree are where they were put. What somebody outside does
// to an entry of the host's tree undoes what is mounted on it: deleting or replacing it removes the mount, and
// renaming it, or a directory that holds it, takes the mount along, away from its path.
type Watcher struct {
	file  *os.File
	paths []string // as the kernel writes them
}

// Watch begins to watch the mounts of this process, which must be on these paths; nil if there are none.
func Watch(paths []string) (*Watcher, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	w := &Watcher{}
	for _, p := range paths {
		w.paths = append(w.paths, escape.Replace(p))
	}
	var err error
	w.file, err = os.Open("/proc/self/mountinfo")
	return w, failure.At(failure.Failed, "watching the private tree", "", err)
}

// Lost returns a path that has nothing mounted on it any more, or nothing. A list of mounts that cannot be read
// counts as lost.
func (w *Watcher) Lost() string {
	if w == nil {
		return ""
	}
	var list []byte
	_, err := w.file.Seek(0, io.SeekStart)
	if err == nil {
		list, err = io.ReadAll(w.file)
	}
	if err != nil {
		return unescape.Replace(w.paths[0])
	}
	mounted := map[string]bool{}
	for line := range bytes.Lines(list) {
		if f := bytes.SplitN(line, []byte(" "), 6); len(f) == 6 { // id, parent, device, root, and where it is mounted
			mounted[string(f[4])] = true
		}
	}
	for _, p := range w.paths {
		if !mounted[p] {
			return unescape.Replace(p)
		}
	}
	return ""
}

// In lists of mounts the kernel writes these characters in octal.
var (
	escape   = strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`)
	unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
)
