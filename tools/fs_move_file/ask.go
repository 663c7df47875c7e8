package main

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/toolmain"
	"github.com/jptools/jptools/tools/fskit/gitguard"
)

// maxCounted bounds the count of entries in a question.
const maxCounted = 1000

// questions are all that a person is asked before the move: whether what is at the target may go, and whether
// what git does not have may move.
func (m *move) questions(ctx context.Context) ([]toolmain.Question, error) {
	overwrite, err := m.askOverwrite(ctx)
	if err != nil {
		return nil, err
	}
	dirty, err := m.askDirty(ctx)
	return append(overwrite, dirty...), err
}

// askOverwrite asks whether what is at the target may go. The answer is for that content, and for what takes
// its place.
func (m *move) askOverwrite(ctx context.Context) ([]toolmain.Question, error) {
	if m.onto == nil {
		return nil, nil
	}
	what := "file"
	if m.onto.Mode()&fs.ModeSymlink != 0 {
		what = "symlink"
	}
	seen, err := m.seen(ctx)
	if err != nil {
		return nil, err
	}
	path := jptool.Quote(m.target.Path())
	text := fmt.Sprintf("The %s %s exists already. Overwrite it with %s?", what, path, jptool.Quote(m.source.Path()))
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	if dirty, reason := gitguard.State(git, m.Workspace, m.target); dirty {
		text = fmt.Sprintf("The %s %s exists already, and git could not bring it back (%s). Overwrite it with %s?", what, path, reason, jptool.Quote(m.source.Path()))
	}
	return []toolmain.Question{{
		ID: "overwrite_file", Text: text, Default: false,
		Token:    toolmain.Token(append([]string{"overwrite_file", m.source.Path(), m.target.Path(), what}, seen...)...),
		Declined: toolmain.Declined("the target %s already exists, and overwriting it was not allowed; nothing was moved", path),
	}}, nil
}

// askDirty asks before moving what git does not have: history and a revert would not
// follow it. The answer is for this content, and for these names.
func (m *move) askDirty(ctx context.Context) ([]toolmain.Question, error) {
	path := jptool.Quote(m.source.Path())
	text, count := "", ""
	git, cancel := gitguard.Bound(ctx)
	defer cancel()
	if m.from.IsDir() {
		c := gitguard.Count(git, m.Workspace, m.source, maxCounted)
		if !c.Any() {
			return nil, nil
		}
		switch {
		case c.Dirty == 0:
			text = fmt.Sprintf("What git has of the directory %s is unknown (%s). Move it?", path, c.Reason)
		case c.Dirty == 1 && !c.More:
			text = fmt.Sprintf("The directory %s has 1 uncommitted entry. Move it?", path)
		case c.More:
			text = fmt.Sprintf("The directory %s has %d uncommitted entries or more. Move it?", path, c.Dirty)
		default:
			text = fmt.Sprintf("The directory %s has %d uncommitted entries. Move it?", path, c.Dirty)
		}
		count = fmt.Sprint(c.Dirty, c.More, c.Unknown)
	} else {
		dirty, reason := gitguard.State(git, m.Workspace, m.source)
		if !dirty {
			return nil, nil
		}
		text = fmt.Sprintf("Git does not have the %s %s as it is (%s). Move it?", m.kind, path, reason)
	}
	seen, err := m.seen(ctx)
	if err != nil {
		return nil, err
	}
	return []toolmain.Question{{
		ID: "move_dirty_source", Text: text, Default: false,
		Token:    toolmain.Token(append([]string{"move_dirty_source", m.source.Path(), m.target.Path(), m.kind, count}, seen...)...),
		Declined: toolmain.Declined("moving %s was not allowed, because git does not have it as it is; nothing was moved", path),
	}}, nil
}
