package wspath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// ErrDangling: a symlink on the way leads to something that does not exist.
var ErrDangling = errors.New("a symlink on the way leads to a missing target")

// ErrLoop: too many symlinks on the way.
var ErrLoop = errors.New("too many symlinks on the way")

// maxLinks is the kernel's own limit.
const maxLinks = 40

// Canonical is the result of resolving a path.
type Canonical struct {
	// Abs is the absolute path, slash-separated, without symlinks. Components that do not exist
	// are appended as given. After an error it is where resolution was heading, for
	// judging who may learn of the error.
	Abs string
	// Missing says that at least the last component does not exist.
	Missing bool
	// Hops are the symlinks followed on the way, in order.
	Hops []Hop
}

// Hop is a symlink that a resolution followed.
type Hop struct {
	// Entry is the canonical absolute path of the link itself.
	Entry string
	// Path is where the resolution would have ended without any further link: Entry
	// and what was left to walk.
	Path string
	// Text is what the link says.
	Text string
}

// CanonicalizeAbs resolves an absolute path that the host names, such as that of one of its
// own files, as [Canonicalize] does below a root: also where nothing is there yet, the
// longest part that exists is resolved and the rest appended. A nil readlink means the file system.
func CanonicalizeAbs(abs string, readlink Readlink) (Canonical, error) {
	clean := filepath.ToSlash(filepath.Clean(filepath.FromSlash(abs)))
	vol := filepath.VolumeName(clean)
	rel, err := Parse(strings.TrimLeft(clean[len(vol):], "/"))
	if err != nil {
		return Canonical{}, err
	}
	return Canonicalize(vol+"/", rel, false, readlink)
}

// Follow resolves an absolute path with slashes as it is written: `..` after a symlink is the directory above its
// target, as for the kernel.
func Follow(abs string, readlink Readlink) (Canonical, error) {
	w := walk{readlink: readlink}
	w.push(abs, false)
	return w.run(false)
}

// Readlink returns the target of a symlink. It returns an error wrapping EINVAL for
// what is no symlink, fs.ErrNotExist for what is missing.
type Readlink func(absPath string) (string, error)

// Once returns a Readlink that asks the file system only once about each path: for many paths
// that are resolved together, and that should be judged by the same state of the tree. It is not for use
// by several goroutines.
func Once() Readlink {
	type answer struct {
		target string
		err    error
	}
	known := map[string]answer{}
	return func(path string) (string, error) {
		a, ok := known[path]
		if !ok {
			a.target, a.err = os.Readlink(path)
			known[path] = a
		}
		return a.target, a.err
	}
}

// Canonicalize resolves rel below root, which must be canonical itself, as the kernel
// would: symlinks are followed wherever they lead, also outside root; the caller
// judges the result. With entry set the last component is kept as named, so that the result is a
// directory entry and not what it links to. A nil readlink means the file system.
//
// A missing component ends the resolution and what follows is appended, unless a
// symlink led there: then the error wraps ErrDangling. The result is a statement about
// the past; only a [Dir] makes it hold for an operation.
func Canonicalize(root string, rel Rel, entry bool, readlink Readlink) (Canonical, error) {
	if readlink == nil {
		readlink = os.Readlink
	}
	w := walk{readlink: readlink, abs: strings.TrimSuffix(root, "/")}
	w.push(rel.s, false)
	return w.run(entry)
}

// step is a component still to be walked.
type step struct {
	name string
	// linked: a symlink's text brought it up, the caller did not name it.
	linked bool
}

type walk struct {
	readlink Readlink
	abs      string // canonical so far, no trailing slash; "" is the file system's root
	todo     []step // in reverse order
	hops     []Hop
}

func (w *walk) push(path string, linked bool) {
	for path != "" {
		i := strings.LastIndexByte(path, '/')
		if name := path[i+1:]; name != "" && name != "." {
			w.todo = append(w.todo, step{name, linked})
		}
		path = path[:max(i, 0)]
	}
}

func (w *walk) run(entry bool) (Canonical, error) {
	for len(w.todo) > 0 {
		next := w.todo[len(w.todo)-1]
		w.todo = w.todo[:len(w.todo)-1]
		if next.name == ".." {
			// In a symlink's text, or for Follow: physical, as in the kernel.
			w.abs = w.abs[:max(strings.LastIndexByte(w.abs, '/'), 0)]
			continue
		}
		here := w.abs + "/" + next.name
		if entry && len(w.todo) == 0 && !next.linked {
			// The entry itself: whether it exists is for the operation to find out.
			w.abs = here
			break
		}
		target, err := w.readlink(filepath.FromSlash(here))
		switch {
		case err == nil:
			w.hops = append(w.hops, Hop{Entry: here, Path: w.ahead(next), Text: target})
			if len(w.hops) > maxLinks {
				return w.heading(next), ErrLoop
			}
			if err := w.follow(target); err != nil {
				return w.heading(next), err
			}
		case isNoLink(err):
			w.abs = here
		case errors.Is(err, fs.ErrNotExist):
			if next.linked {
				return w.heading(next), ErrDangling
			}
			c := w.heading(next)
			c.Missing = true
			return c, nil
		default:
			return w.heading(next), fmt.Errorf("resolving the path: %w", Bare(err))
		}
	}
	if w.abs == "" {
		w.abs = "/"
	}
	return Canonical{Abs: w.abs, Hops: w.hops}, nil
}

func (w *walk) follow(target string) error {
	target = filepath.ToSlash(target)
	if target == "" {
		return ErrDangling
	}
	if vol := filepath.VolumeName(target); vol != "" || strings.HasPrefix(target, "/") {
		w.abs = vol
		target = target[len(vol):]
	}
	w.push(target, true)
	return nil
}

// heading is where the walk would have ended if everything left simply existed.
func (w *walk) heading(next step) Canonical {
	return Canonical{Abs: w.ahead(next), Hops: w.hops}
}

// ahead is the path of next, here, with everything left to walk below it.
func (w *walk) ahead(next step) string {
	abs := w.abs + "/" + next.name
	for i := len(w.todo) - 1; i >= 0; i-- {
		if w.todo[i].name == ".." {
			abs = abs[:max(strings.LastIndexByte(abs, '/'), 0)]
			continue
		}
		abs += "/" + w.todo[i].name
	}
	if abs == "" {
		return "/"
	}
	return abs
}

// notReparsePoint is ERROR_NOT_A_REPARSE_POINT of Windows.
const notReparsePoint = syscall.Errno(4390)

// isNoLink recognises readlink's answer for a file or directory.
func isNoLink(err error) bool {
	return errors.Is(err, syscall.EINVAL) || runtime.GOOS == "windows" && errors.Is(err, notReparsePoint)
}

// Bare returns the cause of a file-system error without the absolute paths that os errors carry: messages to a
// model name workspace-relative paths only. The cause of nil is nil.
func Bare(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &le):
		return le.Err
	case errors.As(err, &pe):
		return pe.Err
	}
	return err
}

// CanonicalRoot resolves a directory named by the host, such as the workspace root.
func CanonicalRoot(root string) (string, error) {
	abs, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", err
	}
	return filepath.ToSlash(filepath.Clean(abs)), nil
}
