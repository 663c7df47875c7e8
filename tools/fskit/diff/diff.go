// Package diff writes unified diffs of byte edits that are already known. It looks at
// the lines around the edits only, so that a small change of a large file costs one
// pass of counting line ends and no list of its lines.
package diff

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// Edit replaces old[Start:End] by Text. A list of edits is sorted and its edits do not
// overlap; two may touch.
type Edit struct {
	Start, End int
	Text       []byte
}

// Apply returns old with the edits made.
func Apply(old []byte, edits []Edit) []byte {
	var parts [][]byte
	at := 0
	for _, e := range edits {
		parts = append(parts, old[at:e.Start], e.Text)
		at = e.End
	}
	return slices.Concat(append(parts, old[at:])...)
}

// Options say how a diff is written.
type Options struct {
	// Context is the number of unchanged lines around a change; zero means 3.
	Context int
	// MaxBytes bounds the text; what is left out is counted. Zero means no bound.
	MaxBytes int
	// MaxLine bounds the bytes shown of one line, which is then cut around the change.
	// A diff with cut lines cannot be applied. Zero means no bound.
	MaxLine int
	// Whole: of a longer line only what did not change is left out, for a person who approves the change.
	Whole bool
	// FirstLine is the number of lines before old, when old is only a part of the file:
	// whole lines of it, with all the edits and enough around them for the context.
	FirstLine int
	// Visible makes the diff fit for display: characters that a terminal would act on
	// or hide are replaced by visible ones, invalid UTF-8 becomes U+FFFD, and the CRs at
	// line ends are left out if all lines end so before and after. Without it the bytes
	// are kept and the diff can be applied.
	Visible bool
}

// Diff is a unified diff of one file.
type Diff struct {
	// Text is the two header lines and the hunks; empty when nothing changed.
	Text []byte
	// Added and Removed count all changed lines, shown or not.
	Added, Removed int
	// Omitted counts the changed lines that Text has no room for.
	Omitted int
}

// Unified returns the diff of old and old with the edits made, under name on both
// header lines.
func Unified(name string, old []byte, edits []Edit, o Options) Diff {
	if o.Context == 0 {
		o.Context = 3
	}
	w := &writer{Options: o, name: name, old: old, line: o.FirstLine}
	if n := bytes.Count(old, crlf); o.Visible && n > 0 {
		w.crlf = n == bytes.Count(old, newline)
	}
	for i := 0; i < len(edits); {
		var e Edit
		e, i = wholeLines(old, edits, i)
		for _, b := range blocks(old, e) {
			w.add(b)
		}
	}
	w.flush()
	w.diff.Text = w.text.Bytes()
	return w.diff
}

// block is an edit of whole lines.
type block struct {
	Edit
	removed, added int // lines
}

func newBlock(old []byte, start, end int, text []byte) block {
	return block{Edit{start, end, text}, countLines(old[start:end]), countLines(text)}
}

// wholeLines makes one edit of whole lines of the edits from i on, for as long as they share or touch lines, and
// returns the number of the next one.
func wholeLines(old []byte, edits []Edit, i int) (Edit, int) {
	c := Edit{Start: lineStart(old, edits[i].Start)}
	at := c.Start
	for {
		e := edits[i]
		c.Text = append(append(c.Text, old[at:e.Start]...), e.Text...)
		at = e.End
		i++
		next := len(old)
		if i < len(edits) {
			// Looking between the two only: a line may have any number of edits.
			gap := bytes.LastIndexByte(old[at:edits[i].Start], '\n')
			if gap < 0 {
				continue
			}
			next = at + gap + 1
		}
		c.End = at
		// The lines end here only if both the old and the new text are at a line start.
		if at > 0 && old[at-1] != '\n' || len(c.Text) > 0 && c.Text[len(c.Text)-1] != '\n' {
			c.End = lineEnd(old, at)
		}
		if i == len(edits) || next > c.End {
			c.Text = append(c.Text, old[at:c.End]...)
			return c, i
		}
	}
}

func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

