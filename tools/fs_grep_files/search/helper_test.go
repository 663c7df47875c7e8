package search

import (
	"bytes"
	"fmt"
	"math/rand"
	"regexp"
	"strings"
)

// recorder keeps what it is told, a line of text each.
type recorder struct {
	out   []string
	spans bool
}

func (r *recorder) Line(l *Line) {
	mark := ":"
	if l.Context {
		mark = "-"
	}
	s := fmt.Sprintf("%d%s%s", l.Number, mark, l.Bytes)
	if r.spans && !l.Context {
		start, end := l.Span()
		s += fmt.Sprintf(" [%d,%d]", start, end)
	}
	r.out = append(r.out, s)
}

func (r *recorder) Break() { r.out = append(r.out, "--") }

// nullSink ignores what it is told.
type nullSink struct{}

func (nullSink) Line(*Line) {}
func (nullSink) Break()     {}

// splitLines cuts a text at "\n"; there is no line after the last one.
func splitLines(text []byte) [][]byte {
	lines := bytes.Split(text, []byte("\n"))
	if len(lines[len(lines)-1]) == 0 {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// oracleSpec is a search as the oracle does it.
type oracleSpec struct {
	pattern       string
	fold, multi   bool
	before, after int
	limit         int64
}

// oracle does a search in the simplest way there is.
func oracle(o oracleSpec, text []byte) (out []string, matches int64) {
	flags := "m"
	if o.fold {
		flags = "mi"
	}
	re := regexp.MustCompile("(?" + flags + ")" + o.pattern)
	lines := splitLines(text)
	type span struct{ start, end int }
	found := map[int]span{}
	if o.multi {
		at := 0
		type bound struct{ ls, le int }
		var bounds []bound
		for _, l := range lines {
			bounds = append(bounds, bound{at, at + len(l)})
			at += len(l) + 1
		}
		for _, loc := range re.FindAllIndex(text, -1) {
			for i, b := range bounds {
				last := max(loc[0], loc[1]-1)
				if b.le < loc[0] || b.ls > last {
					continue
				}
				if _, ok := found[i]; !ok {
					start := max(loc[0], b.ls)
					found[i] = span{start - b.ls, max(start, min(loc[1], b.le)) - b.ls}
				}
			}
		}
	} else {
		for i, l := range lines {
			if loc := re.FindIndex(l); loc != nil {
				found[i] = span{loc[0], loc[1]}
			}
		}
	}
	shown := -1
	due := 0
	for i, l := range lines {
		sp, ok := found[i]
		if !ok {
			if due > 0 {
				out = append(out, fmt.Sprintf("%d-%s", i+1, l))
				shown = i
				due--
			}
			continue
		}
		matches++
		if o.limit > 0 && matches > o.limit {
			due = 0
			continue
		}
		from := max(shown+1, i-o.before)
		if shown >= 0 && from > shown+1 && o.before+o.after > 0 {
			out = append(out, "--")
		}
		for j := from; j < i; j++ {
			out = append(out, fmt.Sprintf("%d-%s", j+1, lines[j]))
		}
		out = append(out, fmt.Sprintf("%d:%s [%d,%d]", i+1, l, sp.start, sp.end))
		shown, due = i, o.after
	}
	return out, matches
}

// randomPattern returns a pattern that is likely, not sure, to be valid.
func randomPattern(r *rand.Rand, depth int, multi bool) string {
	atoms := []string{
		"a", "b", "c", "foo", "bar", "ab", "_", "ABC", "k", "s", "task", "é", "世", "x", "\\.", "9",
		".", "[a-c]", "[^a]", "[^\\n]", "\\w", "\\W", "\\s", "\\S", "\\d", "\\D", "[é-ü]", "\\pL", "[[:upper:]]",
		"^", "$", "\\b", "\\B", "\\A", "\\z", "(?i:s)", "(?i:foo)", "(?i:[a-k])", "(?i:é)", "(?s:.)",
		"\\x{fffd}", "[^x]", "(?-m:^)", "(?-m:$)", "", "ſ", "\\x{212a}", "[\\x{0}-\\x{10ffff}]", "\\r",
	}
	if multi {
		atoms = append(atoms, "\\n", "\n", "\\s+", "(?s:.*)", "[\\s\\S]", "\\n\\n")
	}
	if depth <= 0 {
		return atoms[r.Intn(len(atoms))]
	}
	sub := func() string { return randomPattern(r, depth-1-r.Intn(2), multi) }
	switch r.Intn(8) {
	case 0, 1, 2:
		return sub() + sub()
	case 3:
		return "(?:" + sub() + "|" + sub() + ")"
	case 4:
		return "(" + sub() + ")" + []string{"*", "+", "?", "*?", "+?", "??", "{2}", "{1,3}", "{0,2}", "{3,}"}[r.Intn(10)]
	case 5:
		return "(" + sub() + "|" + sub() + "|" + sub() + ")"
	case 6:
		return sub() + sub() + sub()
	}
	return sub()
}

// randomText returns a text of the pieces that randomPattern is about, with some
// invalid UTF-8.
func randomText(r *rand.Rand, pieces int) []byte {
	words := []string{
		"a", "b", "c", "foo", "bar", "ab", "_", "ABC", "FOO", "Foo", "k", "K", "s", "S", "task", "TASK", "taſk",
		"tas\u212a", "é", "É", "世", "x", ".", "9", "42", " ", "  ", "\t", "\n", "\n", "\n", "\n\n", "\r\n", "ſ", "\u212a",
		"\xff", "\xe4\xb8", "\xc3", "\xb8", "\ufffd", "12345", "foobar", "\U0001f600", "\xf0\x9f", "Z",
	}
	var b strings.Builder
	for range r.Intn(pieces + 1) {
		b.WriteString(words[r.Intn(len(words))])
	}
	return []byte(b.String())
}

// SearchBytes searches a text in memory, without a copy of it and without a
// limit to its size or the length of its lines. It is as Search otherwise.
func (s *Searcher) SearchBytes(text []byte, m *Matcher, sink Sink) Result {
	mark, wide := byteOrderMark(text)
	if wide != nil {
		result, _ := s.Search(bytes.NewReader(text), m, sink)
		return result
	}
	s.begin(m, sink)
	own := s.buf
	s.buf, s.eof = text[mark:], true
	s.accept(len(s.buf))
	if s.headDone(); !s.report.result.Binary {
		if m.multiline {
			s.scanText()
		} else {
			s.scanLines(s.n)
		}
	}
	s.buf = own
	return s.report.result
}
