package walk

import (
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// portable forces the implementation that every platform has; tests set it.
var portable = false

// dir is a directory held open. Names are single components.
type dir interface {
	// read appends the entries to l, without "." and "..".
	read(l *listing) error
	// kindOf looks at an entry.
	kindOf(name string) (kind, error)
	openFile(name string, f *File) error
	// same reports whether it is the directory that fi describes.
	same(fi fs.FileInfo) bool
	close()
}

// File is an open file of the walk. The zero value can be opened into, and again after
// it was closed.
type File struct {
	f  *os.File
	fd int // where f is nil
}

// portableDir is the implementation for every platform, on a [wspath.Dir]. It also takes what
// cannot be listed, and turns into a faster one where there is one.
type portableDir struct {
	d *wspath.Dir
	// listed is d opened for listing.
	listed *os.File
}

// maxPath is how much of a path is handed to the kernel in one piece.
const maxPath = 3500

// openPath opens what lies at a path of any length below a held directory.
func openPath(d *wspath.Dir, path string, list bool) (dir, error) {
	owned := false
	for len(path) > maxPath {
		cut := strings.LastIndexByte(path[:maxPath], '/')
		next, err := d.Sub(path[:cut])
		if owned {
			d.Close()
		}
		if err != nil {
			return nil, err
		}
		d, owned, path = next, true, path[cut+1:]
	}
	if owned {
		defer d.Close()
	}
	if list && !portable {
		f, err := d.OpenDirFile(path)
		if err != nil {
			return nil, err
		}
		if fast := fastDir(f); fast != nil {
			return fast, nil
		}
		f.Close()
	}
	next, err := d.Sub(path)
	if err != nil {
		return nil, err
	}
	h := &portableDir{d: next}
	if list {
		if h.listed, err = next.OpenDirFile(""); err != nil {
			next.Close()
			return nil, err
		}
	}
	return h, nil
}

func (h *portableDir) read(l *listing) error {
	for {
		entries, err := h.listed.ReadDir(1024)
		for _, e := range entries {
			l.add([]byte(e.Name()), kindOfMode(e.Type()))
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (h *portableDir) kindOf(name string) (kind, error) {
	fi, err := h.d.Lstat(name)
	if err != nil {
		return kindMissing, err
	}
	return kindOfMode(fi.Mode().Type()), nil
}

func kindOfMode(mode fs.FileMode) kind {
	switch {
	case mode == 0:
		return kindFile
	case mode.IsDir():
		return kindDir
	case mode&fs.ModeSymlink != 0:
		return kindLink
	}
	return kindOther
}

func (h *portableDir) openFile(name string, f *File) (err error) {
	f.f, err = h.d.Open(name)
	return err
}

func (h *portableDir) same(fi fs.FileInfo) bool {
	own, err := h.d.Lstat("")
	return err == nil && os.SameFile(own, fi)
}

func (h *portableDir) close() {
	if h.listed != nil {
		h.listed.Close()
	}
	h.d.Close()
}

// Compare orders paths as the walk does: component by component, bytes by value, so that
// all of a directory comes together (`a/b` before `a.b`).
func Compare(a, b string) int {
	// The end of a component comes before every byte in it.
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// kind is what an entry is.
type kind uint8

const (
	kindOther kind = iota
	kindFile
	kindDir
	kindLink
	kindMissing
	kindUnknown
)

// item is an entry of a directory.
type item struct {
	path, name string
	kind       kind
}

// listing is what is read of one directory. It is reused for the next one.
type listing struct {
	prefix string // of paths: the directory and a slash
	items  []item
	buf    []byte // for the system call
}

func (l *listing) reset(dir string) {
	l.prefix, l.items = dir, l.items[:0]
	if dir != "" {
		l.prefix += "/"
	}
}

func (l *listing) add(name []byte, k kind) {
	path := l.prefix + string(name)
	l.items = append(l.items, item{path, path[len(l.prefix):], k})
}

// sort puts the items into byte order of their names.
func (l *listing) sort() {
	slices.SortFunc(l.items, func(a, b item) int { return strings.Compare(a.name, b.name) })
}
