package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fskit"
)

// smallSize is the size in bytes up to which a file is read whole, at once: its digest
// and its number of lines cost little then, and what is shown is what was digested.
const smallSize = 16 << 20

// content is an open file, bounded by what was there when it was opened, so that
// reading ends even if another process keeps appending to the file.
type content struct {
	at     io.ReaderAt
	size   int64 // bytes, the byte order mark included
	whole  bool  // at holds all of it in memory
	digest string
	// note says what kept the file from being read as it was found, or is empty.
	note string
	encoding
	// kind names what a binary file is; "" for text.
	kind string
}

// load reads the start of the file, or all of it when it is small, and finds out what
// kind of content it is. The digest of a big file is made only on request and before
// any line is read: when the file changes in between, an edit based on it fails as
// stale, and does not pass with lines that were never shown.
func load(ctx context.Context, f *os.File, digest bool) (*content, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	t := &content{at: f, size: info.Size()}
	if t.size <= smallSize {
		err = t.loadSmall(f)
	} else if digest {
		t.digest, err = fskit.Digest(t.bytes(ctx, 0))
	}
	if err != nil {
		return nil, err
	}
	return t, t.inspect()
}

// inspect finds out by the first bytes what kind of content it is.
func (t *content) inspect() error {
	head := make([]byte, min(t.size, headSize))
	n, err := t.at.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	t.encoding = encodingOf(head[:n])
	t.kind = binaryKind(head[:n], t.encoding)
	return nil
}

// loadSmall reads the file into memory. Files of /proc and the like say that they are
// empty, or give another size than they have, so it reads to the end all the same, up
// to the limit.
func (t *content) loadSmall(f *os.File) error {
	all, err := io.ReadAll(io.LimitReader(f, cmp.Or(t.size, smallSize+1)))
	if err != nil {
		return err
	}
	if now, err := f.Stat(); int64(len(all)) < t.size && (err != nil || now.Size() != t.size) {
		t.note = noteShrank // otherwise it has less than it says, as files of /sys do
	}
	if len(all) > smallSize {
		all, t.note = all[:smallSize], "the file does not tell its size; only its first 16 MiB were read."
	} else {
		t.digest = fskit.DigestBytes(all)
	}
	t.at, t.size, t.whole = bytes.NewReader(all), int64(len(all)), true
	return nil
}

// text returns the text from a byte of the file on, as UTF-8.
func (t *content) text(ctx context.Context, from int64) io.Reader {
	if t.wide == nil {
		return t.bytes(ctx, from)
	}
	return newUTF16Reader(t.bytes(ctx, from), t.wide)
}

// bytes returns the content from a byte on, until the deadline of the call.
func (t *content) bytes(ctx context.Context, from int64) io.Reader {
	return &reader{ctx: ctx, t: t, off: from}
}

const noteShrank = "the file became shorter while it was being read."

// endsWithNewline reports whether the last line is terminated; false when it cannot be
// found out.
func (t *content) endsWithNewline() bool {
	width := int64(1)
	if t.wide != nil {
		width = 2
	}
	if t.size-int64(t.bom) < width {
		return false
	}
	last := make([]byte, width)
	if n, _ := t.at.ReadAt(last, t.size-width); int64(n) < width {
		return false
	}
	if t.wide != nil {
		return t.wide.Uint16(last) == '\n'
	}
	return last[0] == '\n'
}

// reader reads a content to its end as of the time it was opened.
type reader struct {
	ctx context.Context
	t   *content
	off int64
}

func (r *reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, jptool.Errorf(jptool.CodeDeadline, "the time for this call was over after %d of %d bytes; ask for lines nearer to the start, or for the tail, or leave out `digest`", r.off, r.t.size)
	}
	left := r.t.size - r.off
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := r.t.at.ReadAt(p[:min(int64(len(p)), left)], r.off)
	r.off += int64(n)
	if errors.Is(err, io.EOF) {
		r.t.note = noteShrank
		if n > 0 {
			err = nil
		}
	}
	return n, err
}
