package diff

import (
	"bytes"
	"strconv"
	"unicode"
	"unicode/utf8"
)

// writer collects blocks into hunks and writes them.
type writer struct {
	Options
	name string
	old  []byte
	diff Diff

	hunk    []block
	counted int // the line ends of old before this offset are in line
	line    int
	shift   int // lines that the hunks written so far added
	full    bool
}

// add takes the next block in order.
func (w *writer) add(b block) {
	w.diff.Added += b.added
	w.diff.Removed += b.removed
	if w.full {
		w.diff.Omitted += b.added + b.removed
		return
	}
	if n := len(w.hunk); n > 0 {
		gap := w.old[w.hunk[n-1].end:b.start]
		if moreLines(gap, 2*w.Context) {
			w.flush()
		}
	}
	w.hunk = append(w.hunk, b)
}

// moreLines reports whether b has more than n line ends.
func moreLines(b []byte, n int) bool {
	for ; n >= 0; n-- {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}

// flush writes the hunk that is complete.
func (w *writer) flush() {
	if len(w.hunk) == 0 {
		return
	}
	hunk := w.hunk
	w.hunk = nil
	changed := 0
	for _, b := range hunk {
		changed += b.added + b.removed
	}
	if w.full {
		w.diff.Omitted += changed
		return
	}
	first, last := hunk[0], hunk[len(hunk)-1]
	start, end := first.start, last.end
	for range w.Context {
		if start > 0 {
			start = lineStart(w.old, start-1)
		}
		if end < len(w.old) {
			end = lineEnd(w.old, end)
		}
	}
	w.line += bytes.Count(w.old[w.counted:start], newline)
	w.counted = start
	oldLines := countLines(w.old[start:end])
	newLines := oldLines
	for _, b := range hunk {
		newLines += b.added - b.removed
	}
	h := hunkText{writer: w, showCR: w.Visible && mixedEnds(w.old, hunk)}
	if len(w.diff.Text) == 0 {
		h.buf = append(h.buf, "--- "+w.name+"\n+++ "+w.name+"\n"...)
	}
	h.buf = append(h.buf, "@@ -"+position(w.line, oldLines)+" +"+position(w.line+w.shift, newLines)+" @@\n"...)
	at := start
	for _, b := range hunk {
		h.lines(' ', w.old[at:b.start], nil)
		from := w.old[b.start:b.end]
		h.lines('-', from, b.text)
		h.lines('+', b.text, from)
		at = b.end
	}
	h.lines(' ', w.old[at:end], nil)
	w.shift += newLines - oldLines
	w.diff.Text = append(w.diff.Text, h.buf...)
	w.diff.Omitted += h.omitted
}

// position is a range of a hunk header: of nothing it names the line before.
func position(line, count int) string {
	switch count {
	case 0:
		return strconv.Itoa(line) + ",0"
	case 1:
		return strconv.Itoa(line + 1)
	}
	return strconv.Itoa(line+1) + "," + strconv.Itoa(count)
}

// mixedEnds reports whether the changed lines end differently, so that the change may
// be about line ends.
func mixedEnds(old []byte, hunk []block) bool {
	var cr, lf bool
	look := func(b []byte) {
		n := bytes.Count(b, newline)
		c := bytes.Count(b, []byte("\r\n"))
		cr, lf = cr || c > 0, lf || c < n
	}
	for _, b := range hunk {
		look(old[b.start:b.end])
		look(b.text)
	}
	return cr && lf
}

type hunkText struct {
	*writer
	buf     []byte
	omitted int
	showCR  bool
}

// lines writes each line of text with its mark. other is what a changed line is
// compared with to find the part that matters.
func (h *hunkText) lines(mark byte, text, other []byte) {
	for len(text) > 0 {
		n := lineEnd(text, 0)
		line := text[:n]
		text = text[n:]
		m := 0
		if len(other) > 0 {
			m = lineEnd(other, 0)
		}
		twin := other[:m]
		other = other[m:]
		size := len(line)
		if h.MaxLine > 0 {
			size = min(size, h.MaxLine)
		}
		if h.MaxBytes > 0 && (h.full || len(h.diff.Text)+len(h.buf)+size > h.MaxBytes) {
			h.full = true
			if mark != ' ' {
				h.omitted++
			}
			continue
		}
		h.one(mark, line, twin)
	}
}

func (h *hunkText) one(mark byte, line, twin []byte) {
	h.buf = append(h.buf, mark)
	line, ended := bytes.CutSuffix(line, newline)
	if h.Visible {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // harmless at the start of a line
		if !h.showCR && ended {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
	}
	before, after := 0, 0
	if h.MaxLine > 0 && len(line) > h.MaxLine {
		focus := 0
		if len(twin) > 0 {
			focus = commonPrefix(line, twin)
		}
		from := max(0, min(focus-h.MaxLine/3, len(line)-h.MaxLine))
		to := min(len(line), from+h.MaxLine)
		for from > 0 && from < to && !utf8.RuneStart(line[from]) {
			from++
		}
		for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
			to--
		}
		before, after = from, len(line)-to
		line = line[from:to]
	}
	if before > 0 {
		h.buf = append(h.buf, "…["+strconv.Itoa(before)+" bytes]"...)
	}
	if h.Visible {
		h.buf = appendVisible(h.buf, line)
	} else {
		h.buf = append(h.buf, line...)
	}
	if after > 0 {
		h.buf = append(h.buf, "["+strconv.Itoa(after)+" bytes]…"...)
	}
	h.buf = append(h.buf, '\n')
	if !ended {
		h.buf = append(h.buf, "\\ No newline at end of file\n"...)
	}
}

// appendVisible appends one line without its end so that what is shown is what is there:
// a person approves a change by looking at it, and a terminal must not act on it.
func appendVisible(dst, line []byte) []byte {
	for len(line) > 0 {
		if c := line[0]; c == '\t' || c >= ' ' && c < 0x7f {
			dst = append(dst, c)
			line = line[1:]
			continue
		}
		r, n := utf8.DecodeRune(line)
		line = line[n:]
		switch {
		case r < ' ':
			dst = utf8.AppendRune(dst, 0x2400+r) // the control pictures
		case r == 0x7f:
			dst = append(dst, "\u2421"...)
		case hides(r):
			dst = append(dst, `\u{`+strconv.FormatInt(int64(r), 16)+`}`...)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// hides reports whether a terminal or a browser acts on r instead of showing it. The two
// joiners are left: they are part of ordinary words and signs.
func hides(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// Visible returns one line of text as a diff made with Options.Visible shows it.
func Visible(line []byte) string { return string(appendVisible(nil, line)) }
