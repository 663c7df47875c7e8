package term

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/jptools/jptools/host/internal/show"
)

// MaxShown and MaxLines bound the bytes and lines of Message.Quoted that are shown, so that a long text cannot bury what
// matters. The message says how many bytes are left out.
const (
	MaxShown = 64 << 10
	MaxLines = 1000
)

// Whole reports whether all of a text would be shown as Message.Quoted.
func Whole(text string) bool {
	return len(cut(text, MaxShown, MaxLines)) == len(text)
}

// Viewable reports whether all of a text can be looked at in the pager.
func Viewable(text string) bool { return len(text) <= maxPaged }

// maxLine bounds the bytes of a line of Message.Body that are shown: its beginning and its end. A longer line holds some
// value whose end would stand far below its beginning.
const maxLine = 1 << 10

// Bar stands before every row of somebody else's text, and before every row that continues the one above.
const Bar = "  | "

// The least width of a layout, and the screen that is assumed if the terminal does not know its size.
const (
	leastColumns = 16
	usualColumns = 80
	usualRows    = 24
	tabStop      = 8
)

// layout breaks text into rows no wider than the screen. A terminal would break a longer row itself, and continue at the
// first column, where only the host's own words may stand.
type layout struct {
	columns int
	colours bool
	// indent stands before each row, and is not counted in columns.
	indent string
	// whole: quoted texts are shown whole, as far as the pager goes.
	whole bool
	b     strings.Builder
	rows  int
}

func newLayout(columns int) *layout { return &layout{columns: max(columns, leastColumns)} }

// line writes one line of visible characters in as many rows as it takes: the first row behind first, the others behind
// the bar. Rows end at the width or, if soft, behind a blank near it; then the others stand below the text of the first.
func (l *layout) line(first, text string, soft bool) { l.inked(first, text, soft, ink{}) }

// inked is line in colours.
func (l *layout) inked(first, text string, soft bool, look ink) {
	room := l.columns - 1 // some terminals break a row that just fits
	prefix, used := first, len(first)
	indent := len(text) - len(strings.TrimLeft(text, " "))
	below := Bar // begins the other rows, if they have room for it
	if soft && indent > 0 {
		below += strings.Repeat(" ", indent+2)
	}
	start, at := 0, 0
	blank, after := 0, 0 // where the row could end, and the cells used until there
	for at < len(text) {
		n, cells := cluster(text[at:])
		if used+cells > room {
			end, kept := at, used
			if soft && blank > max(start, indent) && after > room/2 {
				end, kept = blank, after
			}
			l.row(prefix, text, span{start, end}, look)
			if prefix = below; len(below) > room/2 || len(below)+used-kept+cells > room {
				prefix = Bar
			}
			used, start = len(prefix)+used-kept, end
		}
		at += n
		used += cells
		if text[at-n] == ' ' {
			blank, after = at, used
		}
	}
	l.row(prefix, text, span{start, len(text)}, look)
}

// row writes a part of a line. No colour goes beyond the end of the row, nor touches the prefix.
func (l *layout) row(prefix, text string, part span, look ink) {
	l.b.WriteString(l.indent + prefix)
	if l.colours && look.code != "" && part.from < part.to {
		l.b.WriteString("\x1b[" + look.code + "m")
		at := part.from
		for _, m := range look.marks {
			from, to := min(max(m.from, at), part.to), min(m.to, part.to)
			if from >= to {
				continue
			}
			l.b.WriteString(text[at:from] + "\x1b[7m" + text[from:to] + "\x1b[27m")
			at = to
		}
		l.b.WriteString(text[at:part.to] + "\x1b[0m")
	} else {
		l.b.WriteString(text[part.from:part.to])
	}
	l.b.WriteByte('\n')
	l.rows++
}

// cluster is the bytes of a character with the marks on it, and the most cells that it takes.
func cluster(s string) (n, cells int) {
	r, n := utf8.DecodeRuneInString(s)
	cells = mostCells(r)
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if r < 0x300 || !unicode.Is(unicode.M, r) {
			break
		}
		n += size
		cells += mostCells(r)
	}
	return n, cells
}

// wide is the most cells that a text takes.
func wide(s string) (cells int) {
	for s != "" {
		n, c := cluster(s)
		cells, s = cells+c, s[n:]
	}
	return cells
}

