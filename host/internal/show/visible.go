package show

import (
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

// Line is for text that is quoted or escaped in itself, such as a rendered config value: nothing is
// put around it and what does not show is written out.
func Line(s string) string { return escape(s, false) }

// Text returns text of several lines with everything written out that a terminal
// would act on or not show; only line ends and tabs stay.
func Text(s string) string {
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
	marks, base, joins := 0, rune(-1), true
	var scripts marking
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r >= 0x300 && unicode.Is(unicode.M, r) {
			marks++
			joins = base >= 0 && scripts.fits(r, base)
		} else {
			marks, base, joins = 0, r, true
			if !shows(r) {
				base = -1 // it is written out, so that nothing combines with it
			}
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case quoted && (r == '"' || r == '\\'):
			b.WriteByte('\\')
			b.WriteRune(r)
		case shows(r) && marks <= maxMarks && joins:
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

// shows reports whether a character leaves a mark on the terminal and does nothing else. The kinds decide:
// IsPrint excludes what is not assigned, controls, format characters (bidirectional overrides,
// zero-width ones) and every space but U+0020; the properties exclude what Unicode lets a terminal ignore.
func shows(r rune) bool {
	switch {
	case r < 0x80:
		return r >= 0x20 && r < 0x7f
	case !unicode.IsPrint(r):
		return false
	}
	return !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blanks)
}

// blanks are the characters that no property tells: symbols and letters that are drawn as nothing, and marks
// that only change or join what stands around them. Khmer and Myanmar are left out, which cannot be
// written without such a mark.
var blanks = rangetable(
	0x17b4, 0x17b5, // Khmer inherent vowels
	0x180b, 0x180c, 0x180d, 0x180f, // Mongolian variation selectors
	0x1a60,  // Tai Tham stacker
	0x2800,  // Braille blank
	0x2d7f,  // Tifinagh joiner
	0x303f,  // ideographic half fill space
	0xfffc,  // object replacement
	0x10a3f, // Kharoshthi stacker
	0x1107f, // Brahmi number joiner
	0x11133, // Chakma stacker
	0x1193e, // Dives Akuru stacker
	0x11a47, // Zanabazar Square stacker
	0x11a99, // Soyombo stacker
	0x11d97, // Gunjala Gondi stacker
	0x11f42, // Kawi stacker
	0x13441, // Egyptian full blank
	0x13442, // Egyptian half blank
	0x16fe4, // Khitan filler
	0x1d159, // musical null notehead
)

func rangetable(list ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for _, r := range list {
		if r < 0x10000 {
			t.R16 = append(t.R16, unicode.Range16{Lo: uint16(r), Hi: uint16(r), Stride: 1})
		} else {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(r), Hi: uint32(r), Stride: 1})
		}
	}
	return t
}

// marking knows which marks may stand after which characters.
type marking struct{ script *unicode.RangeTable }

// fits reports whether a mark may stand after a character: one that belongs to a script only
// after a letter of that script. After others it is drawn as nothing, or anywhere.
func (m *marking) fits(mark, after rune) bool {
	if m.script == nil || !unicode.Is(m.script, mark) {
		m.script = scriptOf(mark)
	}
	return m.script == nil || m.script == unicode.Inherited || m.script == unicode.Common || unicode.Is(m.script, after)
}

func scriptOf(r rune) *unicode.RangeTable {
	for _, t := range unicode.Scripts {
		if unicode.Is(t, r) {
			return t
		}
	}
	return nil
}