// countLines counts a last line without a line end too.
func countLines(b []byte) int {
	n := bytes.Count(b, newline)
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

var newline, crlf = []byte("\n"), []byte("\r\n")

// Beyond these bounds a block is shown as wholly replaced: true, only longer than need
// be, and the time stays in proportion to the edit.
const (
	refineBytes = 1 << 20
	refineLines = 20_000
)

// blocks finds the lines inside an edit of whole lines that really differ.
func blocks(old []byte, e Edit) []block {
	from := old[e.Start:e.End]
	if bytes.Equal(from, e.Text) {
		return nil
	}
	whole := newBlock(old, e.Start, e.End, e.Text)
	lines := max(whole.removed, whole.added)
	if lines == 1 || lines > refineLines || max(len(from), len(e.Text)) > refineBytes {
		return []block{whole}
	}
	var list []block
	for _, sub := range udiff.Lines(string(from), string(e.Text)) {
		start, end, text := e.Start+sub.Start, e.Start+sub.End, []byte(sub.New)
		// Edits that touch are one block: removed lines stand before added ones.
		if n := len(list); n > 0 && list[n-1].End == start {
			start, text = list[n-1].Start, append(list[n-1].Text, text...)
			list = list[:n-1]
		}
		list = append(list, newBlock(old, start, end, text))
	}
	return list
}

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
	crlf    bool // all lines of old end in CRLF
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
		gap := w.old[w.hunk[n-1].End:b.Start]
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
	start, end := first.Start, last.End
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
	w.showCR = !w.crlf || addsLF(hunk)
	if w.text.Len() == 0 {
		fmt.Fprintf(&w.text, "--- %s\n+++ %[1]s\n", w.name)
	}
	fmt.Fprintf(&w.text, "@@ -%s +%s @@\n", position(w.line, oldLines), position(w.line+w.shift, newLines))
	at := start
	for _, b := range hunk {
		w.lines(' ', w.old[at:b.Start], nil)
		from := w.old[b.Start:b.End]
		w.lines('-', from, b.Text)
		w.lines('+', b.Text, from)
		at = b.End
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

// addsLF reports whether the hunk adds a line that ends in LF alone.
func addsLF(hunk []block) bool {
	return slices.ContainsFunc(hunk, func(b block) bool {
		return bytes.Count(b.Text, newline) > bytes.Count(b.Text, crlf)
	})
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
		var shown []byte
		if !w.full {
			shown = w.one(mark, line, twin)
			w.full = w.MaxBytes > 0 && w.text.Len()+len(shown) > w.MaxBytes
		}
		switch {
		case !w.full:
			w.text.Write(shown)
		case mark != ' ':
			w.diff.Omitted++
		}
	}
}

// one is a line as the diff shows it.
func (w *writer) one(mark byte, line, twin []byte) []byte {
	out := []byte{mark}
	line, ended := bytes.CutSuffix(line, newline)
	if w.Visible && !w.showCR && ended {
		line = bytes.TrimSuffix(line, []byte("\r"))
		twin = bytes.TrimSuffix(bytes.TrimSuffix(twin, newline), []byte("\r"))
	}
	at := 0
	for _, part := range w.parts(mark, line, bytes.TrimSuffix(twin, newline)) {
		switch left := part.from - at; {
		case left > 0 && at == 0:
			out = fmt.Appendf(out, "…[%d bytes]", left)
		case left > 0:
			out = fmt.Appendf(out, "…[%d bytes]…", left)
		}
		if w.Visible {
			out = append(out, Visible(line[part.from:part.to])...)
		} else {
			out = append(out, line[part.from:part.to]...)
		}
		at = part.to
	}
	if at < len(line) {
		out = fmt.Appendf(out, "[%d bytes]…", len(line)-at)
	}
	out = append(out, '\n')
	if !ended {
		out = append(out, "\\ No newline at end of file\n"...)
	}
	return out
}

type part struct{ from, to int }

// parts are the parts of a line that are shown.
func (w *writer) parts(mark byte, line, twin []byte) []part {
	if w.MaxLine == 0 || len(line) <= w.MaxLine {
		return []part{{0, len(line)}}
	}
	around := w.MaxLine / 3
	if w.Whole && mark != ' ' {
		return runes(line, windows(changes(mark, line, twin), around, len(line)))
	}
	focus := 0
	for focus < min(len(line), len(twin)) && line[focus] == twin[focus] {
		focus++ // what matters begins where they differ
	}
	from := max(0, min(focus-around, len(line)-w.MaxLine))
	to := min(len(line), from+w.MaxLine)
	for from > 0 && from < to && !utf8.RuneStart(line[from]) {
		from++
	}
	for to < len(line) && to > from && !utf8.RuneStart(line[to]) {
		to--
	}
	return []part{{from, to}}
}

// changes are the parts of a changed line that differ from its twin. What is left of both lines is the same.
func changes(mark byte, line, twin []byte) (list []part) {
	if len(twin) == 0 || !utf8.Valid(line) || !utf8.Valid(twin) {
		return []part{{0, len(line)}}
	}
	same := 0
	for same < min(len(line), len(twin)) && line[same] == twin[same] {
		same++
	}
	for same > 0 && (same < len(line) && !utf8.RuneStart(line[same]) || same < len(twin) && !utf8.RuneStart(twin[same])) {
		same--
	}
	line, twin = line[same:], twin[same:]
	end := 0
	for end < min(len(line), len(twin)) && line[len(line)-1-end] == twin[len(twin)-1-end] {
		end++
	}
	for end > 0 && !utf8.RuneStart(line[len(line)-end]) {
		end--
	}
	line, twin = line[:len(line)-end], twin[:len(twin)-end]
	if len(line)+len(twin) > refineLine {
		return []part{{same, same + len(line)}}
	}
	before, after := string(line), string(twin)
	if mark == '+' {
		before, after = after, before
	}
	shift := same
	for _, e := range udiff.Strings(before, after) {
		p := part{same + e.Start, same + e.End}
		if mark == '+' {
			p = part{shift + e.Start, shift + e.Start + len(e.New)}
			shift += len(e.New) - (e.End - e.Start)
		}
		list = append(list, p)
	}
	return list
}

// refineLine bounds the bytes of two lines that are compared in detail.
const refineLine = 64 << 10

// windows are the changes with so many bytes around them, as parts that do not touch.
func windows(list []part, around, size int) (wide []part) {
	for _, p := range list {
		p = part{max(0, p.from-around), min(size, p.to+around)}
		if n := len(wide); n > 0 && p.from <= wide[n-1].to {
			wide[n-1].to = max(wide[n-1].to, p.to)
			continue
		}
		wide = append(wide, p)
	}
	if wide == nil {
		return []part{{0, min(size, around)}} // only its line end changes
	}
	return wide
}

// runes makes the parts wider until no character is cut.
func runes(line []byte, list []part) []part {
	for i := range list {
		for list[i].from > 0 && !utf8.RuneStart(line[list[i].from]) {
			list[i].from--
		}
		for list[i].to < len(line) && !utf8.RuneStart(line[list[i].to]) {
			list[i].to++
		}
	}
	return list
}

// Replaced returns, for a person, the diff of a file whose whole content becomes another; what it has no room for is
// counted in the last line. ok is false if the old content is not text.
func Replaced(name string, old, text []byte, o Options) (shown string, ok bool) {
	if bytes.IndexByte(old, 0) >= 0 || !utf8.Valid(old) {
		return "", false
	}
	o.Visible = true
	d := Unified(name, old, []Edit{{End: len(old), Text: text}}, o)
	if d.Omitted == 0 {
		return string(d.Text), true
	}
	return fmt.Sprintf("%s… %d more changed lines are not shown\n", d.Text, d.Omitted), true
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
		case r == '\u200c' || r == '\u200d': // the two joiners are part of ordinary words and signs
			b.WriteRune(r)
		case unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp):
			// A terminal or a browser acts on it instead of showing it.
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
