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

// part is where the content that is held lies in its file. A match of a later pattern
// that is not in the file as it is touches what an earlier one put there; so whatever
// the patterns do happens between the first and the last place where one of them matches
// at the start, or within the length of the patterns around. Only that is held; the rest
// is copied without being looked at again.
type part struct {
	start  int64 // a line start
	before int   // lines before it
	size   int64 // of the file
	lines  int   // of the file
}

// Sizes in bytes; tests change them.
var (
	// partFrom is the size from which a file is not read whole if that can be avoided.
	partFrom int64 = 8 << 20
	// partMost bounds the distance of the first and the last match.
	partMost int64 = 8 << 20
	// partAround is held before and after for the context of a diff; a line start must be
	// within as much again.
	partAround int64 = 64 << 10
	// scanChunk is read at a time.
	scanChunk int64 = 256 << 10
)

func (f *file) linesBefore() int {
	if f.part == nil {
		return 0
	}
	return f.part.before
}

// loadPart reads the part of a large file that matters. It leaves f.part nil when there is no
// such part: for regexes and matches far apart, and when nothing matches.
func (ch *change) loadPart(ctx context.Context, f *file, size int64) error {
	if size < partFrom {
		return nil
	}
	var needles [][]byte
	around := partAround
	for _, p := range ch.patterns {
		if !slices.Contains(p.files, f) {
			continue
		}
		n := p.edit.Needle()
		if n == nil || int64(len(n)) > scanChunk/2 {
			return nil
		}
		needles = append(needles, n)
		around += 2 * int64(len(p.edit.Old)+len(p.edit.New))
	}
	p := &part{size: size}
	first, last, err := p.scan(ctx, f.lock, needles)
	if err != nil || first < 0 {
		return err
	}
	content, err := p.cutOut(f.lock, first, last, around)
	if err != nil || content == nil || int64(len(content)) > maxBytes-ch.held {
		return err
	}
	f.part, f.content = p, edit.NewContent(content)
	f.content.Part = p.start > 0
	return nil
}

// scan looks for the needles from start to end and returns the start of the first place where
// there is one and the end of the last, -1 if there is none or they are far apart. It counts the
// lines, and for now those before the first place.
func (p *part) scan(ctx context.Context, r io.ReaderAt, needles [][]byte) (first, last int64, err error) {
	overlap := 0
	for _, n := range needles {
		overlap = max(overlap, len(n)-1)
	}
	first = -1
	buf := make([]byte, overlap+int(scanChunk))
	var text []byte // the bytes of the chunk before that matter, and a chunk
	for at := int64(0); at < p.size; at += scanChunk {
		if ctx.Err() != nil {
			return 0, 0, ctx.Err()
		}
		kept := copy(buf, text[max(0, len(text)-overlap):])
		n, err := r.ReadAt(buf[kept:kept+int(min(scanChunk, p.size-at))], at)
		if err != nil && err != io.EOF {
			return 0, 0, err
		}
		text = buf[:kept+n]
		for _, needle := range needles {
			i := bytes.Index(text, needle)
			if i < 0 {
				continue
			}
			from := at - int64(kept)
			if start := from + int64(i); first < 0 || start < first {
				first = start
				p.before = p.lines - bytes.Count(text[:kept], newline) + bytes.Count(text[:i], newline)
			}
			last = max(last, from+int64(bytes.LastIndex(text, needle)+len(needle)))
		}
		if first >= 0 && last-first > partMost {
			return -1, 0, nil
		}
		p.lines += bytes.Count(text[kept:], newline)
	}
	if !bytes.HasSuffix(text, newline) {
		p.lines++ // the last line has no end
	}
	return first, last, nil
}

// cutOut reads whole lines with everything around the places, nil when the lines are too
// long for that, and notes where they start.
func (p *part) cutOut(r io.ReaderAt, first, last, around int64) ([]byte, error) {
	p.start = max(0, first-around-partAround)
	end := min(p.size, last+around+partAround)
	content := make([]byte, end-p.start)
	if _, err := r.ReadAt(content, p.start); err != nil && err != io.EOF {
		return nil, err
	}
	if p.start > 0 {
		i := bytes.IndexByte(content, '\n') + 1
		p.start, content = p.start+int64(i), content[i:]
		if i == 0 || p.start > first-around {
			return nil, nil
		}
	}
	if end < p.size {
		content = content[:bytes.LastIndexByte(content, '\n')+1]
		if p.start+int64(len(content)) < last+around {
			return nil, nil
		}
	}
	p.before -= bytes.Count(content[:first-p.start], newline)
	return content, nil
}

var newline = []byte("\n")

// makeWhole reads the rest of the file too, keeping the edits made so far.
func (ch *change) makeWhole(f *file) error {
	if f.part == nil {
		return nil
	}
	if ch.held += f.part.size; ch.held > maxBytes {
		return jptool.Errorf(jptool.CodeNoMatch, "nothing was changed: a pattern does not match in %s, which is too large to look for similar text", jptool.Quote(f.path()))
	}
	content, err := f.lock.Content()
	if err != nil {
		return err
	}
	edits, start := slices.Clone(f.content.Edits), int(f.part.start)
	for i := range edits {
		edits[i].Start += start
		edits[i].End += start
	}
	f.content, f.part = edit.NewContent(content), nil
	f.content.Apply(edits)
	return nil
}
