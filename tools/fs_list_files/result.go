package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit/walk"
)

// data is the machine-readable result, except for its first key: `paths`, the paths that
// are shown, exact where the text quotes them.
type data struct {
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
	runs  [][]string // as the walk gave them
	shown int
	bytes int  // of the paths in runs, and their separators
	full  bool // no more bytes are shown
	total int64
}

// maxBytes bounds the paths that are shown, whatever was asked for.
const maxBytes = 16 << 20

func (l *listing) add(paths []string, most int) {
	l.total += int64(len(paths))
	if l.full {
		return
	}
	if n := most - l.shown; n < len(paths) {
		paths = paths[:n]
	}
	for i, p := range paths {
		if l.full = l.bytes+len(p) >= maxBytes; l.full {
			paths = paths[:i]
			break
		}
		l.bytes += len(p) + 1
	}
	if len(paths) == 0 {
		return
	}
	l.runs = append(l.runs, paths)
	l.shown += len(paths)
}

func (l *listing) outcome(walked *walk.Result) (jptool.Outcome, error) {
	d := data{Total: l.total, LeftOut: l.total - int64(l.shown), Skipped: walked.Skipped, Notes: []string{}, Partial: walked.Ended != nil}
	if d.LeftOut > 0 && l.shown > 0 {
		last := l.runs[len(l.runs)-1]
		d.Next = last[len(last)-1]
		raise := ", raise `max_results`,"
		if l.full {
			raise = " (more is never shown at once)"
		}
		d.Notes = append(d.Notes, fmt.Sprintf("%d of %d files shown; narrow the listing%s or go on with `after` = %q", l.shown, l.total, raise, d.Next))
	}
	d.Notes = append(d.Notes, walked.Notes()...)

	rest, err := json.Marshal(d)
	if err != nil {
		return jptool.Outcome{}, err
	}
	return jptool.Outcome{Content: l.text(d.Notes), Data: l.json(rest)}, nil
}

// text is what a model reads: the paths, and after an empty line what is to be said.
func (l *listing) text(notes []string) string {
	var b strings.Builder
	b.Grow(l.bytes + 256)
	if l.shown == 0 {
		b.WriteString("No files found.\n")
	}
	for _, paths := range l.runs {
		for _, p := range paths {
			b.WriteString(jptool.Visible(p))
			b.WriteByte('\n')
		}
	}
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, n := range notes {
		b.WriteString("Note: " + n + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// json puts the paths in front of the other keys.
func (l *listing) json(rest []byte) json.RawMessage {
	raw := make([]byte, 0, l.bytes+2*l.shown+len(rest)+32)
	raw = append(raw, `{"paths":[`...)
	comma := false
	for _, paths := range l.runs {
		for _, p := range paths {
			if comma {
				raw = append(raw, ',')
			}
			comma = true
			raw = jptool.AppendJSONString(raw, p)
		}
	}
	raw = append(raw, `],`...)
	return append(raw, rest[1:]...)
}