// mostCells is the most cells that any terminal takes for a character. Terminals differ about symbols and about what
// Unicode calls ambiguous, and some give marks a cell of their own. A row that is too short does no harm; a row that is
// too long leaves the bar.
func mostCells(r rune) int {
	switch {
	case r < 0x80:
		return 1
	case r == 0x2e3a, r == 0x2e3b: // dashes as wide as two and three letters
		return 4
	case r >= 0x1f000, unicode.Is(unicode.So, r):
		return 2
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianAmbiguous:
		return 2
	}
	return 1
}

// expand replaces tabs by blanks, so that the width of a line is known.
func expand(line string) string {
	var b strings.Builder
	for column := 0; line != ""; {
		n, cells := cluster(line)
		text := line[:n]
		if text == "\t" {
			cells = tabStop - column%tabStop
			text = strings.Repeat(" ", cells)
		}
		b.WriteString(text)
		column, line = column+cells, line[n:]
	}
	return b.String()
}

// message lays out what stands before a question: the host's text, then the quoted text behind bars.
func (l *layout) message(m Message) {
	if m.Body != "" {
		for line := range strings.SplitSeq(strings.TrimSuffix(m.Body, "\n"), "\n") {
			cells := strings.Split(line, "\t")
			for i := range cells {
				cells[i] = show.Short(cells[i], maxLine)
			}
			l.line("", expand(strings.Join(cells, "\t")), true)
		}
	}
	if m.Quoted != "" {
		text := cut(m.Quoted, MaxShown, MaxLines)
		if l.whole {
			text = cut(m.Quoted, maxPaged, maxPaged)
		}
		l.barred(text, m.Prose, m.Diff)
		if more := len(m.Quoted) - len(text); more > 0 {
			l.line("", fmt.Sprintf("(%d more bytes are not shown)", more), true)
		}
	}
	for _, then := range m.Then {
		l.message(then)
	}
}

// Barred lays out a text of somebody else for a terminal of this width (0 if unknown), with a bar before each row.
func Barred(text string, columns int) string {
	if columns <= 0 {
		columns = usualColumns
	}
	l := newLayout(columns)
	l.barred(text, false, false)
	return l.b.String()
}

func (l *layout) barred(text string, soft, diff bool) {
	lines := strings.Split(strings.TrimRight(show.Text(text), "\n"), "\n")
	for i := range lines {
		lines[i] = expand(lines[i])
	}
	inks := make([]ink, len(lines))
	if diff {
		inks = paint(lines)
	}
	for i, look := range inks {
		l.inked(Bar, lines[i], soft || i == 0, look) // a text begins with a sentence
	}
}

// cut is the part of a quoted text that is shown: so many bytes and lines at most.
func cut(text string, size, count int) string {
	text = text[:min(len(text), size)]
	lines := strings.SplitAfterN(text, "\n", count+1)
	if len(lines) <= count || strings.Trim(lines[count], "\n") == "" {
		return text
	}
	return strings.Join(lines[:count], "")
}

// view is what a terminal can show.
type view struct {
	columns, rows int
	colours       bool
}

// screen lays out a question for a terminal: the text above, and the question, behind whose last row the
// answer is typed. keys says what can be answered, above the question; "" if the hint says it. The hint begins with a
// word of the host's; it has a row of its own if both need more than one. If the terminal has fewer rows, the text ends
// with their number, and below it the first line is repeated, so that the question and its subject are seen together. A
// question with keys names its subject itself.
func (v view) screen(m Message, list []string, keys, prompt, hint string) (above, question string) {
	l := newLayout(v.columns)
	l.colours = v.colours
	l.message(m)
	for _, item := range list {
		l.line("", item, true)
	}
	q, k := newLayout(v.columns-answerCells), newLayout(v.columns)
	if q.line("", show.Line(prompt+" "+hint), true); q.rows > 1 && hint != "" {
		q = newLayout(v.columns - answerCells)
		q.line("", show.Line(prompt), true)
		q.line("", show.Line(hint), true)
	}
	if keys != "" {
		k.colours = v.colours
		for line := range strings.SplitSeq(keys, "\n") {
			k.inked("", line, true, ink{code: inkKeys})
		}
	}
	switch n := l.rows; {
	case n+k.rows+q.rows <= v.rows:
	case keys != "":
		l.line("", fmt.Sprintf("(%d rows in all; v shows them page by page)", n), true)
	default:
		l.line("", fmt.Sprintf("(%d rows in all; the screen has %d)", n, v.rows), true)
		head, _, _ := strings.Cut(m.Body, "\n")
		l.line("", show.Short(head, 120), true)
	}
	return l.b.String() + k.b.String(), strings.TrimSuffix(q.b.String(), "\n")
}

// answerCells are the cells that an answer and the cursor need behind the question.
const answerCells = 5
