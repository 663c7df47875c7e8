package main

import (
	"bytes"
	"context"
	"io"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/tools/fs_modify_file/edit"
	"github.com/jptools/jptools/tools/fskit/diff"
)

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
	var edits []diff.Edit
	for _, e := range f.content.Edits {
		edits = append(edits, diff.Edit{Start: e.Start + int(f.part.start), End: e.End + int(f.part.start), Text: e.Text})
	}
	f.content, f.part = edit.NewContent(content), nil
	f.content.Apply(edits)
	return nil
}
