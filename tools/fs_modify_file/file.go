package main

import (
	"bytes"
	"cmp"
	"context"
	"io"

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
		if err := ch.load(ctx, f, maxBytes-ch.held); err != nil {
			return err
		}
		ch.held += int64(len(f.content.Old()))
	}
	if expectedDigest != "" {
		f := ch.files[0]
		if err := f.digestOld(); err != nil {
			return err
		}
		return fskit.CheckDigest(f.path(), expectedDigest, f.oldDigest)
	}
	return nil
}

// digestOld fills in the digest of the old content. Of a large file it takes a while.
func (f *file) digestOld() (err error) {
	switch {
	case f.oldDigest != "":
	case f.part != nil:
		f.oldDigest, err = f.lock.Digest()
	default:
		f.oldDigest = fskit.DigestBytes(f.content.Old())
	}
	return err
}

// load reads one file, or as much of it as its patterns can touch.
func (ch *change) load(ctx context.Context, f *file, most int64) error {
	// Before the rest is read: a binary file can have any size.
	head := make([]byte, binaryLook)
	n, err := f.lock.ReadAt(head, 0)
	if err == nil || err == io.EOF {
		err = checkText(f.path(), head[:n])
	}
	if err != nil {
		return err
	}
	if done, err := ch.loadPart(ctx, f); err != nil || done && int64(len(f.content.Old())) <= most {
		return err
	}
	f.part = nil
	content, err := f.read(most)
	if err == nil {
		err = checkText(f.path(), content)
	}
	f.content = edit.NewContent(content)
	return err
}

func (f *file) read(most int64) ([]byte, error) {
	fi, err := f.lock.Stat()
	if err != nil {
		return nil, err
	}
	if fi.Size() > most {
		return nil, jptool.Errorf(jptool.CodeTooLarge, "%s has %d bytes; the files of one call may have %d MiB together", jptool.Quote(f.path()), fi.Size(), maxBytes>>20)
	}
	return f.lock.Content()
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

// digestNew fills in the digest of the new content.
func (f *file) digestNew() (err error) {
	switch {
	case f.digest != "":
	case f.part != nil:
		f.digest, err = fskit.Digest(f.newReader())
	default:
		f.digest = fskit.DigestBytes(f.content.New())
	}
	return err
}

// digest fills in the digests of old and new content of the changed files.
func (ch *change) digest() error {
	for _, f := range ch.changed() {
		if err := cmp.Or(f.digestOld(), f.digestNew()); err != nil {
			return f.t.Fail(err)
		}
	}
	return nil
}
