package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

// page is what one call shows.
type page struct {
	lines []line
	bytes int
	// rest are the spans that were asked for and left out for the limits.
	rest []span
	// beyond are the spans that lie behind the end of the file.
	beyond []span
	// total is the number of lines of the file, -1 when the end was not reached.
	total int64
}

// add takes a line unless that exceeds the limits. The first always fits.
func (p *page) add(l line, lim limits) bool {
	size := len(l.text) + 1
	if len(p.lines) > 0 && (len(p.lines) >= lim.lines || p.bytes+size > lim.bytes) {
		return false
	}
	p.lines = append(p.lines, l)
	p.bytes += size
	return true
}

// readPage reads what was selected, within the limits.
func readPage(ctx context.Context, t *content, sel selection, lim limits) (*page, error) {
	p := &page{total: -1}
	var s *scanner
	var err error
	if sel.tail > 0 {
		if s, err = tailScanner(ctx, t, min(sel.tail, int64(lim.lines))); err == nil {
			err = p.readTail(s, lim)
		}
	} else {
		s = newScanner(t.text(ctx, int64(t.bom)), 1, t.size)
		err = p.readSpans(s, sel, lim)
	}
	if err == nil && t.whole {
		err = s.skip(math.MaxInt64)
	}
	if err != nil {
		return nil, err
	}
	if s.line > 0 && s.atEnd() {
		p.total = s.line - 1
	}
	if sel.tail > 0 && len(p.lines) > 0 {
		first := -sel.tail
		if p.total >= 0 {
			first = max(p.total-sel.tail+1, 1)
		}
		if shown := p.lines[0].no; shown > first {
			p.rest = []span{{first, shown - 1}}
		}
	}
	return p, s.failure()
}

func (p *page) readSpans(s *scanner, sel selection, lim limits) error {
	for i, sp := range sel.spans {
		if err := s.skip(sp.Start - s.line); err != nil {
			return err
		}
		if s.atEnd() {
			if s.line <= sp.Start {
				p.beyond = sel.spans[i:]
			}
			return s.failure()
		}
		for s.line <= sp.End {
			if len(p.lines) >= lim.lines && s.fill() {
				p.rest = slices.Concat([]span{{s.line, sp.End}}, sel.spans[i+1:])
				return nil
			}
			l, ok := s.next(sel.fromByte, lim.lineBytes)
			if !ok {
				break
			}
			if sel.fromByte > 0 && sel.fromByte >= l.total {
				return jptool.Errorf(jptool.CodeInvalidArguments, "start_byte %d is beyond the end of line %d, which has %d bytes", sel.fromByte+1, l.no, l.total)
			}
			if !p.add(l, lim) {
				p.rest = slices.Concat([]span{{l.no, sp.End}}, sel.spans[i+1:])
				return nil
			}
		}
		if err := s.failure(); err != nil {
			return err
		}
	}
	return nil
}

// readTail reads to the end and drops lines from the front for the limits: whoever
// asks for the tail wants the end.
func (p *page) readTail(s *scanner, lim limits) error {
	for {
		l, ok := s.next(0, lim.lineBytes)
		if !ok {
			return s.failure()
		}
		for !p.add(l, lim) {
			p.bytes -= len(p.lines[0].text) + 1
			p.lines = p.lines[1:]
		}
	}
}

// countLimit is the most bytes that are read only to number the lines of a tail; behind
// more of them, lines are numbered from the end: -1 is the last one.
var countLimit int64 = 8 << 30

// tailScanner returns a scanner that stands before the last n lines. Their text is
// found from the end; their numbers cost a count of the newlines before.
func tailScanner(ctx context.Context, t *content, n int64) (*scanner, error) {
	if t.wide != nil { // it can be decoded from its start only
		lines, err := countLines(t.text(ctx, int64(t.bom)), t.size)
		if err != nil {
			return nil, err
		}
		s := newScanner(t.text(ctx, int64(t.bom)), 1, t.size)
		return s, s.skip(lines - n)
	}
	from, found, err := tailStart(ctx, t, n)
	if err != nil {
		return nil, err
	}
	first := -found
	if before := from - int64(t.bom); before <= countLimit {
		lines, err := countLines(io.LimitReader(t.text(ctx, int64(t.bom)), before), t.size)
		if err != nil {
			return nil, err
		}
		first = lines + 1
	}
	return newScanner(t.text(ctx, from), first, t.size), nil
}

// countLines reads to the end.
func countLines(r io.Reader, size int64) (int64, error) {
	s := newScanner(r, 0, size)
	err := s.skip(math.MaxInt64)
	return s.line, err
}

// tailStart returns where the last n lines start, and how many they are.
func tailStart(ctx context.Context, t *content, n int64) (from, found int64, err error) {
	buf := make([]byte, min(int64(scanBuffer), t.size))
	end := t.size
	if t.endsWithNewline() {
		end-- // it ends the last line and starts none
	}
	if t.size == int64(t.bom) {
		return t.size, 0, nil
	}
	for end > int64(t.bom) {
		start := max(end-int64(len(buf)), int64(t.bom))
		r := reader{ctx: ctx, t: t, off: start}
		chunk := buf[:end-start]
		read, err := r.Read(chunk)
		if err != nil && read == 0 {
			return 0, 0, err
		}
		for chunk = chunk[:read]; len(chunk) > 0; {
			i := bytes.LastIndexByte(chunk, '\n')
			if i < 0 {
				break
			}
			if found++; found == n {
				return start + int64(i) + 1, found, nil
			}
			chunk = chunk[:i]
		}
		end = start
	}
	return int64(t.bom), found + 1, nil
}

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
