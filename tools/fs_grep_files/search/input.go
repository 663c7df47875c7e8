package search

import (
	"bytes"
	"cmp"
	"io"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

const (
	bufSize   = 256 << 10
	headSize  = 8 << 10 // a NUL in here makes the text a binary one
	lineLimit = 8 << 20
	textLimit = 64 << 20
	keepSize  = 4 * bufSize // a larger buffer is not kept for the next text
	minFree   = 4           // bytes of the longest rune, what a read must have room for
)

// byteOrderMark returns the length of the mark that a text begins with, and the UTF-16 that the mark stands for;
// nil for UTF-8, which a text without a mark is taken for.
func byteOrderMark(head []byte) (length int, wide encoding.Encoding) {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return 3, nil
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return 2, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return 2, unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	}
	return 0, nil
}

// head reads the start of the text and finds out its encoding and whether it is
// a binary one. It reads a fixed part, so that this does not depend on how much
// each Read returns.
func (s *Searcher) head() error {
	if s.buf == nil {
		s.buf = make([]byte, cmp.Or(s.bufSize, bufSize))
	}
	for s.n < 3 && !s.eof { // a byte order mark
		k, err := s.readSome()
		if err != nil {
			return err
		}
		s.n += k
	}
	mark, wide := byteOrderMark(s.buf[:s.n])
	rest := s.buf[mark:s.n]
	s.n = 0
	if wide != nil {
		// What is no valid UTF-16 becomes U+FFFD.
		s.src = wide.NewDecoder().Reader(io.MultiReader(bytes.NewReader(bytes.Clone(rest)), s.src))
		s.eof = false
	} else {
		s.accept(copy(s.buf, rest))
	}
	for s.n < cmp.Or(s.headSize, headSize) && !s.eof {
		if err := s.more(); err != nil {
			return err
		}
	}
	s.headDone()
	return nil
}

// headDone decides whether the text is a binary one.
func (s *Searcher) headDone() {
	nul := s.report.result.NUL
	s.report.result.Binary = nul >= 0 && nul < int64(cmp.Or(s.headSize, headSize))
}

// readSome reads into the free part of the buffer.
func (s *Searcher) readSome() (int, error) {
	for range 100 {
		k, err := s.src.Read(s.buf[s.n:])
		if err == io.EOF {
			s.eof = true
			return k, nil
		}
		if k > 0 || err != nil {
			return k, err
		}
	}
	return 0, io.ErrNoProgress
}

// accept takes the k bytes after buf[:n] as read. It ends the text in front of
// the first line with a NUL and drops what is too much of a long line.
func (s *Searcher) accept(k int) {
	piece := s.buf[s.n : s.n+k]
	if !s.Text {
		if i := bytes.IndexByte(piece, 0); i >= 0 {
			s.report.result.NUL = s.read + int64(i)
			s.eof = true
			s.n = s.pos + bytes.LastIndexByte(s.buf[s.pos:s.n+i], '\n') + 1
			return
		}
	}
	s.read += int64(k)
	if s.cut {
		i := bytes.IndexByte(piece, '\n')
		if i < 0 {
			return
		}
		s.cut = false
		k = copy(piece, piece[i:])
	}
	s.n += k
}

// more reads once.
func (s *Searcher) more() error {
	s.room()
	k, err := s.readSome()
	if err == nil {
		s.accept(k)
	}
	return err
}

// fill reads until there is a further line end in the buffer, or the end of the
// text.
func (s *Searcher) fill() error {
	for {
		if err := s.more(); err != nil {
			return err
		}
		if s.eof || bytes.IndexByte(s.buf[s.pos:s.n], '\n') >= 0 {
			return nil
		}
		if limit := cmp.Or(s.lineLimit, lineLimit); !s.cut && s.n-s.pos > limit {
			s.cut = true
			s.n = s.pos + limit
			s.report.result.CutLines++
		}
	}
}

// readAll reads the rest of the text.
func (s *Searcher) readAll() error {
	for s.n <= cmp.Or(s.textLimit, textLimit) {
		if s.eof {
			return nil
		}
		if err := s.more(); err != nil {
			return err
		}
	}
	return ErrTooLarge
}

// room makes room for a read: it drops what was searched and is no longer needed
// for reports, or takes a larger buffer.
func (s *Searcher) room() {
	if len(s.buf)-s.n >= max(len(s.buf)/4, minFree) {
		return
	}
	keep := s.report.neededFrom(s.buf, s.pos, cmp.Or(s.lineLimit, lineLimit))
	s.report.drop(s.buf, keep)
	from := s.buf[keep:s.n]
	if len(from) > len(s.buf)/2 {
		s.buf = make([]byte, 2*len(s.buf))
	}
	s.n = copy(s.buf, from)
	s.pos -= keep
}
