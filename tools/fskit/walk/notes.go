package walk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
)

// Notes says in sentences what is missing in the result of a walk, for a model to read:
// starts that could not be used, one line with the numbers of what was left out, and
// whether the walk is complete.
func (r *Result) Notes() []string {
	notes := StartNotes(r.Starts)
	if text := r.Skipped.String(); text != "" {
		notes = append(notes, "left out: "+text)
	}
	switch {
	case errors.Is(r.Ended, context.DeadlineExceeded):
		notes = append(notes, "the time limit was reached: the result is not complete; narrow it down")
	case r.Ended != nil:
		notes = append(notes, "the call was cancelled: the result is not complete")
	}
	return notes
}

// mostStarts bounds the starts that messages name.
const mostStarts = 100

// StartNotes says which starts could not be used or led to nothing, at most 100 of them.
func StartNotes(starts []Start) []string {
	var notes []string
	for _, s := range starts {
		if len(notes) == mostStarts {
			return append(notes, "and more paths that cannot be used or lead to nothing")
		}
		switch {
		case s.Err != nil:
			notes = append(notes, s.Err.Error())
		case s.Nothing:
			notes = append(notes, fmt.Sprintf("no path is or begins with %s", jptool.Quote(s.Given)))
		}
	}
	return notes
}

// String lists the numbers that are not zero, each with its reason.
func (s *Skipped) String() string {
	var parts []string
	add := func(n int64, one, many, why string) {
		if n > 0 {
			parts = append(parts, count(n, one, many)+" "+why)
		}
	}
	var ignored []string
	if s.Ignored > 0 {
		ignored = append(ignored, count(s.Ignored, "file", "files"))
	}
	if s.IgnoredDirs > 0 {
		ignored = append(ignored, count(s.IgnoredDirs, "directory", "directories"))
	}
	if ignored != nil {
		parts = append(parts, strings.Join(ignored, " and ")+" by ignore files (name one to see it)")
	}
	add(s.Suppressed, "path", "paths", "suppressed by this tool's configuration")
	add(s.Denied, "path", "paths", "without `read` in the access rules")
	add(s.Unreadable, "path", "paths", "that could not be read")
	add(s.NotAddressable, "name", "names", "not valid UTF-8")
	add(s.Deeper, "directory", "directories", "deeper than `max_depth`")
	return strings.Join(parts, "; ")
}

func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
