package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit"
	"github.com/jptools/jptools/tools/fskit/diff"
	"github.com/jptools/jptools/tools/fskit/safewrite"
)

// file is one file of a change.
type file struct {
	t       *jptool.Target
	lock    *safewrite.File
	content *edit.Content
	part    *part // when content is not the whole file

	replaced          int
	grown             int // bytes that the new content is larger by
	diff              diff.Diff
	oldDigest, digest string
	method            safewrite.Method
}

func (f *file) path() string { return f.t.Path() }

func (f *file) changed() bool { return f.diff.Added+f.diff.Removed > 0 }

const (
	// maxBytes bounds the files of a call together: they are held in memory, old and new.
	maxBytes = 1 << 30
	// binaryLook is how far a NUL is looked for, as git does.
	binaryLook = 8 << 10
)

// read locks all files and reads them. A preview opens them for reading only, and sees what the run will see.
func (ch *change) read(ctx context.Context, expectedDigest string) error {
	lock := safewrite.LockAll
	if ch.call.Preview {
		lock = safewrite.HoldAll
	}
	targets := make([]*jptool.Target, len(ch.files))
	for i, f := range ch.files {
		targets[i] = f.t
	}
	locks, err := lock(ctx, targets)
	if err != nil {
		return err
	}
	for i, f := range ch.files {
		f.lock = locks[i]
	}
	for _, f := range ch.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := ch.load(ctx, f); err != nil {
			return err
		}
		ch.held += int64(len(f.content.Old))
	}
	if expectedDigest != "" {
		f := ch.files[0]
		if f.oldDigest, err = f.lock.Digest(); err != nil {
			return err
		}
		return fskit.CheckDigest(f.path(), expectedDigest, f.oldDigest)
	}
	return nil
}

// load reads one file, or as much of it as its patterns can touch.
func (ch *change) load(ctx context.Context, f *file) error {
	fi, err := f.lock.Stat()
	if err != nil {
		return err
	}
	// Before the rest is read: a binary file can have any size.
	head := make([]byte, binaryLook)
	n, err := f.lock.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if err := checkText(f.path(), head[:n]); err != nil {
		return err
	}
	if err := ch.loadPart(ctx, f, fi.Size()); err != nil || f.part != nil {
		return err
	}
	if fi.Size() > maxBytes-ch.held {
		return jptool.Errorf(jptool.CodeTooLarge, "%s has %d bytes; the files of one call may have %d MiB together", jptool.Quote(f.path()), fi.Size(), maxBytes>>20)
	}
	content, err := f.lock.Content()
	if err != nil {
		return err
	}
	f.content = edit.NewContent(content)
	return checkText(f.path(), content) // it may have changed
}

// checkText refuses what cannot be edited as text without a guess.
func checkText(path string, content []byte) error {
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(content, []byte(mark)) {
			return jptool.Errorf(jptool.CodeWrongType, "%s is UTF-16 text, which cannot be modified here; only text that is UTF-8 or another extension of ASCII can", jptool.Quote(path))
		}
	}
	if bytes.IndexByte(content[:min(len(content), binaryLook)], 0) >= 0 {
		return jptool.Errorf(jptool.CodeWrongType, "%s is a binary file (it has a NUL byte at its start), which cannot be modified as text", jptool.Quote(path))
	}
	return nil
}

// newReader reads the new content.
func (f *file) newReader() io.Reader {
	if f.part == nil {
		return bytes.NewReader(f.content.New())
	}
	after := f.part.start + int64(len(f.content.Old))
	return io.MultiReader(
		io.NewSectionReader(f.lock, 0, f.part.start),
		bytes.NewReader(f.content.New()),
		io.NewSectionReader(f.lock, after, f.part.size-after),
	)
}

// digest fills in the digests of old and new content of the changed files. Of a large
// file they take a while.
func (ch *change) digest() error {
	for _, f := range ch.changed() {
		var err, newErr error
		f.oldDigest, err = f.lock.Digest()
		if f.digest == "" {
			f.digest, newErr = fskit.Digest(f.newReader())
		}
		if err := cmp.Or(err, newErr); err != nil {
			return f.t.Fail(err)
		}
	}
	return nil
}

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
	f.digest, err = f.lock.StageSplice(f.part.start, f.content.Old, f.content.New())
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
