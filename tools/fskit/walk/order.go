package walk

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

// Compare orders paths as the walk does: component by component, bytes by value, so that
// all of a directory comes together (`a/b` before `a.b`).
func Compare(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		// The end of a component comes before every byte in it.
		if x == '/' {
			return -1
		}
		if y == '/' {
			return 1
		}
		return cmp.Compare(x, y)
	}
	return cmp.Compare(len(a), len(b))
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

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

// item is an entry of a directory; its name is listing.names[off:off+n].
type item struct {
	key  uint64
	off  uint32
	n    uint16
	kind kind
}

// listing is what is read of one directory. It is reused for the next one.
type listing struct {
	buf   []byte // for the system call
	names []byte
	items []item
}

func (l *listing) reset() { l.names, l.items = l.names[:0], l.items[:0] }

func (l *listing) add(name []byte, k kind) {
	l.items = append(l.items, item{off: uint32(len(l.names)), n: uint16(len(name)), kind: k})
	l.names = append(l.names, name...)
}

func (l *listing) name(it item) []byte { return l.names[it.off : it.off+uint32(it.n)] }

// sort puts the items into byte order of their names. Names in one directory often begin
// alike, so the keys are the eight bytes after what is common to all.
func (l *listing) sort() {
	if len(l.items) < 2 {
		return
	}
	first := l.name(l.items[0])
	common := len(first)
	for _, it := range l.items[1:] {
		name := l.name(it)
		common = min(common, len(name))
		for i := range common {
			if name[i] != first[i] {
				common = i
				break
			}
		}
	}
	for i := range l.items {
		var key [8]byte
		copy(key[:], l.name(l.items[i])[common:])
		l.items[i].key = binary.BigEndian.Uint64(key[:])
	}
	slices.SortFunc(l.items, func(a, b item) int {
		if a.key != b.key {
			if a.key < b.key {
				return -1
			}
			return 1
		}
		return bytes.Compare(l.name(a), l.name(b))
	})
}
