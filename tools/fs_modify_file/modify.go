package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

// arguments are what a model gives.
type arguments struct {
	Path              string       `json:"path" help:"File to modify, relative to the workspace; the target of every pattern without paths of its own." example:"src/lib.rs"`
	Patterns          []patternArg `json:"patterns" required:"" help:"Replacements, made in order; later ones see the result of earlier ones." example:"[{\"old\":\"foo\",\"new\":\"bar\"}]"`
	ReplaceUsingRegex bool         `json:"replace_using_regex" default:"false" help:"Take every old as a regex (RE2 syntax; ^ and $ match at lines) and every new as a template with $1, ${name} and $$."`
	ReplaceAll        bool         `json:"replace_all" default:"true" help:"Replace every match; if false, a pattern must match exactly once in a file."`
	CaseSensitive     bool         `json:"case_sensitive" default:"true" help:"If false, upper and lower case match each other."`
	ExpectedMatches   int          `json:"expected_matches" min:"1" help:"How often every pattern must match, over all its files together; another number is an error and nothing is changed."`
	DryRun            bool         `json:"dry_run" default:"false" help:"Show what would be changed; change nothing and ask nothing."`
	ExpectedDigest    string       `json:"expected_digest" help:"Digest of the file as it was read; the call is refused when the file is another. For one file only."`
}

// patternArg is one replacement.
type patternArg struct {
	Old             string           `json:"old" required:"" help:"Text to replace, exactly as it is in the file; an LF matches a CRLF too."`
	New             string           `json:"new" required:"" help:"Text to put in its place; gets the line ends of the place."`
	Paths           toolmain.Strings `json:"paths" help:"Files for this pattern instead of path; it must match in at least one."`
	Regex           *bool            `json:"regex" help:"Overrides replace_using_regex for this pattern."`
	ExpectedMatches int              `json:"expected_matches" min:"1" help:"Overrides expected_matches for this pattern."`
}

// options are what a person configures.
type options struct {
	ApplyChangesTrigger string           `json:"apply_changes_trigger" enum:"always,heuristics" default:"always" help:"Whether to ask before every change, or only before one beyond the auto_approve limits."`
	MaxFiles            int              `json:"auto_approve_max_changed_files" min:"0" default:"2" help:"Most files changed without asking."`
	MaxLines            int              `json:"auto_approve_max_changed_lines" min:"0" default:"10" help:"Most lines added and removed, together, without asking."`
	MaxRatio            int              `json:"auto_approve_max_ratio_percent" min:"0" default:"20" help:"Most lines removed, in percent, of a file of 10 lines or more without asking."`
	Suppress            toolmain.Strings `json:"suppress" help:"Gitignore patterns, anchored at the workspace, of files not to show; a diff would show them, so they cannot be modified." example:"[\".git/\"]"`
	Deadline            int              `json:"deadline" min:"0" default:"60" help:"Seconds after which a call that is still reading or matching gives up, with nothing changed; 0 is no limit."`
}

var tool = toolmain.Tool[arguments, options]{
	Name:    "fs_modify_file",
	Summary: "replace text in files, all or nothing",
	Description: `Every pattern must match, else nothing is written and the error shows the closest places. Matching
is exact: text that is only similar is never replaced. Bytes outside the matches stay as they
are: line ends, byte order mark, invalid UTF-8. The result is a diff. If the process is killed (SIGKILL,
power loss) while several files are put into place, some are old and some are new, each whole.

It is asked for first: question apply_changes for any change; with it, where they apply, broad_replacement (a
regex that matches anything), broad_change (more than half of the lines of a file) and modify_dirty_file
(content that git does not have; of ignored files it has none).`,
	Example: `--path src/lib.rs --patterns '[{"old":"foo","new":"bar"}]'`,
	Run:     run,
}

