package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/jptools/jptools/tools/fskit/diff"
)

// Hint is what can be said about a pattern that matched nowhere. It is for the message
// only: nothing is ever written by it.
type Hint struct {
	// Notes are sentences about what may be wrong with the pattern.
	Notes []string
	// Places are the passages that are most like what was asked for, best first.
	Places []Place
}

// Place is a passage of whole lines.
type Place struct {
	Line        int          `json:"start_line"` // from 1
	EndLine     int          `json:"end_line"`
	Text        string       `json:"text"` // as in the content, with LF line ends; bounded
	Cut         bool         `json:"-"`    // Text is not all of it
	Why         string       `json:"-"`    // what differs, or "" when it is only similar
	Differences []Difference `json:"-"`
}

// Difference is a run of lines that are not the same, made visible: a tab as →, spaces
// that are easily overlooked as ·. Want is of the pattern, Got of the content, which has
// it at Line.
type Difference struct {
	Line      int
	Want, Got []string
}

const (
	nearestBytes = 4 << 20 // of the content, for all that is not plain search
	hintRegex    = 500     // bytes of a text that is tried as a regex
	placesMost   = 3       // places and lines told
	placeLines   = 40      // of Text
	placeBytes   = 3 << 10 // of Text
	diffsMost    = 5       // per place
	shownLine    = 200     // bytes of a line in a difference
)

// Nearest looks for what a pattern that matches nowhere in v may have meant.
func Nearest(c *Compiled, v *View) Hint {
	var h Hint
	text := v.text()
	note := func(s string) { h.Notes = append(h.Notes, s) }
	if lines := occurrences(text, toLF([]byte(c.New))); len(lines) > 0 && !c.Regex && telling(c.New) && !strings.Contains(c.Old, c.New) {
		note("already applied? The text of `new` is there, at " + lineList(lines))
	}
	if c.Regex {
		if lines := occurrences(text, c.old); len(lines) > 0 {
			note("as plain text, not as a regex, it is there, at " + lineList(lines) + "; set `regex` to false for this pattern")
		}
		return h
	}
	if old := unescape.Replace(c.Old); old != c.Old {
		if lines := occurrences(text, []byte(old)); len(lines) > 0 {
			note("it has escapes such as `\\n` as two characters; with the characters they stand for it is there, at " + lineList(lines))
		}
	}
	if len(text) > nearestBytes {
		text = text[:nearestBytes]
		text = text[:bytes.LastIndexByte(text, '\n')+1]
		note("only the first 4 MiB of the file were searched for similar text")
	}
	if len(c.Old) <= hintRegex && looksLikeRegex(c.Old) {
		if re, err := regexp.Compile("(?m)" + c.Old); err == nil && re.Match(text) {
			note("as a regex it would match; set `regex` to true for this pattern")
		}
	}
	if old := stripNumbers(string(c.old)); old != "" {
		if lines := occurrences(text, []byte(old)); len(lines) > 0 {
			note("its lines begin with line numbers, which are not part of the file; without them it is there, at " + lineList(lines))
		}
	}
	l := newLines(text)
	if h.Places = l.sameBut(c.old); len(h.Places) == 0 {
		h.Places = l.similar(c.old)
	}
	return h
}

var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)

// telling reports whether finding s somewhere means anything.
func telling(s string) bool { return len(strings.TrimSpace(s)) >= 4 }

func looksLikeRegex(s string) bool {
	signs := []string{`\d`, `\w`, `\s`, `\b`, `\.`, `\(`, `.*`, `.+`, `[^`, `(?`}
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(s, sign) })
}

// occurrences returns the lines where s begins in text.
func occurrences(text, s []byte) []int {
	if len(s) == 0 {
		return nil
	}
	var list []int
	line := 1
	for len(list) < placesMost {
		i := bytes.Index(text, s)
		if i < 0 {
			break
		}
		line += bytes.Count(text[:i], lf)
		list = append(list, line)
		line += bytes.Count(text[i:i+len(s)], lf)
		text = text[i+len(s):]
	}
	return list
}

// number is how reading tools begin a line.
var number = regexp.MustCompile(`^ *[0-9]+(?:\t|: |:| \| |\||→| |$)`)

// stripNumbers takes the line numbers off lines as a reading tool shows them, "" when
// some line has none.
func stripNumbers(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		at := number.FindStringIndex(line)
		switch {
		case at != nil:
			lines[i] = line[at[1]:]
		case line != "" || i == 0 || i < len(lines)-1:
			return ""
		}
	}
	if s = strings.Join(lines, "\n"); strings.TrimSpace(s) == "" {
		return ""
	}
	return s
}

// lines is a text with its line starts.
type lines struct {
	text   []byte
	starts []int // and the end
}

func newLines(text []byte) *lines {
	l := &lines{text: text, starts: []int{0}}
	for line := range bytes.Lines(text) {
		l.starts = append(l.starts, l.starts[len(l.starts)-1]+len(line))
	}
	return l
}

func (l *lines) count() int { return len(l.starts) - 1 }

// line returns line i, from 0, without its end.
func (l *lines) line(i int) []byte {
	return bytes.TrimSuffix(l.text[l.starts[i]:l.starts[i+1]], lf)
}

