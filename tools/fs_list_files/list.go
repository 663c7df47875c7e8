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
	MaxDepth   int              `json:"max_depth" min:"1" help:"How many levels below each prefix; 1 is what is directly in it. A directory at the last level is one line with the number of files in it, as src/ (214 files)."`
	Tree       bool             `json:"tree" help:"Show no files, but each directory with the number of files in it, at any depth or down to max_depth."`
	MaxResults int              `json:"max_results" min:"1" default:"1000" help:"How many lines to show."`
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
What was left out is counted at the end.

With max_depth or tree, directories are shown as well, each with the number of files in it that a listing of it
would have. To explore step by step, take max_depth 1, and then a directory as prefix.`,
	Example: "--prefixes src --extensions go",
	Run:     run,
}

func run(ctx context.Context, c *toolmain.Call, args *arguments, opts *options) (jptool.Outcome, error) {
	o := walk.Options{NoIgnore: !opts.Gitignore, After: strings.TrimSuffix(args.After, "/"), MaxDepth: args.MaxDepth}
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
	found := &listing{most: args.MaxResults, progress: c.Progress}
	if args.Tree || args.MaxDepth > 0 {
		o.OnDir, o.Tree, o.CountTime = found.addDir, args.Tree, countTime
	}
	planned, err := walk.Plan(ctx, c.Workspace, o)
	if err != nil {
		return jptool.Outcome{}, err
	}
	if err := c.Confirm(func() (toolmain.Preview, error) { return preview(planned, args, o), nil }, nil); err != nil {
		return jptool.Outcome{}, err
	}
	c.Progress.Of("entries found")
	got, err := planned.Walk(ctx, func(b *walk.Batch) error {
		found.add(b.Paths)
		return nil
	})
	if err != nil {
		return jptool.Outcome{}, err
	}
	return found.outcome(got, o.OnDir != nil, args.Tree), nil
}

func preview(planned *walk.Planned, args *arguments, o walk.Options) toolmain.Preview {
	var b strings.Builder
	if o.Tree {
		b.WriteString("List directories")
	} else {
		b.WriteString("List files")
	}
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
	if o.OnDir != nil {
		b.WriteString(", directories with the number of files in them")
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
