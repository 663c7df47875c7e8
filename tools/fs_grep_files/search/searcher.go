package search

import (
	"bytes"
	"fmt"
	"io"
)

// Mode says what a search is for.
type Mode int

const (
	// Lines reports matching lines and their context to the sink.
	Lines Mode = iota
	// Count only counts matching lines.
	Count
	// Exists stops at the first matching line.
	Exists
)

// A Sink receives the lines that a search finds, in order.
type Sink interface {
	// Line receives a matching line or one of its context. The Line and its
	// bytes are valid during the call only.
	Line(l *Line)
	// Break is called between two lines that are not neighbours in the text, if
	// the search is one with context.
	Break()
}

// A Line is one line of the text searched, as UTF-8 whatever the text was in.
type Line struct {
	// Bytes is the line without "\n"; the "\r" of a CRLF line end is there.
	Bytes []byte
	// Number is 1 for the first line of the text.
	Number int64
	// Context is false for a matching line, true for one that is only near.
	Context bool

	m          *Matcher
	start, end int // -1: not known yet
}

// Span returns where the first match in the line begins and ends, in bytes. It
// is 0, 0 for a line of context. In multiline mode it is the part of the match
// that is in this line. It costs a regexp search unless the pattern is a plain
// text.
func (l *Line) Span() (start, end int) {
	if l.start < 0 {
		loc := l.m.re.FindIndex(l.Bytes)
		l.start, l.end = loc[0], loc[1]
	}
	return l.start, l.end
}

// Result is what a search found out besides the lines.
type Result struct {
	// Matches is the number of matching lines, reported or not; in mode Exists
	// at most 1.
	Matches int64
	// Reported is how many of them went to the sink.
	Reported int64
	// Binary says that there is a NUL in the first 8 KiB, so that nothing was
	// searched.
	Binary bool
	// NUL is the offset of the first NUL in the (decoded) text, or -1. The
	// search covered the lines before it.
	NUL int64
	// CutLines is the number of lines longer than 8 MiB. Only that much of each
	// was searched.
	CutLines int64
}

// ErrTooLarge says that a text does not fit in memory as a multiline search
// needs it. Nothing was searched.
var ErrTooLarge = fmt.Errorf("larger than the %d MiB that a multiline search can take", textLimit>>20)

// A Searcher searches one text after the other with reused buffers. The zero
// value is ready for use. The exported fields may be changed between searches.
// It must not be used by several goroutines at once. Between searches it holds up
// to 1 MiB of buffer and 2 MiB of the last Matcher's automaton.
type Searcher struct {
	// Mode is Lines if not set.
	Mode Mode
	// Before and After are how many lines of context are reported around a
	// match. Context before a match is limited to 8 MiB.
	Before, After int
	// MaxReported, if positive, is the number of matching lines that are
	// reported; those after that are only counted.
	MaxReported int64
	// Text searches texts with NUL bytes like any other.
	Text bool

	cursor cursor

	src    io.Reader
	buf    []byte
	n      int  // buf[:n] is read
	eof    bool // nothing follows buf[:n]
	pos    int  // start of the first line that is not searched
	read   int64
	cut    bool // the rest of a line that is too long is being dropped
	report report

	// For tests; 0 is the usual.
	bufSize, headSize, lineLimit, textLimit int
}

// Search searches the text that r yields, up to its end. The sink may be nil in
// the modes that report no lines. The error is that of r or [ErrTooLarge];
// the Result is right for what was searched before it.
func (s *Searcher) Search(r io.Reader, m *Matcher, sink Sink) (Result, error) {
	s.begin(m, sink)
	s.src = r
	if err := s.head(); err != nil || s.report.result.Binary {
		return s.report.result, err
	}
	err := s.search(m)
	if s.bufSize == 0 && len(s.buf) > keepSize {
		s.buf = nil
	}
	return s.report.result, err
}

func (s *Searcher) begin(m *Matcher, sink Sink) {
	s.n, s.pos, s.read, s.eof, s.cut = 0, 0, 0, false, false
	s.cursor.use(m)
	s.report = report{asked: s, sink: sink, line: Line{m: m}, result: Result{NUL: -1}}
}

