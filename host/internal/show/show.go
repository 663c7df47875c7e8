// Package show makes text of somebody else (paths, names, messages of tools) safe to print: it
// writes out every character that a terminal would act on, or that people cannot see.
package show

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/rangetable"

	"github.com/jptools/jptools/jptool/strictjson"
)

// Visible returns a value of somebody else (a path, a name) in a form for a line: as it is if every character is plainly
// visible, else quoted, with the other characters written out as in Go. Different values never look the same, except for
// letters that look like other letters.
func Visible(s string) string {
	if s != "" && !strings.ContainsRune(s, '"') && s[0] != ' ' && s[len(s)-1] != ' ' && escape(s, false) == s {
		return s
	}
	return `"` + escape(s, true) + `"`
}

// Line writes out the characters that do not show, without quotes around the text. It is for text that is quoted itself,
// such as a rendered configuration value.
func Line(s string) string { return escape(s, false) }

// Text returns text of several lines with every character written out that a terminal would act on or not show, except
// for line ends and tabs.
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

// Indented is Text whose lines after the first begin with an indent.
func Indented(s, indent string) string { return strings.ReplaceAll(Text(s), "\n", "\n"+indent) }

// maxMarks bounds the combining marks in a row that are shown; more would climb over the lines above.
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
				base = -1 // it is written out, so nothing combines with it
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

// shows reports whether a character is drawn on the terminal and does nothing else. IsPrint excludes unassigned
// characters, controls, format characters (bidirectional overrides, zero-width ones) and every space but U+0020; the
// properties exclude what Unicode lets a terminal ignore.
func shows(r rune) bool {
	switch {
	case r < 0x80:
		return r >= 0x20 && r < 0x7f
	case !unicode.IsPrint(r):
		return false
	}
	return !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, blanks)
}

// blanks are the characters that no property covers: symbols and letters that are drawn as nothing, and marks that only
// change or join what stands around them. Khmer and Myanmar marks are left out, because people cannot write these
// scripts without them.
var blanks = rangetable.New(
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

// marking decides which marks may stand after which characters, and remembers the script of the last mark.
type marking struct{ script *unicode.RangeTable }

// fits reports whether a mark may stand after a character. A mark of a script may stand only after a letter of that
// script: after others it is drawn as nothing, or anywhere.
func (m *marking) fits(mark, after rune) bool {
	if m.script == nil || !unicode.Is(m.script, mark) {
		m.script = nil
		for _, script := range unicode.Scripts {
			if unicode.Is(script, mark) {
				m.script = script
			}
		}
	}
	return m.script == nil || m.script == unicode.Inherited || m.script == unicode.Common || unicode.Is(m.script, after)
}

// plain are the characters that mean nothing to a shell or to its printf.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/+@-:=,"

// Word writes a text as one word for a shell, in a command that a message suggests: pasted into a POSIX shell it is that
// text and nothing else. It consists of visible characters only. A line end at the end of the text is lost.
func Word(s string) string {
	special := func(r rune) bool { return !strings.ContainsRune(plain+"%", r) }
	switch {
	case s != "" && !strings.ContainsFunc(s, special):
		return s
	case escape(s, false) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	// The shell must print such a character, because it cannot be written down visibly.
	var b strings.Builder
	for _, c := range []byte(s) {
		if strings.IndexByte(plain+" ", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\%03o`, c)
		}
	}
	return `"$(printf -- '` + b.String() + `')"`
}

// Home returns a path with ~ for the home directory.
func Home(path, home string) string {
	path, home = filepath.ToSlash(path), filepath.ToSlash(home)
	if rest, below := strings.CutPrefix(path, home+"/"); below && filepath.IsAbs(home) {
		return "~/" + rest
	}
	return path
}

// Short returns a value on one line of about most bytes. It replaces the middle of a longer value by its length and the
// digest of the whole value.
func Short(line string, most int) string {
	if len(line) <= most {
		return Line(line)
	}
	head, tail := most*3/4, len(line)-most/4
	for head > 0 && !utf8.RuneStart(line[head]) {
		head--
	}
	for tail < len(line) && !utf8.RuneStart(line[tail]) {
		tail++
	}
	return fmt.Sprintf("%s … %d more bytes, in all sha256:%.6x … %s", Line(line[:head]), tail-head, sha256.Sum256([]byte(line)), Line(line[tail:]))
}

// maxName is how many cells of a name stand in the line that is answered.
const maxName = 120

// Name returns a value of somebody else in a form for the line that is answered: visible, quoted if it could be read as
// words of that line, and not so long that its beginning leaves the screen.
func Name(s string) string {
	shown := Visible(s)
	if shown == s && strings.ContainsAny(s, " ?[]()") {
		shown = `"` + escape(s, true) + `"`
	}
	cells := []rune(shown)
	if len(cells) <= maxName {
		return shown
	}
	head, tail := maxName/2, len(cells)-maxName/2
	for tail < len(cells) && unicode.Is(unicode.M, cells[tail]) {
		tail++
	}
	return fmt.Sprintf("%s…(%d characters)…%s", string(cells[:head]), tail-head, string(cells[tail:]))
}

// NameEnd is Name of the last characters of a long name, at most most, from the beginning of a component of a path on if
// there is one. The end tells files apart better than the beginning.
func NameEnd(s string, most int) string {
	cells := []rune(s)
	if len(cells) <= most {
		return Name(s)
	}
	at := len(cells) - most
	if slash := slices.Index(cells[at:], '/'); slash >= 0 && at+slash+1 < len(cells) {
		at += slash
	}
	for at < len(cells) && unicode.Is(unicode.M, cells[at]) {
		at++
	}
	return Name("…" + string(cells[at:]))
}

// JSON returns the same JSON with \uXXXX for every character that a terminal would act on or not show, except for line
// ends and tabs. What is not UTF-8 becomes U+FFFD.
func JSON(data []byte) []byte {
	var out []byte
	for _, r := range string(data) {
		switch {
		case r == '\n', r == '\t', r != utf8.RuneError && shows(r):
			out = utf8.AppendRune(out, r)
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		}
	}
	return out
}

// Value returns a value of an argument or a setting as JSON on one line, in visible characters.
func Value(v any) string {
	data, err := strictjson.Marshal(v, "")
	if err != nil {
		return Visible(fmt.Sprint(v)) // TOML has numbers and times that JSON has not
	}
	return Line(string(data))
}
