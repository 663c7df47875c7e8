package main

import (
	"context"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"sync/atomic"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fs_grep_files/search"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/walk"
)

type arguments struct {
	Pattern         string           `json:"pattern" required:"" help:"Regular expression (RE2 syntax), matched against each line." example:"func \\w+Handler"`
	Context         int              `json:"context" min:"0" default:"0" help:"Lines to show before and after each match, at most 1000."`
	Paths           toolmain.Strings `json:"paths" help:"Directories, files, or beginnings of paths to search. Absent: the whole workspace." example:"[\"src\", \"README.md\"]"`
	Extensions      toolmain.Strings `json:"extensions" help:"Only files with one of these extensions, with or without the dot." example:"[\"go\"]"`
	Glob            toolmain.Strings `json:"glob" help:"Only files that match one of these globs (**, {a,b}, [a-z]). Without a slash it is matched against the name, otherwise against the path." example:"src/**/*_test.go"`
	CaseInsensitive bool             `json:"case_insensitive" help:"Upper and lower case count as the same."`
	Multiline       bool             `json:"multiline" help:"Match the whole text of a file at once, so that a match can extend over lines."`
	Output          string           `json:"output" enum:"content,files,count" default:"content" help:"Matching lines, the paths of files with a match, or the number of matching lines in each."`
	MaxResults      int              `json:"max_results" min:"1" default:"100" help:"How many matching lines (with content) or files to show. All are counted."`
}

type options struct {
	Suppress  toolmain.Strings `json:"suppress" help:"Gitignore patterns of paths that are not searched." example:"[\".env\", \"**/target/\"]"`
	Gitignore bool             `json:"gitignore" default:"true" help:"Leave out what .gitignore, .ignore and .git/info/exclude exclude."`
	Deadline  int              `json:"deadline" min:"0" default:"60" help:"Seconds after which the result is what was found until then; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_grep_files",
	Summary: "search the files of the workspace with a regular expression",
	Description: `Prints path:line:text for each matching line, path-line-text for lines of context and -- between
groups. Hidden files are searched; symlinks, binary files, .git and what ignore files exclude are not. A path
named in paths is searched even if it is ignored. All matches are counted, also those that are not shown.`,
	Example: "--pattern 'TODO|FIXME' --paths src",
	Run:     run,
}

func run(ctx context.Context, c *toolmain.Call, args *arguments, opts *options) (jptool.Outcome, error) {
	g, err := newGrep(c, args, opts)
	if err != nil {
		return jptool.Outcome{}, err
	}
	planned, err := walk.Plan(ctx, c.Workspace, g.walk)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := c.Confirm(func() (toolmain.Preview, error) { return g.preview(planned), nil }, nil); err != nil {
		return jptool.Outcome{}, err
	}
	return g.search(ctx, planned)
}

// grep is one call, ready to run.
type grep struct {
	args    *arguments
	matcher *search.Matcher
	walk    walk.Options
	max     int // results
	context int // lines; 0 if no content is shown
	call    *toolmain.Call
	// budget is how many results may still be shown. It only falls, so that a worker that sees
	// an old number finds too much, never too little.
	budget atomic.Int64
}

func newGrep(c *toolmain.Call, args *arguments, opts *options) (*grep, error) {
	g := &grep{args: args, max: min(args.MaxResults, mostResults), call: c}
	if args.Output == "content" {
		g.context = min(args.Context, mostContext)
	}
	if args.Pattern == "" {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `pattern` is empty; it would match every line of every file")
	}
	if _, err := fskit.RegexSize(args.Pattern, syntax.Perl); err != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `pattern`: %w", err)
	}
	var err error
	g.matcher, err = search.Compile(args.Pattern, search.Options{CaseInsensitive: args.CaseInsensitive, Multiline: args.Multiline})
	switch {
	case errors.Is(err, search.ErrNewline):
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `pattern`: %w; set `multiline` to let a match extend over lines", err)
	case err != nil:
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `pattern` is not a regular expression in RE2 syntax: %w", fskit.RegexError(err))
	}
	g.walk = walk.Options{NoIgnore: !opts.Gitignore}
	if args.Paths.Set {
		g.walk.Starts = args.Paths.Items
	}
	if g.walk.Filter, err = walk.NewFilter(args.Extensions.Items, args.Glob.Items); err != nil {
		return nil, err
	}
	g.walk.Suppress, err = fskit.Suppress(c.Workspace, opts.Suppress)
	return g, err
}

func (g *grep) preview(planned *walk.Planned) toolmain.Preview {
	var b strings.Builder
	fmt.Fprintf(&b, "Search for the regular expression %s %s", jptool.Visible(g.args.Pattern), g.where())
	if g.args.CaseInsensitive {
		b.WriteString(", ignoring case")
	}
	if g.args.Multiline {
		b.WriteString(", across lines")
	}
	switch g.args.Output {
	case "files":
		fmt.Fprintf(&b, ", showing at most %d paths", g.max)
	case "count":
		fmt.Fprintf(&b, ", showing counts for at most %d files", g.max)
	default:
		fmt.Fprintf(&b, ", showing at most %d matching lines", g.max)
		if g.context > 0 {
			fmt.Fprintf(&b, " with %d lines of context", g.context)
		}
	}
	for _, n := range walk.StartNotes(planned.Starts()) {
		b.WriteString("\nNote: " + n)
	}
	return toolmain.Preview{Text: b.String(), Seen: planned.Places()}
}

// where says what is searched.
func (g *grep) where() string {
	text := "in the whole workspace"
	if g.walk.Starts != nil {
		text = "in " + fskit.Quoted(g.walk.Starts)
		if len(g.walk.Starts) == 0 {
			text = "nowhere (`paths` is empty)"
		}
	}
	if len(g.args.Extensions.Items) > 0 {
		text += ", files with extension " + fskit.Quoted(g.args.Extensions.Items)
	}
	if len(g.args.Glob.Items) > 0 {
		text += ", files matching " + fskit.Quoted(g.args.Glob.Items)
	}
	return text
}