// at returns the line, from 0, that an offset is on.
func (l *lines) at(offset int) int {
	return min(bytes.Count(l.text[:offset], lf), max(0, l.count()-1))
}

// sameBut finds passages that differ from old in white space or in case only.
func (l *lines) sameBut(old []byte) []Place {
	for _, w := range []struct {
		why    string
		reduce func(r rune) rune
	}{
		{"only white space differs", func(r rune) rune {
			if unicode.IsSpace(r) || r == '\ufeff' || r == '\u200b' {
				return -1
			}
			return r
		}},
		{"only upper and lower case differ", unicode.ToLower},
		{"only the kind of quotes, dashes or spaces differs", plainSign},
	} {
		want := bytes.Map(w.reduce, old)
		if len(want) == 0 {
			continue
		}
		text, offsets := reduced(l.text, w.reduce)
		var list []Place
		for at := 0; len(list) < placesMost; {
			i := bytes.Index(text[at:], want)
			if i < 0 {
				break
			}
			from := l.at(int(offsets[at+i]))
			at += i + len(want)
			list = append(list, l.place(from, l.at(int(offsets[at-1])), w.why, old))
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// plainSign makes typographic signs plain, as models and editors exchange them.
func plainSign(r rune) rune {
	switch r {
	case '‘', '’', '‚', '′', '`':
		return '\''
	case '“', '”', '„', '″', '«', '»':
		return '"'
	case '‐', '‑', '‒', '–', '—', '−':
		return '-'
	}
	if unicode.Is(unicode.Zs, r) {
		return ' '
	}
	return r
}

// reduced maps every character and returns for each byte of the result where it was.
func reduced(text []byte, reduce func(rune) rune) ([]byte, []int32) {
	out, offsets := make([]byte, 0, len(text)), make([]int32, 0, len(text))
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			out, offsets = append(out, text[i]), append(offsets, int32(i))
		} else if r = reduce(r); r >= 0 {
			out = utf8.AppendRune(out, r)
			for len(offsets) < len(out) {
				offsets = append(offsets, int32(i))
			}
		}
		i += n
	}
	return out, offsets
}

// place describes the lines from and to, both from 0 and inclusive.
func (l *lines) place(from, to int, why string, old []byte) Place {
	p := Place{Line: from + 1, EndLine: to + 1, Why: why}
	whole := l.text[l.starts[from]:l.starts[to+1]]
	last := min(to, from+placeLines-1)
	shown := l.text[l.starts[from]:l.starts[last+1]]
	if len(shown) > placeBytes {
		shown = shown[:placeBytes]
		for len(shown) > 0 && !utf8.RuneStart(whole[len(shown)]) {
			shown = shown[:len(shown)-1]
		}
	}
	p.Text, p.Cut = string(shown), len(shown) < len(whole)
	p.Differences = differences(old, whole, from+1)
	return p
}

// differences compares line by line. The first and the last line of the pattern may be
// parts of lines, which is no difference.
func differences(old, whole []byte, line int) []Difference {
	want, got := strings.TrimSuffix(string(old), "\n"), strings.TrimSuffix(string(whole), "\n")
	first, rest, many := strings.Cut(want, "\n")
	if full, _, _ := strings.Cut(got, "\n"); many && strings.HasSuffix(full, first) {
		want = full + "\n" + rest
	}
	if i, j := strings.LastIndexByte(want, '\n')+1, strings.LastIndexByte(got, '\n')+1; many && strings.HasPrefix(got[j:], want[i:]) {
		want = want[:i] + got[j:]
	}
	want, got = want+"\n", got+"\n"
	var list []Difference
	moved := 0 // by how many lines the differences so far move the content against the pattern
	for _, e := range udiff.Lines(want, got) {
		if len(list) == diffsMost {
			break
		}
		// e is about want; the same run of got begins after as many equal lines.
		d := Difference{
			Line: line + strings.Count(want[:e.Start], "\n") + moved,
			Want: visibleLines(want[e.Start:e.End]), Got: visibleLines(e.New),
		}
		list = append(list, d)
		moved += len(d.Got) - len(d.Want)
	}
	return list
}

func visibleLines(s string) []string {
	var list []string
	for line := range strings.Lines(s) {
		list = append(list, visibleSpace(strings.TrimSuffix(line, "\n")))
	}
	return list
}

// visibleSpace shows a line with tabs as →, spaces at its ends and in runs as ·, other
// spaces and what a terminal would act on by their code; a long line is cut.
func visibleSpace(line string) string {
	cut := ""
	if len(line) > shownLine {
		n := shownLine
		for n > 0 && !utf8.RuneStart(line[n]) {
			n--
		}
		line, cut = line[:n], "…"
	}
	var b strings.Builder
	trimmed := strings.TrimLeft(line, " \t")
	lead := len(line) - len(trimmed)
	tail := len(strings.TrimRight(line, " \t"))
	for i, r := range line {
		switch {
		case r == '\t':
			b.WriteString("→")
		case r == ' ' && (i < lead || i >= tail || line[i-1] == ' ' || line[i+1] == ' '):
			b.WriteString("·")
		case r != ' ' && unicode.Is(unicode.Zs, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(diff.Visible([]byte(string(r))))
		}
	}
	return b.String() + cut
}