// run goes through these steps, and changes something in the last one only:
//
//	form of the arguments · policy and suppression of every file · lock, read, expected_digest · match ·
//	questions broad_replacement, broad_change, modify_dirty_file, apply_changes · (preview ends here) ·
//	is it what the preview showed? · (dry run ends here) · write
//
// The locks are held from before reading until the end; a question gives them up, and
// its token makes sure that the answer is for the same change.
func run(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (jptool.Outcome, error) {
	ch, err := newChange(ctx, c, a, o)
	if err != nil {
		return jptool.Outcome{}, err
	}
	defer ch.close()
	var mismatch error
	err = ch.limited(ctx, func() error {
		if err := ch.read(ctx, a.ExpectedDigest); err != nil {
			return err
		}
		if mismatch = ch.match(ctx, a.ReplaceAll); mismatch == nil {
			ch.makeDiffs()
		}
		return nil
	})
	if err != nil || mismatch != nil {
		return jptool.Outcome{}, cmp.Or(err, mismatch)
	}
	nothing := len(ch.changed()) == 0 || a.DryRun
	err = c.Confirm(func() (toolmain.Preview, error) { return ch.preview(ctx) }, func() ([]toolmain.Question, error) {
		if nothing {
			return nil, nil
		}
		return ch.questions(ctx, o), nil
	})
	if err != nil {
		return jptool.Outcome{}, err
	}
	if nothing {
		return ch.wouldBe(ctx, "; nothing was written.")
	}
	if err := timeUp(ctx); err != nil {
		return jptool.Outcome{}, err
	}
	if err := ch.write(ctx); err != nil {
		return jptool.Outcome{}, err
	}
	title := "File modified: "
	if len(ch.changed()) > 1 {
		title = "Files modified: "
	}
	return ch.outcome(title + ch.names())
}

// wouldBe is the outcome of a call that writes nothing; end is that of its first sentence.
func (ch *change) wouldBe(ctx context.Context, end string) (jptool.Outcome, error) {
	if len(ch.changed()) == 0 {
		return ch.outcome("No change: all patterns matched, but the result is what is there already.")
	}
	if err := ch.limited(ctx, ch.digest); err != nil {
		return jptool.Outcome{}, err
	}
	return ch.outcome("Would modify " + ch.names() + end)
}

func (ch *change) preview(ctx context.Context) (toolmain.Preview, error) {
	var seen, paths []string
	for _, f := range ch.files {
		paths = append(paths, f.path())
		seen = append(seen, f.t.Place())
		if f.changed() {
			seen = append(seen, f.identity()...)
		}
	}
	out, err := ch.wouldBe(ctx, ":")
	p := toolmain.Preview{Text: out.Content, Data: out.Data, Paths: paths, Seen: seen}
	title, _, _ := strings.Cut(out.Content, "\n")
	p.Shown, p.Cut = ch.shown(title)
	return p, err
}

// change is one call: what to do in which files.
type change struct {
	call     *toolmain.Call
	dryRun   bool
	patterns []*pattern
	files    []*file
	held     int64 // bytes of the files as they were that are in memory
	grown    int   // bytes that the files are larger by, those that shrink left out
	left     bool  // work that goes on has everything here in its hands
}

// changed lists the files whose content becomes another.
func (ch *change) changed() []*file {
	return slices.DeleteFunc(slices.Clone(ch.files), func(f *file) bool { return !f.changed() })
}

func (ch *change) close() {
	if ch.left {
		return // the process ends soon, and with it the locks
	}
	for _, f := range ch.files {
		if f.lock != nil {
			f.lock.Close()
		}
	}
}

// limited runs work until the time is up. Not all work can be interrupted, a search by the
// standard library least of all, so it runs on a goroutine of its own, which is left behind
// then: nothing of the change may be touched after that. Work that writes has no place here.
func (ch *change) limited(ctx context.Context, work func() error) error {
	var err error
	var fault any
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if f := recover(); f != nil {
				fault = fmt.Sprintf("%v\n%s", f, debug.Stack())
			}
		}()
		err = work()
	}()
	select {
	case <-done:
		switch {
		case fault != nil:
			panic(fault)
		case ctxDone(err):
			return timeUp(ctx)
		}
		return err
	case <-ctx.Done():
		ch.left = true
		return timeUp(ctx)
	}
}

// timeUp returns an error when the call has no time any more.
func timeUp(ctx context.Context) error {
	err := ctx.Err()
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return jptool.Errorf(jptool.CodeDeadline, "the call was cancelled; nothing was changed")
	}
	return jptool.Errorf(jptool.CodeDeadline, "the time limit was reached before everything was matched; nothing was changed. Use plain text or simpler regexes, fewer patterns, or smaller files")
}

