package baseline

import (
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/sandbox/fit"
)

// tree is a file system; tests put one below another root. All paths that go in and come out
// are of the tree itself.
type tree struct{ root string }

// maxLinks is how many links the kernel follows on one way.
const maxLinks = 40

// place is where a path leads to.
type place struct {
	fit.Node
	mode uint32
	// links are those on the way, in order.
	links []Link
}

// way resolves a path, which must be absolute, noting every link.
func (t tree) way(path string) (*place, error) {
	p := &place{}
	rest, at := path, ""
	var st unix.Stat_t
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = at[:max(0, strings.LastIndexByte(at, '/'))]
			continue
		}
		next := at + "/" + name
		if err := t.lstat(next, &st); err != nil {
			return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
		}
		if st.Mode&unix.S_IFMT != unix.S_IFLNK {
			at = next
			continue
		}
		target, err := os.Readlink(t.root + next)
		if err != nil {
			return nil, &fs.PathError{Op: "readlink", Path: path, Err: unix.EIO}
		}
		if len(p.links) == maxLinks {
			return nil, &fs.PathError{Op: "readlink", Path: path, Err: unix.ELOOP}
		}
		p.links = append(p.links, Link{next, target, node(next, &st).ID})
		if strings.HasPrefix(target, "/") {
			at = ""
		}
		rest = target + "/" + rest
	}
	if at == "" {
		at = "/"
	}
	// What was looked at last may be a link, or what ".." led away from.
	if err := t.lstat(at, &st); err != nil {
		return nil, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	p.Node, p.mode = node(at, &st), st.Mode
	return p, nil
}

func (t tree) lstat(path string, st *unix.Stat_t) error {
	for {
		if err := unix.Lstat(t.root+path, st); err != unix.EINTR {
			return err
		}
	}
}

func node(path string, st *unix.Stat_t) fit.Node {
	n := fit.Node{Path: path, Kind: fit.Special, ID: fit.ID{Dev: uint64(st.Dev), Ino: st.Ino}} //nolint:unconvert // 32 bits on some architectures
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		n.Kind = fit.Dir
	case unix.S_IFREG:
		n.Kind = fit.File
	case unix.S_IFLNK:
		n.Kind = fit.Link
	}
	return n
}

// under: path is dir or lies below it.
func under(path, dir string) bool {
	return strings.HasPrefix(path, dir) && (len(path) == len(dir) || path[len(dir)] == '/' || dir == "/")
}
