package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed" // magics.txt
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
	head := make([]byte, min(t.size, headSize))
	n, err := t.at.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	t.encoding = encodingOf(head[:n])
	t.kind = binaryKind(head[:n], t.encoding)
	return t, nil
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
	return &utf16Reader{bufio.NewReaderSize(t.bytes(ctx, from), 64<<10), t.wide}
}

// bytes returns the content from a byte on, until the deadline of the call.
func (t *content) bytes(ctx context.Context, from int64) io.Reader {
	return &reader{ctx: ctx, t: t, off: from}
}

const noteShrank = "the file became shorter while it was being read."

// endsWithNewline reports whether the last line is terminated; false when it cannot be
// found out.
func (t *content) endsWithNewline() bool {
	newline := []byte("\n")
	if t.wide != nil {
		newline = make([]byte, 2)
		t.wide.PutUint16(newline, '\n')
	}
	last := make([]byte, len(newline))
	start := t.size - int64(len(last))
	if start < int64(t.bom) {
		return false
	}
	n, _ := t.at.ReadAt(last, start)
	return bytes.Equal(last[:n], newline)
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

// encoding is how the bytes of a text are to be read. Only a byte order mark decides
// it: guessing an old 8-bit encoding from the bytes is wrong too often, and then an
// edit corrupts the file.
type encoding struct {
	name string // as in the result: utf-8, utf-16le, utf-16be
	bom  int    // bytes of the byte order mark
	wide binary.ByteOrder
}

func encodingOf(head []byte) encoding {
	switch {
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return encoding{name: "utf-8", bom: 3}
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")), bytes.HasPrefix(head, []byte("\x00\x00\xfe\xff")):
		return encoding{name: "utf-32"}
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return encoding{name: "utf-16le", bom: 2, wide: binary.LittleEndian}
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return encoding{name: "utf-16be", bom: 2, wide: binary.BigEndian}
	}
	return encoding{name: "utf-8"}
}

// badByte stands in decoded text for what UTF-16 does not allow. No UTF-8 has it, so
// that it is shown and counted like a bad byte of any other file.
const badByte = 0xff

// utf16Reader decodes UTF-16 to UTF-8.
type utf16Reader struct {
	in    *bufio.Reader
	order binary.ByteOrder
}

// Read fills p, which must have room for one character.
func (d *utf16Reader) Read(p []byte) (n int, err error) {
	for n+utf8.UTFMax <= len(p) {
		next, err := d.in.Peek(4)
		if len(next) == 0 {
			if n > 0 {
				err = nil
			}
			return n, err
		}
		r, size := utf8.RuneError, min(2, len(next))
		if size == 2 {
			r = rune(d.order.Uint16(next))
		}
		if utf16.IsSurrogate(r) && len(next) == 4 {
			if pair := utf16.DecodeRune(r, rune(d.order.Uint16(next[2:]))); pair != utf8.RuneError {
				r, size = pair, 4
			}
		}
		if size == 1 || utf16.IsSurrogate(r) {
			p[n] = badByte
			n++
		} else {
			n += utf8.EncodeRune(p[n:], r)
		}
		d.in.Discard(size)
	}
	return n, nil
}

// headSize is how much of a file decides whether it is text, in bytes; git and
// ripgrep look as far.
const headSize = 8192

// magics are the starts of common binary formats, a line each: offset, bytes and kind.
// net/http's detection knows fewer of those that occur in a workspace, and costs more
// at start-up than all the rest here.
//
//go:embed magics.txt
var magics string

// binaryKind names the kind of a binary file by its first bytes, and returns "" for
// text. Binary is what holds a NUL byte there, what looks like a known format and is
// not plain text as well, and what is mostly not text. A text in an old 8-bit encoding
// is text with bad bytes.
func binaryKind(head []byte, enc encoding) string {
	switch {
	case enc.name == "utf-32":
		return "UTF-32 text"
	case enc.wide != nil:
		for i := enc.bom; i+1 < len(head); i += 2 {
			if head[i] == 0 && head[i+1] == 0 {
				return unknownKind
			}
		}
		return ""
	}
	kind := magicOf(head)
	nul := bytes.IndexByte(head, 0) >= 0
	control, bad := oddBytes(head)
	switch {
	case nul && kind == "", control > 0 && (control+bad)*10 > len(head)*3:
		if kind != "" {
			return kind
		}
		return unknownKind
	case nul || control+bad > 0:
		return kind
	}
	return ""
}

const unknownKind = "unknown kind"

func magicOf(head []byte) string {
	for line := range strings.Lines(magics) {
		field := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		at, err := strconv.Atoi(field[0])
		start, quoteErr := strconv.Unquote(field[1])
		if err != nil || quoteErr != nil {
			panic("magics.txt: " + line)
		}
		if len(head) >= at && bytes.HasPrefix(head[at:], []byte(start)) {
			return field[2]
		}
	}
	return ""
}

// oddBytes counts the control characters that no text has, and the bytes that are not
// UTF-8; a character cut by the end of head is fine.
func oddBytes(head []byte) (control, bad int) {
	for i := 0; i < len(head); {
		r, n := utf8.DecodeRune(head[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			if len(head) == headSize && !utf8.FullRune(head[i:]) {
				return control, bad
			}
			bad++
		case r < 0x20 && (r < '\a' || r > '\r') && r != 0x1b:
			control++
		}
		i += n
	}
	return control, bad
}
