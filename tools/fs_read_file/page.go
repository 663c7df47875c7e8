package main

import (
	"context"
	"math"

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
				p.leaveOut(s.line, sel.spans[i:])
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
				p.leaveOut(l.no, sel.spans[i:])
				return nil
			}
		}
		if err := s.failure(); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut notes that what is left of spans starts at line no.
func (p *page) leaveOut(no int64, spans []span) {
	p.rest = append([]span{{no, spans[0].End}}, spans[1:]...)
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
