package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/gitguard"
)

// The questions. Each id asks one thing, so that an answer kept for one of them never
// answers another: broad_replacement is about the regex, broad_change about the result.
const (
	askBroadReplacement = "broad_replacement"
	askBroadChange      = "broad_change"
	askDirtyFile        = "modify_dirty_file"
	askApplyChanges     = "apply_changes"
)

// smallFile is the number of lines below which no ratio is looked at.
const smallFile = 10

// askBroadRegex asks about regexes that match anything.
func (ch *change) askBroadRegex() (*jptool.Outcome, error) {
	var broad, token []string
	for _, p := range ch.patterns {
		if !p.edit.Broad() {
			continue
		}
		broad = append(broad, fmt.Sprintf("#%d `%s`", p.number, strings.TrimSpace(p.edit.Old)))
		token = append(token, p.edit.Old, p.edit.New)
		for _, f := range p.files {
			token = append(token, f.path())
		}
	}
	if broad == nil {
		return nil, nil
	}
	yes, asked, err := ch.call.AskBool(jptool.Question{
		ID:   askBroadReplacement,
		Text: fmt.Sprintf("The regex %s matches whatever is in the file. Replace with it?", strings.Join(broad, ", ")), Default: false,
		Token: toolmain.Token(token...),
	})
	if err == nil && asked == nil && !yes {
		err = toolmain.Declined("the regex %s is overly broad and was not allowed; use one that matches only the text to replace", strings.Join(broad, ", "))
	}
	return asked, err
}

// askBroadChange asks when more than half of the lines of a file would go.
func (ch *change) askBroadChange() (*jptool.Outcome, error) {
	var broad []string
	for _, f := range ch.changed() {
		if lines := f.lines(); lines >= smallFile && 2*f.diff.Removed > lines {
			broad = append(broad, fmt.Sprintf("%s (%d of %d lines)", jptool.Quote(f.path()), f.diff.Removed, lines))
		}
	}
	if broad == nil {
		return nil, nil
	}
	yes, asked, err := ch.ask(askBroadChange, false, "More than half of the lines would be changed or removed in %s. Go on?", strings.Join(broad, ", "))
	if err == nil && asked == nil && !yes {
		err = toolmain.Declined("changing more than half of the lines was not allowed in %s; make smaller edits", strings.Join(broad, ", "))
	}
	return asked, err
}

// askDirty asks once for all files that git could not bring back. One question for all:
// the answer is kept under one id, and a token for each file in turn would never fit all.
func (ch *change) askDirty() (*jptool.Outcome, error) {
	ctx, cancel := gitguard.Bound(ch.call)
	defer cancel()
	var dirty []string
	for _, f := range ch.changed() {
		if is, reason := gitguard.State(ctx, ch.call.Workspace, f.t); is {
			dirty = append(dirty, fmt.Sprintf("%s (%s)", jptool.Quote(f.path()), reason))
		}
	}
	if dirty == nil {
		return nil, nil
	}
	text := strings.Join(dirty, ", ")
	yes, asked, err := ch.ask(askDirtyFile, nil, "There are changes that git does not have in %s. Modify all the same?", text)
	if err == nil && asked == nil && !yes {
		err = toolmain.Declined("modifying was not allowed, because git does not have the content of %s", text)
	}
	return asked, err
}

// askApply asks for the change itself, unless the options let it pass.
func (ch *change) askApply(o *options) (*jptool.Outcome, error) {
	if o.ApplyChangesTrigger == "heuristics" && ch.small(o) {
		return nil, nil
	}
	yes, asked, err := ch.ask(askApplyChanges, true, "Apply the changes to %s?", ch.names())
	if err == nil && asked == nil && !yes {
		err = toolmain.Declined("the changes were reviewed and rejected; nothing was written")
	}
	return asked, err
}

// small reports whether the change is within the limits of the options; all inclusive.
func (ch *change) small(o *options) bool {
	files, lines := 0, 0
	for _, f := range ch.changed() {
		files++
		lines += f.diff.Added + f.diff.Removed
		if n := f.lines(); n >= smallFile && 100*f.diff.Removed > orDefault(o.MaxRatio, 20)*n {
			return false
		}
	}
	return files <= orDefault(o.MaxFiles, 2) && lines <= orDefault(o.MaxLines, 10)
}

// ask asks a question about the change, with the diff, bound to old and new content.
func (ch *change) ask(id string, def any, format string, args ...any) (bool, *jptool.Outcome, error) {
	parts := []string{id}
	for _, f := range ch.changed() {
		parts = append(parts, f.path())
		parts = append(parts, f.identity()...)
	}
	patch := ch.patch()
	return ch.call.AskBool(jptool.Question{
		ID: id, Text: fmt.Sprintf(format, args...), PreAmble: &patch, Default: def, Token: toolmain.Token(parts...),
	})
}

// identity tells a change of the file from any other, by the old and the new content. Of
// a large file it is the part that the change is in, with its place: everything that the
// diff shows. What stands elsewhere in it neither matters to the change nor is touched.
func (f *file) identity() []string {
	old, new := fskit.DigestBytes(f.content.Old()), fskit.DigestBytes(f.content.New())
	if f.part != nil {
		return []string{fmt.Sprintf("part %d %d %d", f.part.start, f.part.before, f.part.lines), old, new}
	}
	f.oldDigest, f.digest = old, new
	return []string{old, new}
}

// lines counts the lines of the old content.
func (f *file) lines() int {
	if f.part != nil {
		return f.part.lines
	}
	old := f.content.Old()
	n := bytes.Count(old, []byte("\n"))
	if len(old) > 0 && old[len(old)-1] != '\n' {
		n++
	}
	return n
}
