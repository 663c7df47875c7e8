package gitstate

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// maxIndex bounds the index file: some three million entries.
const maxIndex = 512 << 20

// Modes as they stand in the index and in trees.
const (
	modeFile    = 0o100644
	modeExec    = 0o100755
	modeSymlink = 0o120000
	modeGitlink = 0o160000
	modeTree    = 0o040000
	modeType    = 0o170000
)

// indexEntry is one entry of the index. Times, size, owner and inode are skipped on purpose: they prove nothing.
type indexEntry struct {
	name string
	mode uint32
	id   oid

	conflict     bool // stage is not 0
	assumeValid  bool
	skipWorktree bool
	intentToAdd  bool
}

// indexError says what is wrong with an index.
type indexError string

func (e indexError) Error() string { return string(e) }

const (
	errIndex     = indexError("the index is malformed")
	errIndexSize = indexError("the index is too large")
	errIndexName = indexError("the index holds a name that is too long")
	errSparse    = indexError("the index is sparse")
)

const (
	indexHeader = 12
	statLen     = 40 // what precedes the object id in an entry
	// maxEntry is more than any entry takes: stat data, id, flags, name, padding.
	maxEntry = statLen + 32 + 4 + 10 + maxPath + 16
)

// This reader is our own because go-git's decodes every entry into memory (90 ms for 80 000 entries, here 8),
// knows SHA-1 only and drops the assume-unchanged bit.

// scanIndex calls visit for every entry of an index file of size bytes, in order. An error may come after
// the last call, as the checksum stands at the end; whatever visit gathered is void then. Memory does not
// depend on what the file claims.
func scanIndex(f io.ReaderAt, size int64, a algo, visit func(*indexEntry) error) error {
	if size > maxIndex {
		return errIndexSize
	}
	body := size - int64(a.size)
	if body < indexHeader {
		return errIndex
	}
	var sum oid
	if _, err := f.ReadAt(sum[:a.size], body); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	h := a.new()
	in := io.TeeReader(io.NewSectionReader(f, 0, body), h)
	s := &indexScanner{in: bufio.NewReaderSize(in, 128<<10), algo: a}
	var head [indexHeader]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return err
	}
	if string(head[:4]) != "DIRC" {
		return errIndex
	}
	if s.version = binary.BigEndian.Uint32(head[4:]); s.version < 2 || s.version > 4 {
		return indexError("the index has a version that we do not know")
	}
	for range binary.BigEndian.Uint32(head[8:]) {
		e, err := s.entry()
		if err != nil {
			return err
		}
		if err := visit(e); err != nil {
			return err
		}
	}
	if err := s.extensions(); err != nil {
		return err
	}
	if sum != (oid{}) && a.sum(h) != sum { // zeroes: written with index.skipHash
		return indexError("the index has a wrong checksum")
	}
	return nil
}

type indexScanner struct {
	in   *bufio.Reader
	algo algo

	version   uint32
	prev      string // the name before, for the order and for version 4
	prevStage byte
}

// peek returns the next n bytes, or fewer at the end of the file.
func (s *indexScanner) peek(n int) ([]byte, error) {
	b, err := s.in.Peek(n)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return b, err
}

