package main

import (
	"bytes"
	"context"
	"io"

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

// loadPart reads the part of a large file that matters. It reports false when there is no
// such part: for regexes and matches far apart, and when nothing matches.
func (ch *change) loadPart(ctx context.Context, f *file) (bool, error) {
	fi, err := f.lock.Stat()
	if err != nil || fi.Size() < partFrom {
		return false, err
	}
	var needles [][]byte
	around := partAround
	for _, p := range ch.patterns {
		for _, of := range p.files {
			if of != f {
				continue
			}
			n := p.edit.Needle()
			if n == nil || int64(len(n)) > scanChunk/2 {
				return false, nil
			}
			needles = append(needles, n)
			around += 2 * int64(len(p.edit.Old)+len(p.edit.New))
		}
	}
	s, err := scan(ctx, f.lock, fi.Size(), needles)
	var content []byte
	if err == nil && s != nil {
		content, err = f.cutOut(s, fi.Size(), around)
	}
	if err != nil || content == nil {
		return false, err
	}
	if f.part.start == 0 {
		f.content = edit.NewContent(content)
	} else {
		f.content = edit.NewPart(content)
	}
	return true, nil
}

// hull is what a scan found.
type hull struct {
	first, last int64 // start of the first and end of the last place
	ends        []int // line ends in every chunk
	unended     bool  // the last line has no end
}

// scan looks for any of the needles from start to end. It returns nil when there is none
// or they are far apart.
func scan(ctx context.Context, r io.ReaderAt, size int64, needles [][]byte) (*hull, error) {
	overlap := 0
	for _, n := range needles {
		overlap = max(overlap, len(n)-1)
	}
	h := &hull{first: -1}
	buf := make([]byte, overlap+int(scanChunk))
	kept := 0 // bytes of the chunk before, at the start of buf
	for at := int64(0); at < size; at += scanChunk {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		n, err := r.ReadAt(buf[kept:kept+int(min(scanChunk, size-at))], at)
		if err != nil && err != io.EOF {
			return nil, err
		}
		h.ends = append(h.ends, bytes.Count(buf[kept:kept+n], []byte("\n")))
		if n > 0 {
			h.unended = buf[kept+n-1] != '\n'
		}
		text := buf[:kept+n]
		for _, needle := range needles {
			i := bytes.Index(text, needle)
			if i < 0 {
				continue
			}
			from := at - int64(kept)
			if start := from + int64(i); h.first < 0 || start < h.first {
				h.first = start
			}
			h.last = max(h.last, from+int64(bytes.LastIndex(text, needle)+len(needle)))
		}
		if h.first >= 0 && h.last-h.first > partMost {
			return nil, nil
		}
		next := min(overlap, len(text))
		copy(buf, text[len(text)-next:])
		kept = next
	}
	if h.first < 0 {
		return nil, nil
	}
	return h, nil
}

// cutOut reads whole lines with everything around the hull, nil when the lines are too
// long for that, and says where they are.
func (f *file) cutOut(h *hull, size, around int64) ([]byte, error) {
	start, end := max(0, h.first-around-partAround), min(size, h.last+around+partAround)
	content := make([]byte, end-start)
	n, err := f.lock.ReadAt(content, start)
	if err != nil && err != io.EOF {
		return nil, err
	}
	content = content[:n]
	if start > 0 {
		i := bytes.IndexByte(content, '\n') + 1
		if i == 0 || start+int64(i) > h.first-around {
			return nil, nil
		}
		start, content = start+int64(i), content[i:]
	}
	if end < size {
		i := bytes.LastIndexByte(content, '\n') + 1
		if start+int64(i) < h.last+around {
			return nil, nil
		}
		content = content[:i]
	}
	p := &part{start: start, size: size}
	for _, n := range h.ends {
		p.lines += n
	}
	if h.unended {
		p.lines++
	}
	chunk := start / scanChunk
	for _, n := range h.ends[:chunk] {
		p.before += n
	}
	rest := make([]byte, start-chunk*scanChunk)
	if n, err := f.lock.ReadAt(rest, chunk*scanChunk); n < len(rest) {
		return nil, err
	}
	p.before += bytes.Count(rest, []byte("\n"))
	f.part = p
	return content, nil
}

// newReader reads the new content.
func (f *file) newReader() io.Reader {
	after := f.part.start + int64(len(f.content.Old()))
	return io.MultiReader(
		io.NewSectionReader(f.lock, 0, f.part.start),
		bytes.NewReader(f.content.New()),
		io.NewSectionReader(f.lock, after, f.part.size-after),
	)
}

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
	edits := make([]diff.Edit, len(f.content.Edits()))
	for i, e := range f.content.Edits() {
		edits[i] = diff.Edit{Start: e.Start + int(f.part.start), End: e.End + int(f.part.start), Text: e.Text}
	}
	f.content, f.part = edit.NewContent(content), nil
	f.content.Apply(edits)
	return nil
}
