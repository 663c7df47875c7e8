package main

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/gitguard"
)

// smallFile is the number of lines below which no ratio is looked at.
const smallFile = 10

// questions are all that a person is asked before the change is made. Each id asks one thing, so
// that an answer kept for one of them never answers another: broad_replacement is about the regex,
// broad_change about the result.
func (ch *change) questions(ctx context.Context, o *options) []toolmain.Question {
	var list []toolmain.Question
	for _, q := range []*toolmain.Question{ch.askBroadRegex(), ch.askBroadChange(), ch.askDirty(ctx), ch.askApply(o)} {
		if q != nil {
			list = append(list, *q)
		}
	}
	return list
}

// askBroadRegex asks about regexes that match anything.
func (ch *change) askBroadRegex() *toolmain.Question {
	var broad, token, paths []string
	for _, p := range ch.patterns {
		if !p.edit.Broad() {
			continue
		}
		broad = append(broad, fmt.Sprintf("#%d `%s`", p.number, strings.TrimSpace(p.edit.Old)))
		token = append(token, p.edit.Old, p.edit.New)
		for _, f := range p.files {
			token, paths = append(token, f.path()), append(paths, f.path())
		}
	}
	if broad == nil {
		return nil
	}
	list := strings.Join(broad, ", ")
	return &toolmain.Question{
		ID:    "broad_replacement",
		Text:  fmt.Sprintf("The regex %s matches whatever is in the file. Replace with it?", list),
		Token: toolmain.Token(token...), Default: false, Paths: paths,
		Declined: toolmain.Declined("the regex %s is overly broad and was not allowed; use one that matches only the text to replace", list),
	}
}

// askBroadChange asks when more than half of the lines of a file would go.
func (ch *change) askBroadChange() *toolmain.Question {
	var broad, paths []string
	for _, f := range ch.changed() {
		if lines := f.lines(); lines >= smallFile && 2*f.diff.Removed > lines {
			paths = append(paths, f.path())
			broad = append(broad, fmt.Sprintf("%s (%d of %d lines)", jptool.Quote(f.path()), f.diff.Removed, lines))
		}
	}
	if broad == nil {
		return nil
	}
	list := strings.Join(broad, ", ")
	return ch.question("broad_change", paths, false, "More than half of the lines would be changed or removed in "+list+". Go on?",
		"changing more than half of the lines was not allowed in %s; make smaller edits", list)
}

// askDirty asks once for all files that git could not bring back. One question for all:
// the answer is kept under one id, and a token for each file in turn would never fit all.
func (ch *change) askDirty(ctx context.Context) *toolmain.Question {
	ctx, cancel := gitguard.Bound(ctx)
	defer cancel()
	var dirty, paths []string
	for _, f := range ch.changed() {
		if is, reason := gitguard.State(ctx, ch.call.Workspace, f.t); is && !ch.call.Wrote(f.path(), f.lock.Digest) {
			paths = append(paths, f.path())
			dirty = append(dirty, fmt.Sprintf("%s (%s)", jptool.Quote(f.path()), reason))
		}
	}
	if dirty == nil {
		return nil
	}
	list := strings.Join(dirty, ", ")
	return ch.question("modify_dirty_file", paths, nil, "There are changes that git does not have in "+list+". Modify all the same?",
		"modifying was not allowed, because git does not have the content of %s", list)
}

// askApply asks for the change itself, unless the options let it pass.
func (ch *change) askApply(o *options) *toolmain.Question {
	if o.ApplyChangesTrigger == "heuristics" && ch.small(o) {
		return nil
	}
	return ch.question("apply_changes", nil, true, "Apply the changes to "+ch.names()+"?",
		"the changes were reviewed and rejected; nothing was written")
}

// small reports whether the change is within the limits of the options; all inclusive.
func (ch *change) small(o *options) bool {
	files, lines := 0, 0
	for _, f := range ch.changed() {
		files++
		lines += f.diff.Added + f.diff.Removed
		if n := f.lines(); n >= smallFile && 100*f.diff.Removed > o.MaxRatio*n {
			return false
		}
	}
	return files <= o.MaxFiles && lines <= o.MaxLines
}

// question is one about the change of these paths: it shows the diff, and its answer is for the old and the new content.
// declined and args are the error for a no.
func (ch *change) question(id string, paths []string, def any, text, declined string, args ...any) *toolmain.Question {
	parts := []string{id}
	for _, f := range ch.changed() {
		parts = append(parts, f.path())
		parts = append(parts, f.identity()...)
	}
	return &toolmain.Question{
		ID: id, Text: text, Before: ch.patch(), Default: def,
		Token: toolmain.Token(parts...), Declined: toolmain.Declined(declined, args...), Paths: paths,
	}
}

// identity distinguishes a change of the file from any other, by the old and the new content. Of
// a large file it is the part that the change is in, with its place: everything that the
// diff shows. What stands elsewhere in it neither matters to the change nor is touched.
func (f *file) identity() []string {
	old, new := fskit.DigestBytes(f.content.Old), fskit.DigestBytes(f.content.New())
	if f.part != nil {
		return []string{fmt.Sprintf("part %d %d %d", f.part.start, f.part.before, f.part.lines), old, new}
	}
	f.digest = new
	return []string{old, new}
}

// lines counts the lines of the old content.
func (f *file) lines() int {
	if f.part != nil {
		return f.part.lines
	}
	old := f.content.Old
	n := bytes.Count(old, []byte("\n"))
	if len(old) > 0 && old[len(old)-1] != '\n' {
		n++
	}
	return n
}
