package search

import "unicode/utf8"

// textCursor steps through the matches in a whole text, in the order and with
// the treatment of empty matches of regexp.FindAllIndex.
type textCursor struct {
	cursor  *cursor
	buf     []byte
	pos     int // where to go on
	prevEnd int // end of the last match
}

// next returns the next match.
func (t *textCursor) next() (start, end int, ok bool) {
	for t.pos <= len(t.buf) {
		start, end, ok = t.search()
		if !ok {
			return 0, 0, false
		}
		again := end == t.prevEnd && start == end
		if end > t.pos {
			t.pos = end
		} else if t.pos < len(t.buf) {
			_, w := utf8.DecodeRune(t.buf[t.pos:])
			t.pos += w
		} else {
			t.pos++
		}
		t.prevEnd = end
		if !again {
			return start, end, true
		}
	}
	return 0, 0, false
}

// search finds the leftmost match that begins at t.pos or later.
func (t *textCursor) search() (start, end int, ok bool) {
	c, m := t.cursor, t.cursor.m
	// The quick engines tell only that there is none, which is the usual case.
	if !c.plain {
		if _, _, ok := m.find.next(t.buf, t.pos, &c.usual); !ok {
			return 0, 0, false
		}
	}
	if c.auto != nil && c.auto.find(t.buf, t.pos) == noMatch {
		return 0, 0, false
	}
	if t.pos == 0 {
		loc := m.re.FindIndex(t.buf)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	_, w := utf8.DecodeLastRune(t.buf[:t.pos])
	base := t.pos - w
	loc := m.rest.FindSubmatchIndex(t.buf[base:])
	if loc == nil {
		return 0, 0, false
	}
	return base + loc[2], base + loc[3], true
}
