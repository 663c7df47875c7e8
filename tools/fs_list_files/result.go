package main

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit/walk"
)

// data is the machine-readable result.
type data struct {
	// Paths are those that are shown, exact where the text quotes them.
	Paths   []string     `json:"paths"`
	Total   int64        `json:"total"`
	LeftOut int64        `json:"left_out"`
	Skipped walk.Skipped `json:"skipped"`
	Notes   []string     `json:"notes"`
	// Next is the value of `after` that goes on where this listing was cut.
	Next string `json:"next,omitempty"`
	// Partial says that the time limit ended the walk.
	Partial bool `json:"partial"`
}

// listing collects paths.
type listing struct {
	paths []string // to show
	bytes int      // of them and their separators
	full  bool     // no more bytes are shown
	total int64
}

// maxBytes bounds the paths that are shown, whatever was asked for.
const maxBytes = 16 << 20

func (l *listing) add(paths []string, most int) {
	l.total += int64(len(paths))
	if l.full {
		return
	}
	for _, p := range paths[:min(len(paths), most-len(l.paths))] {
		if l.full = l.bytes+len(p) >= maxBytes; l.full {
			return
		}
		l.bytes += len(p) + 1
		l.paths = append(l.paths, p)
	}
}

func (l *listing) outcome(walked *walk.Result) jptool.Outcome {
	shown := len(l.paths)
	d := data{
		Paths: l.paths, Total: l.total, LeftOut: l.total - int64(shown),
		Skipped: walked.Skipped, Notes: []string{}, Partial: walked.Ended != nil,
	}
	if d.LeftOut > 0 && shown > 0 {
		d.Next = l.paths[shown-1]
		raise := ", raise `max_results`,"
		if l.full {
			raise = " (more is never shown at once)"
		}
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files shown; narrow the listing%s or go on with `after` = %q", shown, l.total, raise, d.Next))
	}
	d.Notes = append(d.Notes, walked.Notes()...)
	return jptool.Outcome{Content: l.text(d.Notes), Data: d}
}

// text is what a model reads: the paths, and after an empty line what is to be said.
func (l *listing) text(notes []string) string {
	var b strings.Builder
	if len(l.paths) == 0 {
		b.WriteString("No files found.\n")
	}
	for _, p := range l.paths {
		b.WriteString(jptool.Visible(p))
		b.WriteByte('\n')
	}
	if len(notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range notes {
		b.WriteString("Note: " + n + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}
