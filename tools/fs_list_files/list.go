package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/walk"
)

type arguments struct {
	Prefixes   toolmain.Strings `json:"prefixes" help:"Directories, files, or beginnings of paths to list. Absent: the whole workspace." example:"[\"src\", \"docs/rfd-0\"]"`
	Extensions toolmain.Strings `json:"extensions" help:"Only files with one of these extensions, with or without the dot." example:"[\"rs\", \"toml\"]"`
	Glob       toolmain.Strings `json:"glob" help:"Only files that match one of these globs (**, {a,b}, [a-z]). Without a slash it is matched against the name, otherwise against the path." example:"src/**/*_test.go"`
	MaxDepth   int              `json:"max_depth" min:"1" help:"How many levels below each prefix; 1 is the files directly in it."`
	MaxResults int              `json:"max_results" min:"1" default:"1000" help:"How many paths to show."`
	After      string           `json:"after" help:"Go on after this path, the last one of a listing that was cut."`
}

type options struct {
	Suppress  toolmain.Strings `json:"suppress" help:"Gitignore patterns of paths that are not shown." example:"[\".env\", \"**/target/\"]"`
	Gitignore bool             `json:"gitignore" default:"true" help:"Leave out what .gitignore, .ignore and .git/info/exclude exclude."`
	Deadline  int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the result is what was found until then; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_list_files",
	Summary: "list the files of the workspace",
	Description: `Prints one workspace-relative path per line, sorted. Hidden files are listed, symlinks,
.git and what ignore files exclude are not; a path named in prefixes is listed even if it is ignored.
What was left out is counted at the end.`,
	Example: "--prefixes src --extensions go",
	Run:     run,
}

func run(ctx context.Context, c *toolmain.Call, args *arguments, opts *options) (jptool.Outcome, error) {
	o := walk.Options{NoIgnore: !opts.Gitignore, After: args.After, MaxDepth: args.MaxDepth}
	if args.Prefixes.Set {
		o.Starts = args.Prefixes.Items
	}
	var err error
	if o.Filter, err = walk.NewFilter(args.Extensions.Items, args.Glob.Items); err != nil {
		return jptool.Outcome{}, err
	}
	if o.Suppress, err = fskit.Suppress(c.Workspace, opts.Suppress); err != nil {
		return jptool.Outcome{}, err
	}
	planned, err := walk.Plan(ctx, c.Workspace, o)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := c.Confirm(func() (toolmain.Preview, error) { return preview(planned, args, o), nil }, nil); err != nil {
		return jptool.Outcome{}, err
	}
	found := listing{paths: []string{}}
	got, err := planned.Walk(ctx, func(b *walk.Batch) error {
		found.add(b.Paths, args.MaxResults)
		return nil
	})
	if err != nil {
		return jptool.Outcome{}, err
	}
	return found.outcome(got), nil
}

func preview(planned *walk.Planned, args *arguments, o walk.Options) toolmain.Preview {
	var b strings.Builder
	b.WriteString("List files")
	switch {
	case o.Starts == nil:
		b.WriteString(" in the whole workspace")
	case len(o.Starts) == 0:
		b.WriteString(" nowhere: `prefixes` is empty")
	default:
		b.WriteString(" below " + fskit.Quoted(o.Starts))
	}
	if len(args.Extensions.Items) > 0 {
		b.WriteString(", with extension " + fskit.Quoted(args.Extensions.Items))
	}
	if len(args.Glob.Items) > 0 {
		b.WriteString(", matching " + fskit.Quoted(args.Glob.Items))
	}
	if o.MaxDepth > 0 {
		fmt.Fprintf(&b, ", at most %d levels deep", o.MaxDepth)
	}
	fmt.Fprintf(&b, ", at most %d paths", args.MaxResults)
	if o.After != "" {
		b.WriteString(", after " + jptool.Quote(o.After))
	}
	for _, n := range walk.StartNotes(planned.Starts()) {
		b.WriteString("\nNote: " + n)
	}
	return toolmain.Preview{Text: b.String(), Seen: planned.Places()}
}

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

// outcome shows the paths, and after an empty line what is to be said.
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
	var b strings.Builder
	if shown == 0 {
		b.WriteString("No files found.\n")
	}
	for _, p := range l.paths {
		b.WriteString(jptool.Visible(p) + "\n")
	}
	if len(d.Notes) > 0 {
		b.WriteString("\n")
	}
	for _, n := range d.Notes {
		b.WriteString("Note: " + n + "\n")
	}
	return jptool.Outcome{Content: strings.TrimSuffix(b.String(), "\n"), Data: d}
}
