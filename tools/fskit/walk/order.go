package walk

import (
	"slices"
	"strings"
)

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
