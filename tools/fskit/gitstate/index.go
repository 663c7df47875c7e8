package gitstate

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash"
	"io"
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

// indexEntry is one entry of the index. Times, owner and inode are skipped on purpose: they prove nothing.
type indexEntry struct {
	name []byte // valid until the next entry
	mode uint32
	size uint32 // of the work tree file when it was added, mod 2^32; 0 if not known
	id   oid

	conflict     bool // stage is not 0
	assumeValid  bool
	skipWorktree bool
	intentToAdd  bool
}

var (
	errIndex     = errors.New("the index is malformed")
	errIndexSum  = errors.New("the index has a wrong checksum")
	errIndexSize = errors.New("the index is too large")
	errSplit     = errors.New("the index is split")
	errSparse    = errors.New("the index is sparse")
	errIndexName = errors.New("the index holds a name that is too long")
	errIndexExt  = errors.New("the index has an extension that we do not know")
	errIndexVer  = errors.New("the index has a version that we do not know")
)

const (
	indexHeader = 12
	statLen     = 40 // what precedes the object id in an entry
	// indexChunk is how much is read, hashed and scanned at a time: it should stay in the processor's cache.
	indexChunk = 128 << 10
	// maxEntry is more than any entry takes: stat data, id, flags, name, padding.
	maxEntry = statLen + 32 + 4 + 10 + maxPath + 16
)

// This reader is our own because go-git's decodes every entry into memory (90 ms for 80 000 entries, here 8),
// knows SHA-1 only and drops the assume-unchanged bit.

// scanIndex calls visit for every entry of an index file of size bytes, in order. The entry is reused, visit
// copies what it keeps. An error may come after the last call, as the checksum stands at the end; whatever
// visit gathered is void then. Memory does not depend on what the file claims.
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
	s := &indexScanner{r: io.NewSectionReader(f, 0, body), algo: a}
	s.buf = make([]byte, min(body+1, indexChunk+maxEntry)) // one more than the file has, to see its end
	if sum != (oid{}) {                                    // zeroes: written with index.skipHash
		s.hash = a.new()
	}
	if err := s.run(visit); err != nil {
		return err
	}
	if s.hash != nil && a.sum(s.hash) != sum {
		return errIndexSum
	}
	return nil
}

type indexScanner struct {
	r    io.Reader
	algo algo
	hash hash.Hash // nil: no checksum
	buf  []byte
	win  []byte // what is read and not yet scanned
	eof  bool

	version   uint32
	last      indexEntry
	prev      []byte // the name before, kept for the order and for version 4
	spare     []byte
	prevStage byte
}

// need makes the window at least n bytes long if the file has them; n is at most maxEntry.
func (s *indexScanner) need(n int) error {
	if len(s.win) >= n || s.eof {
		return nil
	}
	kept := copy(s.buf, s.win)
	got, err := io.ReadFull(s.r, s.buf[kept:])
	if s.hash != nil {
		s.hash.Write(s.buf[kept : kept+got])
	}
	s.win = s.buf[:kept+got]
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		s.eof, err = true, nil
	}
	return err
}

func (s *indexScanner) run(visit func(*indexEntry) error) error {
	if err := s.need(indexHeader); err != nil {
		return err
	}
	if len(s.win) < indexHeader || string(s.win[:4]) != "DIRC" {
		return errIndex
	}
	s.version = binary.BigEndian.Uint32(s.win[4:])
	count := binary.BigEndian.Uint32(s.win[8:])
	if s.version < 2 || s.version > 4 {
		return errIndexVer
	}
	s.win = s.win[indexHeader:]
	for range count {
		if err := s.need(maxEntry); err != nil {
			return err
		}
		if err := s.entry(); err != nil {
			return err
		}
		if err := visit(&s.last); err != nil {
			return err
		}
	}
	return s.extensions()
}

// entry decodes the entry at the start of the window into last.
func (s *indexScanner) entry() error {
	b, h := s.win, statLen+s.algo.size
	if len(b) < h+4 {
		return errIndex
	}
	e := &s.last
	e.mode = binary.BigEndian.Uint32(b[24:])
	e.size = binary.BigEndian.Uint32(b[36:])
	copy(e.id[:], b[statLen:h])
	flags := binary.BigEndian.Uint16(b[h:])
	stage := byte(flags >> 12 & 3)
	e.conflict, e.assumeValid = stage != 0, flags&0x8000 != 0
	e.skipWorktree, e.intentToAdd = false, false
	n := h + 2
	if flags&0x4000 != 0 {
		if s.version < 3 {
			return errIndex
		}
		more := binary.BigEndian.Uint16(b[n:])
		e.skipWorktree, e.intentToAdd = more&0x4000 != 0, more&0x2000 != 0
		n += 2
	}

	var name []byte
	if s.version < 4 {
		length := int(flags & 0xfff)
		if length == 0xfff { // or longer
			if length = bytes.IndexByte(b[n:], 0); length < 0 {
				return s.noEnd()
			}
		}
		if n+length >= len(b) || b[n+length] != 0 {
			return errIndex
		}
		name = b[n : n+length]
		n = (n + length + 8) &^ 7
		if n > len(b) {
			return errIndex
		}
	} else {
		strip, used := offsetVarint(b[n:])
		if used == 0 || strip > uint64(len(s.prev)) {
			return errIndex
		}
		n += used
		length := bytes.IndexByte(b[n:], 0)
		if length < 0 {
			return s.noEnd()
		}
		// Built beside prev, which is still needed to check the order.
		keep := len(s.prev) - int(strip)
		name = append(append(s.spare[:0], s.prev[:keep]...), b[n:n+length]...)
		n += length + 1
	}
	switch {
	case len(name) == 0 || bytes.IndexByte(name, 0) >= 0:
		return errIndex
	case len(name) > maxPath:
		return errIndexName
	case e.mode&modeType == modeTree:
		return errSparse
	}
	if order := bytes.Compare(s.prev, name); order > 0 || order == 0 && s.prevStage >= stage {
		return errIndex // not sorted: we could have missed the entry we are looking for
	}
	if s.version < 4 {
		s.prev = append(s.prev[:0], name...)
	} else {
		s.prev, s.spare = name, s.prev
	}
	e.name, s.prevStage = s.prev, stage
	s.win = b[n:]
	return nil
}

// noEnd returns the error for a name without an end: the file is truncated, or the name is longer than allowed.
func (s *indexScanner) noEnd() error {
	if s.eof {
		return errIndex
	}
	return errIndexName
}

// extensions walks over what follows the entries. Names with a capital letter are optional and skipped.
func (s *indexScanner) extensions() error {
	for {
		if err := s.need(8); err != nil {
			return err
		}
		if len(s.win) == 0 {
			return nil
		}
		if len(s.win) < 8 {
			return errIndex
		}
		switch name := string(s.win[:4]); {
		case name == "link":
			return errSplit
		case name == "sdir":
			return errSparse
		case name[0] < 'A' || name[0] > 'Z':
			return errIndexExt
		}
		left := int64(binary.BigEndian.Uint32(s.win[4:]))
		s.win = s.win[8:]
		for left > 0 {
			if err := s.need(1); err != nil {
				return err
			}
			if len(s.win) == 0 {
				return errIndex
			}
			n := min(left, int64(len(s.win)))
			s.win, left = s.win[n:], left-n
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