// entry decodes the next entry.
func (s *indexScanner) entry() (*indexEntry, error) {
	b, err := s.peek(maxEntry)
	if err != nil {
		return nil, err
	}
	h := statLen + s.algo.size
	if len(b) < h+4 {
		return nil, errIndex
	}
	e := &indexEntry{mode: binary.BigEndian.Uint32(b[24:])}
	copy(e.id[:], b[statLen:h])
	flags := binary.BigEndian.Uint16(b[h:])
	stage := byte(flags >> 12 & 3)
	e.conflict, e.assumeValid = stage != 0, flags&0x8000 != 0
	n := h + 2
	if flags&0x4000 != 0 {
		if s.version < 3 {
			return nil, errIndex
		}
		more := binary.BigEndian.Uint16(b[n:])
		e.skipWorktree, e.intentToAdd = more&0x4000 != 0, more&0x2000 != 0
		n += 2
	}

	if s.version < 4 {
		length := int(flags & 0xfff)
		if length == 0xfff { // or longer
			if length = bytes.IndexByte(b[n:], 0); length < 0 {
				return nil, noEnd(b)
			}
		}
		if n+length >= len(b) || b[n+length] != 0 {
			return nil, errIndex
		}
		e.name = string(b[n : n+length])
		n = (n + length + 8) &^ 7
		if n > len(b) {
			return nil, errIndex
		}
	} else {
		strip, used := offsetVarint(b[n:])
		if used == 0 || strip > uint64(len(s.prev)) {
			return nil, errIndex
		}
		n += used
		length := bytes.IndexByte(b[n:], 0)
		if length < 0 {
			return nil, noEnd(b)
		}
		e.name = s.prev[:len(s.prev)-int(strip)] + string(b[n:n+length])
		n += length + 1
	}
	switch {
	case e.name == "" || strings.Contains(e.name, "\x00"):
		return nil, errIndex
	case len(e.name) > maxPath:
		return nil, errIndexName
	case e.mode&modeType == modeTree:
		return nil, errSparse
	}
	if order := strings.Compare(s.prev, e.name); order > 0 || order == 0 && s.prevStage >= stage {
		return nil, errIndex // not sorted: we could have missed the entry we are looking for
	}
	s.prev, s.prevStage = e.name, stage
	_, err = s.in.Discard(n)
	return e, err
}

// noEnd returns the error for a name without an end: the file is truncated, or the name is longer than allowed.
func noEnd(entry []byte) error {
	if len(entry) < maxEntry {
		return errIndex
	}
	return errIndexName
}

// extensions walks over what follows the entries. Names with a capital letter are optional and skipped.
func (s *indexScanner) extensions() error {
	for {
		head, err := s.peek(8)
		if err != nil || len(head) == 0 {
			return err
		}
		if len(head) < 8 {
			return errIndex
		}
		switch name := string(head[:4]); {
		case name == "link":
			return indexError("the index is split")
		case name == "sdir":
			return errSparse
		case name[0] < 'A' || name[0] > 'Z':
			return indexError("the index has an extension that we do not know")
		}
		size := 8 + int64(binary.BigEndian.Uint32(head[4:]))
		if _, err := io.CopyN(io.Discard, s.in, size); errors.Is(err, io.EOF) {
			return errIndex
		} else if err != nil {
			return err
		}
	}
}

// offsetVarint decodes the number format of version 4 names and of delta offsets. used is 0 if b ends too
// early or the number is too large.
func offsetVarint(b []byte) (v uint64, used int) {
	for i, c := range b {
		if i > 0 {
			v++
		}
		if v > 1<<56 {
			return 0, 0
		}
		v = v<<7 | uint64(c&0x7f)
		if c&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}

// errInSubmodule is for files below a submodule that has no repository of its own here.
var errInSubmodule = unknownf("it lies in a submodule that is not checked out")

// indexEntries reads from the index what stands at a path of the work tree, nil for nothing, and what lies below
// it; "" is the work tree itself. Any stage counts: a conflict has no stage 0. There is no index before the first
// "git add".
func (r *repo) indexEntries(ctx context.Context, sub string) (self *indexEntry, below []indexEntry, err error) {
	file := wspath.JoinSlash(r.gitDir, "index")
	f, size, err := openRegular(r.fsys, file)
	if notThere(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, unreadable(file, err)
	}
	defer f.Close()
	prefix, seen, names := "", 0, 0
	if sub != "" {
		prefix = sub + "/"
	}
	err = scanIndex(f, size, r.algo, func(e *indexEntry) error {
		if seen++; seen&0xfff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		switch {
		case e.name == sub:
			self = e
		case e.mode == modeGitlink && strings.HasPrefix(sub, e.name+"/"):
			return errInSubmodule
		case strings.HasPrefix(e.name, prefix):
			if names += len(e.name); names > maxIndex {
				return errIndexSize // version 4 names can expand
			}
			if checkPath(e.name) != nil {
				return errIndex
			}
			below = append(below, *e)
		}
		return nil
	})
	var known indexError
	var u *unknownError
	switch {
	case err == nil:
		return self, below, nil
	case errors.As(err, &known):
		err = unknownf("%q: %s", file, known)
	case !errors.As(err, &u) && ctx.Err() == nil:
		err = unreadable(file, err)
	}
	return nil, nil, err
}
