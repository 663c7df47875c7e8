package main

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_grep_files/search"
)

const (
	// maxLine is how many bytes of a line are shown, around its match.
	maxLine = 500
	// maxDetails bounds the matches and the files in `data`, however many are shown.
	maxDetails = 10_000
	// mostResults, mostContext and maxText bound what is shown whatever was asked for: results, lines of
	// context on each side of a match, and bytes.
	mostResults = 1_000_000
	mostContext = 1000
	maxText     = 16 << 20
)

// match is a matching line in `data`.
type match struct {
	Path string `json:"path"`
	Line int64  `json:"line"`
	// Column is where the match begins, in bytes from 1.
	Column int    `json:"column"`
	Text   string `json:"text"`
}

// found is what a file holds.
type found struct {
	path  string
	count int64
	// text is the lines as they are shown, each with its line end. The first i+1 matches
	// with the context after them are text[:ends[i]], the same as if there were no more.
	text    []byte
	ends    []int
	details []match
}

// size is about how much memory it takes, but for the path.
func (f *found) size() int {
	n := len(f.text) + 8*len(f.ends)
	for i := range f.details {
		n += 64 + len(f.details[i].Text)
	}
	return n
}

// sink writes the lines of one file.
type sink struct {
	found
	shown string // the path in text
	after int    // lines of context that belong to the last match, at most
	since int    // lines after that
	full  bool   // there is more than is ever shown
}

func (s *sink) begin(path string, after int) {
	s.after, s.since, s.full = after, after, false
	s.found = found{path: path, text: s.text[:0], ends: s.ends[:0]}
	s.shown = jptool.Visible(path)
}

// take returns what was found, in memory of its own.
func (s *sink) take(path string, count int64) found {
	f := s.found
	f.path, f.count = path, count
	if s.full { // also context before a match that did not fit
		end := 0
		if len(f.ends) > 0 {
			end = f.ends[len(f.ends)-1]
		}
		f.text = f.text[:end]
	}
	f.text, f.ends = bytes.Clone(f.text), append([]int(nil), f.ends...)
	return f
}

// Break implements [search.Sink].
func (s *sink) Break() {
	if s.full {
		return
	}
	s.text = append(s.text, "--\n"...)
	s.since = s.after
}

// Line implements [search.Sink].
func (s *sink) Line(l *search.Line) {
	if s.full = s.full || len(s.text) >= maxText; s.full {
		return // it is counted
	}
	mark := byte(':')
	if l.Context {
		mark = '-'
	}
	s.text = append(s.text, s.shown...)
	s.text = append(s.text, mark)
	s.text = strconv.AppendInt(s.text, l.Number, 10)
	s.text = append(s.text, mark)
	at := len(s.text)
	line := bytes.TrimSuffix(l.Bytes, []byte("\r"))
	left, right := 0, len(line)
	if len(line) > maxLine {
		start, end := l.Span()
		left, right = window(line, start, end, maxLine)
	}
	if left > 0 {
		s.text = fmt.Appendf(s.text, "[… %d bytes] ", left)
	}
	s.text = append(s.text, line[left:right]...)
	if right < len(line) {
		s.text = fmt.Appendf(s.text, " [… %d bytes]", len(line)-right)
	}
	if !l.Context && len(s.details) < maxDetails {
		start, _ := l.Span()
		s.details = append(s.details, match{
			Path: s.path, Line: l.Number, Column: start + 1, Text: strings.ToValidUTF8(string(s.text[at:]), "\uFFFD"),
		})
	}
	s.text = append(s.text, '\n')
	switch {
	case !l.Context:
		s.ends = append(s.ends, len(s.text))
		s.since = 0
	case s.since < s.after:
		s.ends[len(s.ends)-1] = len(s.text)
		s.since++
	}
}

// window returns which at most limit bytes of a line to show: as many on both
// sides of the match at line[start:end]. It cuts between runes and keeps
// the start of the match; of a match that is longer than the limit it keeps the first part.
// A line that fits, or any if the limit is not positive, is shown whole.
func window(line []byte, start, end, limit int) (left, right int) {
	if limit <= 0 || len(line) <= limit {
		return 0, len(line)
	}
	start = min(max(start, 0), len(line))
	end = min(max(end, start), len(line))
	left = start - max(limit-(end-start), 0)/2
	left = max(min(left, len(line)-limit), 0)
	right = left + limit
	for left < start && !runeStart(line, left) {
		left++
	}
	for right < len(line) && right > left && !runeStart(line, right) {
		right--
	}
	return left, right
}

// runeStart reports whether a rune begins at i, which is inside of line. Bytes
// that are not valid UTF-8 are runes of their own.
func runeStart(line []byte, i int) bool {
	for back := 1; back < utf8.UTFMax && back <= i; back++ {
		if utf8.RuneStart(line[i-back]) {
			_, w := utf8.DecodeRune(line[i-back:])
			return w <= back
		}
	}
	return true
}
