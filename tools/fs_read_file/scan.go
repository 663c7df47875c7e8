package main

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// scanBuffer is the size in bytes of the one buffer that a file of any size goes
// through; tests make it small.
var scanBuffer = 256 << 10

// scanner reads a text line by line. A line ends after LF, or at the end of the text;
// a text that ends with LF has no further, empty line.
type scanner struct {
	r    io.Reader
	buf  []byte
	rest []byte // unread part of buf
	err  error  // io.EOF or why reading stopped
	line int64  // number of the line that starts at rest
	keep []byte // of the line that next returned last
}

// newScanner reads r, whose first line has the number line; size is about how many
// bytes r has.
func newScanner(r io.Reader, line, size int64) *scanner {
	return &scanner{r: r, line: line, buf: make([]byte, min(int64(scanBuffer), max(size, 512)))}
}

// fill makes rest not empty; false at the end of the text or after an error.
func (s *scanner) fill() bool {
	for len(s.rest) == 0 && s.err == nil {
		var n int
		n, s.err = s.r.Read(s.buf)
		s.rest = s.buf[:n]
	}
	return len(s.rest) > 0
}

// failure returns why reading stopped, unless it was the end of the text.
func (s *scanner) failure() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// atEnd reports whether no line is left.
func (s *scanner) atEnd() bool { return !s.fill() && s.failure() == nil }

// skip passes over n lines, or as many as there are.
func (s *scanner) skip(n int64) error {
	inLine := false
	for n > 0 && s.fill() {
		c := int64(bytes.Count(s.rest, newline))
		if c < n {
			n -= c
			s.line += c
			inLine = s.rest[len(s.rest)-1] != '\n'
			s.rest = nil
			continue
		}
		s.line += n
		for ; n > 0; n-- {
			s.rest = s.rest[bytes.IndexByte(s.rest, '\n')+1:]
		}
		inLine = false
	}
	if inLine {
		s.line++ // the last one, without a newline
	}
	return s.failure()
}

var newline = []byte{'\n'}

// line is a line, or the piece of it that is shown.
type line struct {
	no    int64
	text  string // valid UTF-8 without a line end
	bad   int    // bytes that were not text
	from  int64  // where text starts in the line, in bytes
	cut   int64  // bytes that follow text in the line
	total int64  // bytes of the line without its end
	end   lineEnd
}

type lineEnd uint8

const (
	noEnd lineEnd = iota
	endLF
	endCRLF
)

// next reads one line and keeps at most limit bytes of it from byte from on, but one
// character at least; false at the end of the text or after an error.
func (s *scanner) next(from int64, limit int) (line, bool) {
	l := line{no: s.line, from: from}
	s.keep = s.keep[:0]
	most := limit + utf8.UTFMax
	var last byte
	for l.end == noEnd && s.fill() {
		part := s.rest
		if i := bytes.IndexByte(part, '\n'); i >= 0 {
			part, s.rest, l.end = part[:i], part[i+1:], endLF
		} else {
			s.rest = nil
		}
		if wanted := part[min(max(from-l.total, 0), int64(len(part))):]; len(wanted) > 0 {
			s.keep = append(s.keep, wanted[:min(len(wanted), most-len(s.keep))]...)
		}
		l.total += int64(len(part))
		if len(part) > 0 {
			last = part[len(part)-1]
		}
	}
	if s.failure() != nil || l.total == 0 && l.end == noEnd {
		return line{}, false
	}
	s.line++
	if l.end == endLF && last == '\r' {
		l.end = endCRLF
		l.total--
	}
	text := s.keep[:min(int64(len(s.keep)), max(l.total-from, 0))]
	text = text[:cutAt(text, limit)]
	l.cut = max(l.total-from-int64(len(text)), 0)
	l.text, l.bad = clean(text)
	return l, true
}

// cutAt returns the greatest length up to limit at which text can be cut without
// cutting a character, but at least that of the first character.
func cutAt(text []byte, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	for n := limit; n > limit-utf8.UTFMax && n > 0; n-- {
		if utf8.RuneStart(text[n]) {
			return n
		}
	}
	_, n := utf8.DecodeRune(text)
	return max(n, limit)
}

// clean returns b as valid UTF-8 with U+FFFD for every byte that is not text, and how
// many those were. A NUL counts as one: many a reader of JSON takes no NUL.
func clean(b []byte) (string, int) {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b), 0
	}
	bad := 0
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == 0 || r == utf8.RuneError && n == 1 {
			bad++
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out), bad
}
