package diff

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// writer collects blocks into hunks and writes them.
type writer struct {
	Options
	name string
	old  []byte
	diff Diff // without the text
	text bytes.Buffer

	hunk    []block
	counted int // the line ends of old before this offset are in line
	line    int
	shift   int // lines that the hunks written so far added
	full    bool
	showCR  bool // in the hunk that is being written
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
		if bytes.Count(gap, newline) > 2*w.Context {
			w.flush()
		}
	}
	w.hunk = append(w.hunk, b)
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
	w.showCR = w.Visible && mixedEnds(w.old, hunk)
	if w.text.Len() == 0 {
		fmt.Fprintf(&w.text, "--- %s\n+++ %[1]s\n", w.name)
	}
	fmt.Fprintf(&w.text, "@@ -%s +%s @@\n", position(w.line, oldLines), position(w.line+w.shift, newLines))
	at := start
	for _, b := range hunk {
		w.lines(' ', w.old[at:b.start], nil)
		from := w.old[b.start:b.end]
		w.lines('-', from, b.text)
		w.lines('+', b.text, from)
		at = b.end
	}
	w.lines(' ', w.old[at:end], nil)
	w.shift += newLines - oldLines
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

// lines writes each line of text with its mark. other is what a changed line is
// compared with to find the part that matters.
func (w *writer) lines(mark byte, text, other []byte) {
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
		if w.MaxLine > 0 {
			size = min(size, w.MaxLine)
		}
		if w.MaxBytes > 0 && (w.full || w.text.Len()+size > w.MaxBytes) {
			w.full = true
			if mark != ' ' {
				w.diff.Omitted++
			}
			continue
		}
		w.one(mark, line, twin)
	}
}

func (w *writer) one(mark byte, line, twin []byte) {
	w.text.WriteByte(mark)
	line, ended := bytes.CutSuffix(line, newline)
	if w.Visible {
		line = bytes.TrimPrefix(line, []byte("\ufeff")) // harmless at the start of a line
		if !w.showCR && ended {
			line = bytes.TrimSuffix(line, []byte("\r"))
		}
	}
	before, after := 0, 0
	if w.MaxLine > 0 && len(line) > w.MaxLine {
		focus := 0
		if len(twin) > 0 {
			focus = commonPrefix(line, twin)
		}
		from := max(0, min(focus-w.MaxLine/3, len(line)-w.MaxLine))
		to := min(len(line), from+w.MaxLine)
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
		fmt.Fprintf(&w.text, "…[%d bytes]", before)
	}
	if w.Visible {
		w.text.WriteString(Visible(line))
	} else {
		w.text.Write(line)
	}
	if after > 0 {
		fmt.Fprintf(&w.text, "[%d bytes]…", after)
	}
	w.text.WriteByte('\n')
	if !ended {
		w.text.WriteString("\\ No newline at end of file\n")
	}
}

// Visible returns one line of text, without its end, as a diff made with Options.Visible shows it: a person
// approves a change by looking at it, so what is shown is what is there, and a terminal must not act on it.
func Visible(line []byte) string {
	var b strings.Builder
	for _, r := range string(line) {
		switch {
		case r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune(0x2400 + r) // the control pictures
		case r == 0x7f:
			b.WriteRune(0x2421)
		case hides(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hides reports whether a terminal or a browser acts on r instead of showing it. The two
// joiners are left: they are part of ordinary words and signs.
func hides(r rune) bool {
	if r == '\u200c' || r == '\u200d' {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}
