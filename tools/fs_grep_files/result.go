package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_grep_files/search"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/walk"
)

// tally counts what happened to files.
type tally struct {
	searched, binary int64
	// unsearched were listed when the time was up.
	unsearched  int64
	odd         [len(oddNotes)]paths
	namedBinary []string // what is to be said of each
}

// What may be odd about a file.
const (
	unreadable = iota // it could not be opened or read to the end
	tooLarge          // it could not be held in memory for a multiline search
	cutAtNUL          // nothing was searched after a NUL
	longLines         // a line was not searched as a whole
)

var oddNotes = [...]string{
	unreadable: "could not be read: %s",
	tooLarge:   "too large for a multiline search: %s",
	cutAtNUL:   "searched only up to a NUL byte: %s",
	longLines:  "lines over 8 MiB searched only in part: %s",
}

// paths counts paths and keeps the first ones.
type paths struct {
	n     int64
	first []string
}

const fewPaths = 3

func (p *paths) add(path string) { p.merge(&paths{1, []string{path}}) }

func (p *paths) merge(o *paths) {
	p.n += o.n
	p.first = append(p.first, o.first[:min(len(o.first), fewPaths-len(p.first))]...)
}

// String is "1 file (a)" or "7 files (a, b, c, …)".
func (p *paths) String() string {
	more := ""
	if p.n > int64(len(p.first)) {
		more = ", …"
	}
	return fmt.Sprintf("%s (%s%s)", files(p.n), fskit.Quoted(p.first), more)
}

// data is the machine-readable result.
type data struct {
	Matches []match     `json:"matches"`
	Files   []fileCount `json:"files"`
	// TotalMatches counts matching lines, -1 where only files were asked for.
	TotalMatches  int64   `json:"total_matches"`
	TotalFiles    int64   `json:"total_files"`
	SearchedFiles int64   `json:"searched_files"`
	Skipped       skipped `json:"skipped"`
	// Shown is the number of matching lines or files in the text; matches and files
	// hold as many, up to their own limit.
	Shown   int64    `json:"shown"`
	Notes   []string `json:"notes"`
	Partial bool     `json:"partial"`
}

type fileCount struct {
	Path  string `json:"path"`
	Count int64  `json:"count"`
}

type skipped struct {
	walk.Skipped
	Binary          int64 `json:"binary"`
	UnreadableFiles int64 `json:"unreadable_files"`
	TooLarge        int64 `json:"too_large"`
}

// result puts together what the workers found, in order.
type result struct {
	g     *grep
	max   int64 // results to show
	full  bool  // no more bytes are shown
	text  strings.Builder
	data  data
	tally tally
}

func (r *result) take(j *job) {
	t := &j.tally
	r.tally.searched += t.searched
	r.tally.binary += t.binary
	r.tally.unsearched += t.unsearched
	for i := range t.odd {
		r.tally.odd[i].merge(&t.odd[i])
	}
	r.tally.namedBinary = append(r.tally.namedBinary, t.namedBinary...)
	for i := range j.found {
		r.file(&j.found[i])
	}
	j.found = nil
}

func (r *result) file(f *found) {
	r.data.TotalFiles++
	r.data.TotalMatches += f.count
	left := r.max - r.data.Shown
	if left <= 0 {
		return
	}
	if len(r.data.Files) < maxDetails {
		r.data.Files = append(r.data.Files, fileCount{f.path, f.count})
	}
	wanted := min(left, f.count)
	if r.g.args.Output != "content" {
		line := jptool.Visible(f.path)
		if r.g.args.Output == "count" {
			line += ":" + strconv.FormatInt(f.count, 10)
		}
		wanted, f.text, f.ends = 1, []byte(line+"\n"), []int{len(line) + 1}
	}
	ends := f.ends[:min(left, int64(len(f.ends)))]
	fits, _ := slices.BinarySearch(ends, max(0, maxText-r.text.Len())+1)
	if fits > 0 {
		if r.g.context > 0 && r.text.Len() > 0 {
			r.text.WriteString("--\n")
		}
		r.text.Write(f.text[:ends[fits-1]])
	}
	shown := int64(fits)
	r.data.Shown += shown
	details := min(int64(len(f.details)), shown, int64(maxDetails-len(r.data.Matches)))
	r.data.Matches = append(r.data.Matches, f.details[:details]...)
	r.g.budget.Store(r.max - r.data.Shown)
	if shown < wanted {
		r.fill()
	}
}

// fill ends what is shown: what follows is counted.
func (r *result) fill() {
	r.full, r.max = true, r.data.Shown
	r.g.budget.Store(0)
}

// outcome writes the answer.
func (r *result) outcome(walked *walk.Result) jptool.Outcome {
	d := &r.data
	d.SearchedFiles = r.tally.searched
	d.Partial = walked.Ended != nil
	d.Skipped = skipped{walked.Skipped, r.tally.binary, r.tally.odd[unreadable].n, r.tally.odd[tooLarge].n}
	if d.TotalFiles == 0 {
		r.text.WriteString(fmt.Sprintf("No matches found: %s searched %s.\n", files(d.SearchedFiles), r.g.where()))
	}
	d.Notes = r.notes(walked)
	if r.g.args.Output == "files" {
		d.TotalMatches = -1
	}
	if len(d.Notes) > 0 {
		r.text.WriteString("\n")
		for _, n := range d.Notes {
			r.text.WriteString("Note: " + n + "\n")
		}
	}
	return jptool.Outcome{Content: strings.TrimSuffix(r.text.String(), "\n"), Data: d}
}

func (r *result) notes(walked *walk.Result) []string {
	notes := []string{}
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	d, t := &r.data, &r.tally
	content := r.g.args.Output == "content"
	switch {
	case content && d.Shown < d.TotalMatches:
		add("%d of %d matching lines in %s shown; narrow the search%s or use `output` = files or count",
			d.Shown, d.TotalMatches, files(d.TotalFiles), r.orRaise(", raise `max_results`,"))
	case !content && d.Shown < d.TotalFiles:
		add("%d of %d files with matches shown; narrow the search%s", d.Shown, d.TotalFiles, r.orRaise(" or raise `max_results`"))
	}
	if r.g.args.Context > mostContext {
		add("at most %d lines of context are shown on each side of a match", mostContext)
	}
	notes = append(notes, t.namedBinary...)
	if t.binary > 0 {
		add("not searched: %s with binary content", files(t.binary))
	}
	for i := range t.odd {
		if t.odd[i].n > 0 {
			add(oddNotes[i], &t.odd[i])
		}
	}
	return append(notes, walked.Notes()...)
}

// orRaise is text, unless more cannot be shown whatever max_results is.
func (r *result) orRaise(text string) string {
	if r.full || r.g.max == mostResults {
		return " (more is never shown)"
	}
	return text
}

func files(n int64) string {
	if n == 1 {
		return "1 file"
	}
	return strconv.FormatInt(n, 10) + " files"
}

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