func ctxDone(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// pattern is one replacement with its files and, after matching, what it matched.
type pattern struct {
	number   int // from 1, as messages have it
	edit     *edit.Compiled
	paths    []string // as given
	files    []*file
	expected int // 0 for any number

	hits  []hit
	texts tally // what a regex matched
}

// hit is how often a pattern matched in a file, and what it makes of it.
type hit struct {
	file  *file
	count int
	edits []diff.Edit
	grown int // what file.grown becomes
}

func (p *pattern) matches() int {
	n := 0
	for _, h := range p.hits {
		n += h.count
	}
	return n
}

// newChange checks the arguments, then policy and suppression of every path.
func newChange(ctx context.Context, c *toolmain.Call, a *arguments, o *options) (*change, error) {
	globs, err := fskit.Suppress(c.Workspace, o.Suppress)
	if err != nil {
		return nil, err
	}
	ch := &change{call: c, dryRun: a.DryRun}
	if ch.patterns, err = compilePatterns(a); err != nil {
		return nil, err
	}
	for _, p := range ch.patterns {
		for _, path := range p.paths {
			if err := timeUp(ctx); err != nil {
				return nil, err
			}
			t, err := fskit.CheckContent(c.Workspace, globs, path, jptool.Read|jptool.Update)
			if err != nil {
				return nil, err
			}
			if t.Kind() == jptool.KindMissing {
				return nil, fskit.NotFound(globs, t, t.Fail(fs.ErrNotExist))
			}
			if f := ch.file(t); !slices.Contains(p.files, f) {
				p.files = append(p.files, f)
			}
			if len(ch.files) > filesMost {
				return nil, jptool.Errorf(jptool.CodeTooLarge, "the patterns name more than %d files; make more calls", filesMost)
			}
		}
	}
	if a.ExpectedDigest != "" && len(ch.files) > 1 {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `expected_digest` is of one file, and the patterns name %d; leave it out or make one call per file", len(ch.files))
	}
	return ch, nil
}

// file returns the one file at t: two spellings of a path are the same file.
func (ch *change) file(t *jptool.Target) *file {
	if i := slices.IndexFunc(ch.files, func(f *file) bool { return f.t.Same(t) }); i >= 0 {
		return ch.files[i]
	}
	f := &file{t: t}
	ch.files = append(ch.files, f)
	return f
}

const (
	// filesMost bounds the files of a call, each of which is open and locked until its end.
	filesMost = 10_000
	// patternsMost bounds the patterns of a call by what edit.Compiled.Size says.
	patternsMost = 1_000_000
	// wrongMost bounds the wrong patterns that an error names.
	wrongMost = 100
)

// compilePatterns checks the patterns and names those that are wrong, at most 100.
func compilePatterns(a *arguments) ([]*pattern, error) {
	if len(a.Patterns) == 0 {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "argument `patterns` is empty; give at least one {old, new}")
	}
	var list []*pattern
	var wrong []string
	size := 0
	for i, arg := range a.Patterns {
		p := &pattern{number: i + 1, paths: arg.Paths.Items, expected: cmp.Or(arg.ExpectedMatches, a.ExpectedMatches)}
		list = append(list, p)
		if len(wrong) == wrongMost {
			wrong = append(wrong, "and more patterns may be wrong")
			break
		}
		bad := func(format string, args ...any) {
			wrong = append(wrong, fmt.Sprintf("pattern #%d: ", p.number)+fmt.Sprintf(format, args...))
		}
		switch {
		case arg.Paths.Set && len(p.paths) == 0:
			bad("`paths` is empty; leave it out to use `path`, or name a file")
		case !arg.Paths.Set && a.Path == "":
			bad("it has no file: give `path`, or `paths` in the pattern")
		case !arg.Paths.Set:
			p.paths = []string{a.Path}
		}
		regex := a.ReplaceUsingRegex
		if arg.Regex != nil {
			regex = *arg.Regex
		}
		var err error
		p.edit, err = edit.Compile(edit.Pattern{Old: arg.Old, New: arg.New, Regex: regex, Fold: !a.CaseSensitive})
		if err != nil {
			bad("%v", err)
		} else if size += p.edit.Size; size > patternsMost {
			return nil, jptool.Errorf(jptool.CodeInvalidArguments, "the regexes are too large together; make more calls, or use plain text")
		}
	}
	if wrong != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidArguments, "%s", strings.Join(wrong, "\n"))
	}
	return list, nil
}