func (s *Searcher) search(m *Matcher) error {
	if m.multiline {
		if err := s.readAll(); err != nil {
			return err
		}
		s.scanText()
		return nil
	}
	for {
		end := s.n
		if !s.eof {
			end = s.pos + bytes.LastIndexByte(s.buf[s.pos:s.n], '\n') + 1
		}
		if end > s.pos && !s.scanLines(end) || s.eof {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// scanLines searches the lines in buf[pos:end] and returns false to stop.
func (s *Searcher) scanLines(end int) bool {
	buf := s.buf[:end]
	s.cursor.enter(buf[s.pos:])
	for s.pos < end {
		h, ok := s.cursor.nextLine(buf, s.pos)
		if !ok {
			break
		}
		if !s.report.match(buf, h) {
			return false
		}
		s.pos = h.le + 1
	}
	s.pos = end
	s.report.context(buf, end)
	return true
}

// scanText searches the whole text in a multiline search.
func (s *Searcher) scanText() {
	buf := s.buf[:s.n:s.n]
	s.cursor.enter(buf)
	if s.cursor.mayMatch(buf) {
		done := 0 // start of a line; those before it are done
		report := func(start, end int) {
			if start > done {
				done += bytes.LastIndexByte(buf[done:start], '\n') + 1
			}
			// An empty match after the last line end is in no line.
			for last := max(start, end-1); done <= last && done < len(buf); {
				h := hit{ls: done, le: lineEnd(buf, done)}
				h.start = max(start, h.ls) - h.ls
				h.end = max(h.start, min(end, h.le)-h.ls)
				if !s.report.match(buf, h) {
					return
				}
				done = h.le + 1
			}
		}
		if re := s.cursor.m.re; s.Mode == Exists {
			if loc := re.FindIndex(buf); loc != nil {
				report(loc[0], loc[1])
			}
		} else {
			// This is the one method that goes through all matches and keeps none. What it
			// passes on begins where the rest of the capacity does.
			re.ReplaceAllFunc(buf, func(match []byte) []byte {
				start := len(buf) - cap(match)
				report(start, start+len(match))
				return nil
			})
		}
	}
	s.report.context(buf, len(buf))
}

// cursor steps through the matches in a buffer. It holds what a goroutine needs
// of its own to use a Matcher.
type cursor struct {
	m    *Matcher
	auto *automaton // nil if m has no program

	// plain says that m.find must not be used on this buffer, off that it does
	// not pay on this text.
	plain, off bool
	// usual is what finder.next wants.
	usual bool
	// m.find has proposed missed lines that did not match in scanned bytes.
	missed, scanned int
}

// hit is a line that matches. Start and end are those of the first match in it,
// or -1 where only the line is known.
type hit struct {
	ls, le     int // the line in the buffer, without its end
	start, end int // the match in the line
}

// use prepares the cursor for a new text. It keeps the automaton, as the same
// pattern usually searches many files.
func (c *cursor) use(m *Matcher) {
	if c.m != m {
		*c = cursor{m: m}
		if m.prog != nil {
			c.auto = newAutomaton(m.prog)
		}
	}
	c.off, c.usual, c.missed, c.scanned = m.find == nil, false, 0, 0
}

// enter prepares the cursor for the next piece of the text.
func (c *cursor) enter(piece []byte) {
	c.plain = c.off || c.m.special &&
		(bytes.ContainsRune(piece, longS) || bytes.ContainsRune(piece, kelvin))
}

// nextLine finds the first line at or after pos that matches. Both pos and the
// end of buf must be line bounds.
func (c *cursor) nextLine(buf []byte, pos int) (h hit, ok bool) {
	for !c.plain && pos < len(buf) {
		start, end, ok := c.m.find.next(buf, pos, &c.usual)
		if !ok {
			return hit{}, false
		}
		ls, le := lineAround(buf, pos, start)
		c.scanned += le - pos
		if c.m.whole {
			if len(c.m.find.set) > 1 {
				return hit{ls, le, -1, -1}, true // another one may begin earlier
			}
			return hit{ls, le, start - ls, end - ls}, true
		}
		if c.matches(buf[ls:le]) {
			return hit{ls, le, -1, -1}, true
		}
		pos = le + 1
		// A line tried in vain costs about as much as 128 bytes of automaton.
		if c.missed++; c.missed > 32 && c.missed*128 > c.scanned && c.auto != nil && !c.auto.broken {
			c.off, c.plain = true, true
		}
	}
	if pos >= len(buf) {
		return hit{}, false
	}
	return c.nextPlain(buf, pos)
}

// matches reports whether a line matches.
func (c *cursor) matches(line []byte) bool {
	if c.auto != nil {
		if at := c.auto.find(line, 0); at != gaveUp {
			return at != noMatch
		}
	}
	return c.m.re.Match(line)
}

// mayMatch returns false only if nothing in a whole text matches, the usual case.
func (c *cursor) mayMatch(text []byte) bool {
	if !c.plain {
		if _, _, ok := c.m.find.next(text, 0, &c.usual); !ok {
			return false
		}
	}
	return c.auto == nil || c.auto.find(text, 0) != noMatch
}

// nextPlain does the work of nextLine without looking for known texts.
func (c *cursor) nextPlain(buf []byte, pos int) (h hit, ok bool) {
	if c.auto != nil {
		switch at := c.auto.find(buf, pos); {
		case at == noMatch, at == len(buf) && (at == 0 || buf[at-1] == '\n'):
			return hit{}, false // an empty match after the last line end is in no line
		case at != gaveUp:
			ls, le := lineAround(buf, pos, at)
			return hit{ls, le, -1, -1}, true
		}
	}
	for pos < len(buf) {
		le := lineEnd(buf, pos)
		if c.m.re.Match(buf[pos:le]) {
			return hit{pos, le, -1, -1}, true
		}
		pos = le + 1
	}
	return hit{}, false
}

// lineEnd returns the index of the first "\n" in buf[pos:], or len(buf).
func lineEnd(buf []byte, pos int) int {
	if i := bytes.IndexByte(buf[pos:], '\n'); i >= 0 {
		return pos + i
	}
	return len(buf)
}

// lineAround returns the bounds of the line with buf[at]; it begins at pos or
// later.
func lineAround(buf []byte, pos, at int) (ls, le int) {
	return pos + bytes.LastIndexByte(buf[pos:at], '\n') + 1, lineEnd(buf, at)
}

// report turns matching lines into calls of the sink: it adds the context,
// numbers lines and keeps the count.
type report struct {
	asked  *Searcher
	sink   Sink
	result Result
	line   Line

	due   int // lines of context still to come after the last match
	shown int // end of the last reported line in the buffer; negative if it is gone

	counted int   // the lines in front of buf[counted]
	lines   int64 // are this many
}

// full says that no further matching line is to be reported.
func (p *report) full() bool {
	return p.asked.Mode != Lines || p.asked.MaxReported > 0 && p.result.Reported >= p.asked.MaxReported
}

// match takes the next matching line and returns false when no further one is wanted.
func (p *report) match(buf []byte, h hit) bool {
	if p.full() {
		// Context after the last match that is reported ends at the next one,
		// as that is no context.
		p.context(buf, h.ls)
		p.due = 0
		p.result.Matches++
		return p.asked.Mode != Exists
	}
	p.context(buf, h.ls)
	from := back(buf, max(p.shown, 0), h.ls, p.asked.Before)
	if p.result.Reported > 0 && from > p.shown && p.asked.Before+p.asked.After > 0 {
		p.sink.Break()
	}
	for from < h.ls {
		le := lineEnd(buf, from)
		p.emit(buf, hit{ls: from, le: le}, true)
		from = le + 1
	}
	p.result.Matches++
	p.result.Reported++
	p.due = p.asked.After
	p.emit(buf, h, false)
	return true
}

// context reports what context is due in front of upTo, a line start or the end
// of the buffer.
func (p *report) context(buf []byte, upTo int) {
	for p.due > 0 && p.shown < upTo {
		p.due--
		p.emit(buf, hit{ls: p.shown, le: lineEnd(buf, p.shown)}, true)
	}
}

func (p *report) emit(buf []byte, h hit, context bool) {
	if h.ls > p.counted {
		p.lines += int64(bytes.Count(buf[p.counted:h.ls], newline))
		p.counted = h.ls
	}
	p.line.Bytes = buf[h.ls:h.le:h.le]
	p.line.Number = p.lines + 1
	p.line.Context = context
	p.line.start, p.line.end = h.start, h.end
	p.shown = h.le + 1
	p.sink.Line(&p.line)
}

var newline = []byte{'\n'}

// back returns the start of the n-th line before the one at ls, but no less
// than floor, the start of another line.
func back(buf []byte, floor, ls, n int) int {
	for ; n > 0 && ls > floor; n-- {
		ls = floor + bytes.LastIndexByte(buf[floor:ls-1], '\n') + 1
	}
	return ls
}

// neededFrom returns from where on the buffer is needed for reports of the lines from
// pos on.
func (p *report) neededFrom(buf []byte, pos, limit int) int {
	if p.full() {
		return pos
	}
	from := back(buf, max(p.shown, 0), pos, p.asked.Before)
	if pos-from > limit {
		return pos
	}
	return from
}

// drop takes note that buf[:keep] goes away.
func (p *report) drop(buf []byte, keep int) {
	if keep > p.counted {
		if p.due > 0 || !p.full() {
			p.lines += int64(bytes.Count(buf[p.counted:keep], newline))
		}
		p.counted = keep
	}
	p.counted -= keep
	p.shown = max(p.shown-keep, -1)
}
