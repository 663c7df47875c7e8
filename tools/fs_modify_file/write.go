package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
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

// stage writes the new content beside the old, and hashes it meanwhile.
func (f *file) stage() (err error) {
	if p := f.part; p != nil {
		if f.digest, err = f.lock.StageSplice(p.start, f.content.Old(), f.content.New()); err != nil {
			return err
		}
		f.oldDigest, err = f.lock.Digest() // known from the copying
		return err
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	old, new := f.content.Old(), f.content.New()
	if f.oldDigest == "" {
		wait.Go(func() { f.oldDigest = fskit.DigestBytes(old) })
	}
	if f.digest == "" {
		wait.Go(func() { f.digest = fskit.DigestBytes(new) })
	}
	return f.lock.Stage(new)
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
