package search

import "bytes"

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
		(bytes.Contains(piece, longSBytes[:]) || bytes.Contains(piece, kelvinBytes[:]))
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
			if len(c.m.find.needles) > 1 {
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
