package mount

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"unicode/utf16"

	"github.com/jptools/jptools/jptool/wspath"
)

// Target is something that exists.
type Target struct {
	// Abs is its canonical path.
	Abs string
	// Dir: it is a directory. File: a regular file. Neither is true for a device, a FIFO or a socket.
	Dir, File bool
}

// Kind is what stands at an entry.
type Kind int

// The kinds of entries.
const (
	Missing Kind = iota
	Symlink      // or a junction on Windows
	Other
)

// Entry is a directory entry of the workspace.
type Entry struct {
	// Path is the entry's own path with its directory resolved: different spellings
	// of one entry are one.
	Path wspath.Rel
	Kind Kind
	// Text is what a symlink says, Target the canonical path that it leads to, "" when
	// it leads nowhere.
	Text, Target string
}

// System looks at the real file system, for the workspace at the canonical path Root.
type System struct{ Root string }

// Target resolves an absolute path with slashes to its canonical form. An error wrapping fs.ErrNotExist means
// that it does not exist. `..` after a symlink goes to the parent of where the link leads, as the kernel reads it.
func (s System) Target(abs string) (Target, error) {
	real, err := filepath.EvalSymlinks(filepath.FromSlash(abs))
	if err != nil {
		return Target{}, wspath.Bare(err)
	}
	// EvalSymlinks leaves junctions of Windows alone.
	to, err := wspath.CanonicalizeAbs(real, nil)
	if err != nil {
		return Target{}, err
	}
	fi, err := os.Lstat(filepath.FromSlash(to.Abs))
	if err != nil {
		return Target{}, wspath.Bare(err)
	}
	return Target{Abs: to.Abs, Dir: fi.IsDir(), File: fi.Mode().IsRegular()}, nil
}

// Entry describes the directory entry at a path of the workspace. It is an error if
// the entry's directory lies outside the workspace or cannot be resolved.
func (s System) Entry(rel wspath.Rel) (Entry, error) {
	c, err := wspath.Canonicalize(s.Root, rel, true, nil)
	if err != nil {
		return Entry{}, err
	}
	below, ok := wspath.WithinAbs(s.Root, c.Abs)
	if !ok {
		return Entry{}, errors.New("its directory leads outside the workspace")
	}
	path, err := wspath.Parse(below)
	if err != nil {
		return Entry{}, err
	}
	e := Entry{Path: path}
	at := filepath.FromSlash(c.Abs)
	if _, err := os.Lstat(at); errors.Is(err, fs.ErrNotExist) {
		return e, nil
	} else if err != nil {
		return Entry{}, fmt.Errorf("looking at it: %w", wspath.Bare(err))
	}
	e.Kind = Other
	// Junctions are no symlinks to Lstat, but Readlink reads both.
	if e.Text, err = os.Readlink(at); err == nil {
		e.Kind = Symlink
		if t, err := wspath.Canonicalize(s.Root, path, false, nil); err == nil && !t.Missing {
			e.Target = t.Abs
		}
	}
	return e, nil
}

// junctionBuffer is the REPARSE_DATA_BUFFER of a mount point that leads to an absolute directory
// path. It is written byte by byte here, where it can be tested on any system.
func junctionBuffer(target string) []byte {
	substitute := utf16.Encode([]rune(`\??\` + target))
	shown := utf16.Encode([]rune(target))
	names := slices.Concat(substitute, []uint16{0}, shown, []uint16{0})
	bytes := func(units []uint16) uint16 { return uint16(2 * len(units)) }
	header := []uint16{
		0x0003, 0xA000, // IO_REPARSE_TAG_MOUNT_POINT
		8 + bytes(names), 0, // what follows; reserved
		0, bytes(substitute), // substitute name: offset and length
		bytes(substitute) + 2, bytes(shown), // print name
	}
	var b []byte
	for _, unit := range append(header, names...) {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}
