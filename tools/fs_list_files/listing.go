package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit/walk"
)

// data is the machine-readable result.
type data struct {
	// Paths are the files that are shown, exact where the text quotes them.
	Paths []string `json:"paths"`
	// Directories are those that are shown; absent without max_depth and tree.
	Directories []directory `json:"directories,omitzero"`
	// Total counts the files that a listing without bounds of lines would show, with tree those in the directories.
	Total int64 `json:"total"`
	// LeftOut counts the files, LeftOutDirectories the directories that would have been shown.
	LeftOut            int64        `json:"left_out"`
	LeftOutDirectories int64        `json:"left_out_directories,omitempty"`
	Skipped            walk.Skipped `json:"skipped"`
	Notes              []string     `json:"notes"`
	// Next is the value of `after` that goes on where this listing was cut.
	Next string `json:"next,omitempty"`
	// Partial says that the time limit ended the walk.
	Partial bool `json:"partial"`
}

// directory is a directory and the number of files in it, at any depth.
type directory struct {
	Path  string `json:"path"`
	Files int64  `json:"files"`
	// AtLeast says that not all could be counted.
	AtLeast bool `json:"at_least,omitempty"`
}

// countTime bounds how long files that are not shown are counted.
const countTime = time.Second

// maxBytes bounds the paths that are shown, whatever was asked for.
const maxBytes = 16 << 20

// listing collects what is shown, in order.
type listing struct {
	most  int // lines
	lines []line
	bytes int  // of them and their separators
	full  bool // no more bytes are shown
	// All that was found, shown or not.
	files, dirs int64
	progress    *toolmain.Progress
}

// line is a file, or a directory whose number is known when the walk is over.
type line struct {
	path string
	dir  *walk.Dir // nil for a file
}

func (l *listing) add(paths []string) {
	l.files += int64(len(paths))
	l.progress.Add(len(paths))
	for _, p := range paths[:min(len(paths), l.most-len(l.lines))] {
		l.show(line{path: p})
	}
}

func (l *listing) addDir(d *walk.Dir) {
	l.dirs++
	l.progress.Add(1)
	if len(l.lines) < l.most {
		l.show(line{d.Path, d})
	}
}

func (l *listing) show(one line) {
	if l.full = l.full || l.bytes+len(one.path) >= maxBytes; !l.full {
		l.bytes += len(one.path) + 1
		l.lines = append(l.lines, one)
	}
}

// text is how a line is shown.
func (l *line) text() string {
	d := l.dir
	if d == nil {
		return jptool.Visible(l.path)
	}
	name := jptool.Visible(d.Path + "/")
	if d.Path == "" {
		name = "./"
	}
	switch {
	case d.AtLeast && d.Files == 0:
		return name + " (its files could not be counted)"
	case d.AtLeast:
		return fmt.Sprintf("%s (at least %s)", name, filesText(d.Files))
	}
	return fmt.Sprintf("%s (%s)", name, filesText(d.Files))
}

func filesText(n int64) string {
	if n == 1 {
		return "1 file"
	}
	return fmt.Sprintf("%d files", n)
}

// outcome shows the lines, and after an empty line what is to be said.
func (l *listing) outcome(walked *walk.Result, dirs, tree bool) jptool.Outcome {
	d := data{Paths: []string{}, Total: l.files, Skipped: walked.Skipped, Notes: []string{}, Partial: walked.Ended != nil}
	if dirs {
		d.Directories = []directory{}
	}
	var b strings.Builder
	for i := range l.lines {
		one := &l.lines[i]
		if one.dir == nil {
			d.Paths = append(d.Paths, one.path)
		} else {
			d.Directories = append(d.Directories, directory{cmp.Or(one.path, "."), one.dir.Files, one.dir.AtLeast})
		}
		b.WriteString(one.text() + "\n")
	}
	d.LeftOut = l.files - int64(len(d.Paths))
	d.LeftOutDirectories = l.dirs - int64(len(d.Directories))
	if tree {
		d.Total += walked.Counted
	}
	shown := len(l.lines)
	if d.LeftOut+d.LeftOutDirectories > 0 && shown > 0 {
		d.Next = l.lines[shown-1].path
		d.Notes = append(d.Notes, l.cut(d.Next))
	}
	d.Notes = append(d.Notes, walked.Notes()...)
	if shown == 0 {
		b.WriteString("No files found.\n")
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		b.WriteString("Note: " + n + "\n")
	}
	return jptool.Outcome{Content: strings.TrimSuffix(b.String(), "\n"), Data: d}
}

// cut says that not all is shown, and how to see the rest; next is the last path that is shown, "" for the root.
func (l *listing) cut(next string) string {
	what := "files and directories"
	if l.files == 0 {
		what = "directories"
	} else if l.dirs == 0 {
		what = "files"
	}
	text := fmt.Sprintf("%d of %d %s shown; narrow the listing", len(l.lines), l.files+l.dirs, what)
	if l.full {
		text += " (more is never shown at once)"
	} else {
		text += ", raise `max_results`"
	}
	if next == "" {
		return text
	}
	if !l.full {
		text += ","
	}
	return text + fmt.Sprintf(" or go on with `after` = %q", next)
}
