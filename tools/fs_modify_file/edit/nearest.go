package edit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	noteIfThere := func(s, format string) {
		if lines := occurrences(text, []byte(s)); len(lines) > 0 {
			note(fmt.Sprintf(format, lineList(lines)))
		}
	}
	if !c.Regex && len(strings.TrimSpace(c.New)) >= 4 && !strings.Contains(c.Old, c.New) {
		noteIfThere(string(toLF([]byte(c.New))), "already applied? The text of `new` is there, at %s")
	}
	if c.Regex {
		noteIfThere(string(c.old), "as plain text, not as a regex, it is there, at %s; set `regex` to false for this pattern")
		return h
	}
	if old := unescape.Replace(c.Old); old != c.Old {
		noteIfThere(old, "it has escapes such as `\\n` as two characters; with the characters they stand for it is there, at %s")
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
	noteIfThere(stripNumbers(string(c.old)), "its lines begin with line numbers, which are not part of the file; without them it is there, at %s")
	l := lines(slices.Collect(bytes.Lines(text)))
	if h.Places = l.sameBut(text, c.old); len(h.Places) == 0 {
		h.Places = l.similar(c.old)
	}
	return h
}

var unescape = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)

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

// lines are those of a text, with their ends.
type lines [][]byte

// sameBut finds passages of text that differ from old in white space or in case only.
func (l lines) sameBut(text, old []byte) []Place {
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
		reduced, offsets := reduced(text, w.reduce)
		line := func(at int) int { return bytes.Count(text[:offsets[at]], lf) }
		var list []Place
		for at := 0; len(list) < placesMost; {
			i := bytes.Index(reduced[at:], want)
			if i < 0 {
				break
			}
			from := line(at + i)
			at += i + len(want)
			list = append(list, l.place(from, line(at-1), w.why, old))
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
func (l lines) place(from, to int, why string, old []byte) Place {
	p := Place{Line: from + 1, EndLine: to + 1, Why: why}
	whole := bytes.Join(l[from:to+1], nil)
	shown := bytes.Join(l[from:min(to+1, from+placeLines)], nil)
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

const (
	similarLines = 40  // of the pattern that take part
	similarLeast = 0.5 // of the score that a passage needs
)

// similar finds the passages with most three-byte sequences in common with old, line
// by line; white space counts little. It is linear in the text.
func (l lines) similar(old []byte) []Place {
	pattern := lines(slices.Collect(bytes.Lines(bytes.Trim(old, "\n"))))
	n := min(len(pattern), similarLines)
	if n <= 0 || len(l) == 0 {
		return nil
	}
	s := newScorer(pattern, n)
	if s.total == 0 {
		return nil
	}
	// scores[i] is of the passage whose first line is i-(n-1).
	scores := make([]float32, len(l)+n-1)
	for i := range len(l) {
		for j, sim := range s.line(l[i]) {
			if sim > 0.3 {
				scores[i-j+n-1] += sim * s.weight[j]
			}
		}
	}
	var list []Place
	least := float32(similarLeast) * s.total
	for len(list) < placesMost {
		best := 0
		for i := range scores {
			if scores[i] > scores[best] {
				best = i
			}
		}
		if scores[best] < least {
			break
		}
		least = max(least, 0.9*scores[best])
		from := best - (n - 1)
		for i := max(0, best-n+1); i < min(len(scores), best+n); i++ {
			scores[i] = 0
		}
		to := min(from+len(pattern)-1, len(l)-1)
		from = max(0, from)
		if to >= from {
			from, to = l.stretch(s, from, to)
			list = append(list, l.place(from, to, "", old))
		}
	}
	return list
}

// stretch moves both ends of a passage to the lines that are most like the first and the
// last of the pattern, when they stand near: the content may have more lines or fewer.
func (l lines) stretch(s *scorer, from, to int) (int, int) {
	last := len(s.weight) - 1
	if last < 1 {
		return from, to
	}
	near := func(i, j int) int {
		best, at := float32(0.8), i
		for _, d := range []int{0, 1, -1, 2, -2, 3, -3} {
			if k := i + d; k >= 0 && k < len(l) {
				if sim := s.line(l[k])[j]; sim > best {
					best, at = sim, k
				}
			}
		}
		return at
	}
	first := near(from, 0)
	if last < similarLines-1 {
		to = near(to, last)
	}
	return min(first, to), to
}

// scorer compares lines with the lines of a pattern.
type scorer struct {
	weight []float32 // of each line of the pattern: how many sequences it has
	total  float32
	in     map[[3]byte][]int // the pattern's lines that have a sequence
	seen   map[[3]byte]bool  // those of them that the line at hand has
	sims   []float32
}

func newScorer(pattern lines, n int) *scorer {
	s := &scorer{
		weight: make([]float32, n), sims: make([]float32, n),
		in: map[[3]byte][]int{}, seen: map[[3]byte]bool{},
	}
	for j := range n {
		for _, key := range sequences(pattern[j]) {
			if !slices.Contains(s.in[key], j) {
				s.in[key] = append(s.in[key], j)
				s.weight[j]++
				s.total++
			}
		}
	}
	return s
}

// sequences lists the three-byte sequences of a line, without regard to indentation and
// to the amount of white space.
func sequences(line []byte) [][3]byte {
	text := []byte{' '}
	for _, f := range bytes.Fields(line) {
		text = append(append(text, f...), ' ')
	}
	var list [][3]byte
	for i := 0; i+3 <= len(text); i++ {
		list = append(list, [3]byte(text[i:]))
	}
	return list
}

// line returns how like the line is to each line of the pattern, 0 to 1. The first and
// the last line of a pattern may be parts of lines. The result is valid until the next call.
func (s *scorer) line(line []byte) []float32 {
	clear(s.seen)
	clear(s.sims)
	keys := sequences(line)
	for _, key := range keys {
		if in := s.in[key]; in != nil && !s.seen[key] {
			s.seen[key] = true
			for _, j := range in {
				s.sims[j]++
			}
		}
	}
	for j, common := range s.sims {
		if common == 0 {
			continue
		}
		s.sims[j] = 2 * common / max(float32(len(keys))+s.weight[j], 2*common)
		if j == 0 || j == len(s.sims)-1 {
			s.sims[j] = max(s.sims[j], 0.9*common/s.weight[j])
		}
	}
	return s.sims
}

// lineList is "line 3" or "lines 3, 8 and 12".
func lineList(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var list []string
	for _, n := range lines {
		list = append(list, strconv.Itoa(n))
	}
	last := len(list) - 1
	return "lines " + strings.Join(list[:last], ", ") + " and " + list[last]
}
