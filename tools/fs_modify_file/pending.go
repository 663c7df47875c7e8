package main

import (
	"context"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

const (
	// growMost bounds by how many bytes the files of a call may become larger together,
	// since a short call can ask for any amount. The change takes several times as much
	// memory.
	growMost = 64 << 20
	// placesMost bounds the places that are known at a time: those changed so far, in all
	// files, and the matches of one pattern.
	placesMost = 2 * edit.MaxMatches
)

var errTooManyPlaces = jptool.Errorf(jptool.CodeTooLarge, "there are more than %d matches in the files together", placesMost)

// pending is what a pattern makes of its files, until it is known whether it may.
type pending struct {
	ch     *change
	places int
	grown  int // what change.grown becomes
	files  []pendingFile
}

type pendingFile struct {
	*file
	edits          []diff.Edit
	matches, grown int
}

func newPending(ch *change) *pending {
	made := &pending{ch: ch, grown: ch.grown}
	for _, f := range ch.files {
		made.places += len(f.content.Edits())
	}
	return made
}

// add makes the edits of the matches in one file. The errors are those of
// [edit.Matches.Edits].
func (made *pending) add(ctx context.Context, p *pattern, f *file, m *edit.Matches) error {
	others := made.grown - max(0, f.grown)
	edits, err := m.Edits(ctx, len(f.content.Old())+growMost-others)
	if err != nil {
		return err
	}
	grown := f.grown
	for _, e := range edits {
		grown += len(e.Text) - (e.End - e.Start)
	}
	made.grown = others + max(0, grown)
	made.files = append(made.files, pendingFile{f, edits, len(m.Spans), grown})
	if p.edit.Regex {
		for i := range m.Spans {
			p.texts.add(m.Text(i))
		}
	}
	return nil
}

// apply makes the edits in memory.
func (made *pending) apply() {
	made.ch.grown = made.grown
	for _, f := range made.files {
		f.file.grown = f.grown
		f.replaced += f.matches
		f.content.Apply(f.edits)
	}
}
