package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/walk"
)

// tally counts what happened to files.
type tally struct {
	searched, binary int64
	// unsearched were listed when the time was up.
	unsearched  int64
	odd         [len(oddNotes)]paths
	namedBinary []binaryFile
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

type binaryFile struct {
	path    string
	matches bool
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
	switch r.g.args.Output {
	case "files", "count":
		line := jptool.Visible(f.path)
		if r.g.args.Output == "count" {
			line += ":" + strconv.FormatInt(f.count, 10)
		}
		if r.text.Len()+len(line) >= maxText {
			r.fill()
			return
		}
		r.text.WriteString(line + "\n")
		r.data.Shown++
		r.g.budget.Store(left - 1)
		return
	}
	wanted := min(left, f.count)
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
	switch r.g.args.Output {
	case "files", "count":
		if d.Shown < d.TotalFiles {
			add("%d of %d files with matches shown; narrow the search%s", d.Shown, d.TotalFiles, r.orRaise(" or raise `max_results`"))
		}
	default:
		if d.Shown < d.TotalMatches {
			add("%d of %d matching lines in %s shown; narrow the search%s or use `output` = files or count",
				d.Shown, d.TotalMatches, files(d.TotalFiles), r.orRaise(", raise `max_results`,"))
		}
	}
	if r.g.args.Context > r.g.context {
		add("at most %d lines of context are shown on each side of a match", mostContext)
	}
	for _, b := range t.namedBinary {
		if b.matches {
			add("%s is a binary file; it matches", jptool.Quote(b.path))
		} else {
			add("%s is a binary file; it does not match", jptool.Quote(b.path))
		}
	}
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
