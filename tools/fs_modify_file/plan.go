package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

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
