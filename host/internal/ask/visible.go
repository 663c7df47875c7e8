package ask

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible returns a value of somebody else (a path, a name) fit to stand in a line: as
// it is when every character is plainly visible, else quoted with the others written out
// as in Go. Different values never look the same but for look-alike letters.
func Visible(s string) string {
	if s != "" && !strings.ContainsRune(s, '"') && s[0] != ' ' && s[len(s)-1] != ' ' && escape(s, false) == s {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	b.WriteString(escape(s, true))
	b.WriteByte('"')
	return b.String()
}

// VisibleLine is for text that is quoted or escaped in itself, such as a rendered config value: nothing is
// put around it and what does not show is written out.
func VisibleLine(s string) string { return escape(s, false) }

// VisibleText returns text of several lines with everything written out that a terminal
// would act on or not show; only line ends and tabs stay.
func VisibleText(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, line := range lines {
		cells := strings.Split(line, "\t")
		for j := range cells {
			cells[j] = escape(cells[j], false)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// maxMarks is how many combining marks in a row are shown; more would climb over the
// lines above.
const maxMarks = 4

func escape(s string, quoted bool) string {
	var b strings.Builder
	marks := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.Is(unicode.M, r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case quoted && (r == '"' || r == '\\'):
			b.WriteByte('\\')
			b.WriteRune(r)
		case shows(r) && marks <= maxMarks && (marks == 0 || i > 0):
			b.WriteString(s[i : i+size])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
		i += size
	}
	return b.String()
}

// shows reports whether a character leaves a mark on the terminal and does nothing else.
// IsPrint excludes controls, format characters (bidirectional overrides,
// zero-width ones) and every space but U+0020; what follows are letters that print as blanks.
func shows(r rune) bool {
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2800, 0x3164, 0xffa0:
		return false
	}
	// Variation selectors change or hide nothing that could be told by looking.
	if r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180f {
		return false
	}
	return unicode.IsPrint(r)
}

// manyLines is more than a screen has.
const manyLines = 100

// MaxShown is how many bytes of Message.Quoted are shown, so that a long one cannot bury what
// matters for ever; the message says how many were left out.
const MaxShown = 256 << 10

// maxLine is how many bytes of a line of Message.Body are shown: its beginning and its end. A longer
// one is some value whose end would be far below its beginning.
const maxLine = 1 << 10

// short cuts the middle out of a line, saying how much that is and what it was.
func short(line string) string {
	if len(line) <= maxLine {
		return VisibleLine(line)
	}
	head, tail := maxLine*3/4, len(line)-maxLine/4
	for !utf8.RuneStart(line[head]) && head > 0 {
		head--
	}
	for tail < len(line) && !utf8.RuneStart(line[tail]) {
		tail++
	}
	return fmt.Sprintf("%s … %d more bytes, in all sha256:%.6x … %s", VisibleLine(line[:head]), tail-head, sha256.Sum256([]byte(line)), VisibleLine(line[tail:]))
}

// render lays out a message: the host's text, then the quoted one behind bars.
func render(m Message) string {
	var b strings.Builder
	if m.Body != "" {
		for line := range strings.SplitSeq(strings.TrimSuffix(m.Body, "\n"), "\n") {
			for i, cell := range strings.Split(line, "\t") {
				if i > 0 {
					b.WriteByte('\t')
				}
				b.WriteString(short(cell))
			}
			b.WriteByte('\n')
		}
	}
	if m.Quoted != "" {
		text, cut := m.Quoted, 0
		if len(text) > MaxShown {
			text, cut = text[:MaxShown], len(text)-MaxShown
		}
		for line := range strings.SplitSeq(strings.TrimRight(VisibleText(text), "\n"), "\n") {
			b.WriteString("  | ")
			b.WriteString(line)
			b.WriteByte('\n')
		}
		if cut > 0 {
			fmt.Fprintf(&b, "(%d more bytes are not shown)\n", cut)
		} else if n := strings.Count(text, "\n"); n > manyLines {
			fmt.Fprintf(&b, "(%d lines in all)\n", n)
		}
	}
	return b.String()
}
