package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// write stages all changed files, then puts all into place; when one cannot be, those
// before it are put back.
func (ch *change) write(ctx context.Context) error {
	changed := ch.changed()
	for _, f := range changed {
		if err := f.stage(); err != nil {
			return err
		}
	}
	// All or nothing also holds for a signal that asks the process to end.
	orderly, stop := safewrite.Orderly(ctx)
	defer stop()
	for i, f := range changed {
		if safewrite.Ended(orderly) {
			return rollback(changed[:i], jptool.Errorf(jptool.CodeDeadline, "the call was told to end; nothing was changed"))
		}
		var err error
		if f.method, err = f.lock.Commit(); err != nil {
			return rollback(changed[:i], err)
		}
	}
	return nil
}

// stage writes the new content beside the old.
func (f *file) stage() (err error) {
	if f.part == nil {
		return f.lock.Stage(f.content.New())
	}
	if f.digest, err = f.lock.StageSplice(f.part.start, f.content.Old(), f.content.New()); err != nil {
		return err
	}
	f.oldDigest, err = f.lock.Digest() // known from the copying
	return err
}

// rollback puts the old content back; cause is why.
func rollback(files []*file, cause error) error {
	var left []string
	for _, f := range slices.Backward(files) {
		if err := f.lock.Rollback(); err != nil {
			left = append(left, fmt.Sprintf("%s was changed and could not be put back: %v", jptool.Quote(f.path()), err))
		}
	}
	if left == nil {
		return cause
	}
	return &jptool.Error{Code: jptool.CodeOf(cause), Message: fmt.Sprintf("%v; %s", cause, left), Trace: left}
}
