package search

import "bytes"

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

// keep returns from where on the buffer is needed for reports of the lines from
// pos on.
func (p *report) keep(buf []byte, pos, limit int) int {
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
