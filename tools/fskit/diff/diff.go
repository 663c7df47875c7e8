// Package diff writes unified diffs of byte edits that are already known. It looks at
// the lines around the edits only, so that a small change of a large file costs one
// pass of counting line ends and no list of its lines.
package diff

import (
	"bytes"
	"slices"

	"github.com/aymanbagabas/go-udiff"
)

// Edit replaces old[Start:End] by Text. A list of edits is sorted and its edits do not
// overlap; two may touch.
type Edit struct {
	Start, End int
	Text       []byte
}

// Apply returns old with the edits made. It reads old and allocates the result once.
func Apply(old []byte, edits []Edit) []byte {
	size := len(old)
	for _, e := range edits {
		size += len(e.Text) - (e.End - e.Start)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(append(out, old[at:e.Start]...), e.Text...)
		at = e.End
	}
	return append(out, old[at:]...)
}

// Options say how a diff is written.
type Options struct {
	// Context is the number of unchanged lines around a change; zero means 3.
	Context int
	// MaxBytes bounds the text; what is left out is counted. Zero means no bound.
	MaxBytes int
	// MaxLine bounds the bytes shown of one line, which is then cut around the change.
	// A diff with cut lines cannot be applied. Zero means no bound.
	MaxLine int
	// FirstLine is the number of lines before old, when old is only a part of the file:
	// whole lines of it, with all the edits and enough around them for the context.
	FirstLine int
	// Visible makes the diff fit for display: characters that a terminal would act on
	// or hide are replaced by visible ones, invalid UTF-8 becomes U+FFFD, and a CR at a
	// line end is left out unless the change is about it. Without it the bytes are kept
	// and the diff can be applied.
	Visible bool
}

// Diff is a unified diff of one file.
type Diff struct {
	// Text is the two header lines and the hunks; empty when nothing changed.
	Text []byte
	// Added and Removed count all changed lines, shown or not.
	Added, Removed int
	// Omitted counts the changed lines that Text has no room for.
	Omitted int
}

// Unified returns the diff of old and old with the edits made, under name on both
// header lines.
func Unified(name string, old []byte, edits []Edit, o Options) Diff {
	if o.Context == 0 {
		o.Context = 3
	}
	w := &writer{Options: o, name: name, old: old, line: o.FirstLine}
	for i := 0; i < len(edits); {
		var c cluster
		c, i = nextCluster(old, edits, i)
		for _, b := range c.blocks(old) {
			w.add(b)
		}
	}
	w.flush()
	w.diff.Text = w.text.Bytes()
	return w.diff
}

// block is whole lines of old and what stands in their place.
type block struct {
	start, end     int // in old
	text           []byte
	removed, added int // lines
}

// cluster is a run of edits whose lines touch; start and end are whole lines of old.
type cluster struct {
	start, end int
	text       []byte
}

// nextCluster takes edits from i on for as long as they share or touch lines.
func nextCluster(old []byte, edits []Edit, i int) (cluster, int) {
	c := cluster{start: lineStart(old, edits[i].Start)}
	at := c.start
	for {
		e := edits[i]
		c.text = append(append(c.text, old[at:e.Start]...), e.Text...)
		at = e.End
		i++
		next := len(old)
		if i < len(edits) {
			// Looking between the two only: a line may have any number of edits.
			gap := bytes.LastIndexByte(old[at:edits[i].Start], '\n')
			if gap < 0 {
				continue
			}
			next = at + gap + 1
		}
		c.end = at
		// The lines end here only if both the old and the new text are at a line start.
		if !atLineStart(old, at) || len(c.text) > 0 && c.text[len(c.text)-1] != '\n' {
			c.end = lineEnd(old, at)
		}
		if i == len(edits) || next > c.end {
			c.text = append(c.text, old[at:c.end]...)
			return c, i
		}
	}
}

func atLineStart(b []byte, at int) bool { return at == 0 || b[at-1] == '\n' }

func lineStart(b []byte, at int) int { return bytes.LastIndexByte(b[:at], '\n') + 1 }

func lineEnd(b []byte, at int) int {
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(b)
}

// countLines counts a last line without a line end too.
func countLines(b []byte) int {
	n := bytes.Count(b, newline)
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

var newline = []byte("\n")

// trim drops equal whole lines at both ends.
func (c *cluster) trim(old []byte) {
	from := old[c.start:c.end]
	head := commonPrefix(from, c.text)
	if head < len(from) || head < len(c.text) {
		head = lineStart(from, head)
	}
	from, c.text = from[head:], c.text[head:]
	c.start += head
	tail := commonSuffix(from, c.text)
	// The equal tail starts at a line in both, or is moved on to the next one.
	for tail > 0 && !(atLineStart(from, len(from)-tail) && atLineStart(c.text, len(c.text)-tail)) {
		next := bytes.IndexByte(from[len(from)-tail:], '\n')
		if next < 0 {
			tail = 0
			break
		}
		tail -= next + 1
	}
	c.end -= tail
	c.text = c.text[:len(c.text)-tail]
}

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	return i
}

func commonSuffix(a, b []byte) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[len(a)-1-i] == b[len(b)-1-i] {
		i++
	}
	return i
}

// blocks splits the cluster into the parts that really differ.
func (c cluster) blocks(old []byte) []block {
	c.trim(old)
	if c.start == c.end && len(c.text) == 0 {
		return nil
	}
	whole := block{c.start, c.end, c.text, countLines(old[c.start:c.end]), countLines(c.text)}
	if whole.removed == 0 || whole.added == 0 || whole.removed == 1 && whole.added == 1 {
		return []block{whole}
	}
	list := whole.refine(old)
	return slices.DeleteFunc(list, func(b block) bool { return b.removed == 0 && b.added == 0 })
}

// Beyond these bounds a block is shown as wholly replaced: true, only longer than need
// be, and the time stays in proportion to the edit.
const (
	refineBytes = 1 << 20
	refineLines = 20_000
)

// refine finds the lines inside a block that stayed.
func (b block) refine(old []byte) []block {
	if b.end-b.start > refineBytes || len(b.text) > refineBytes || b.removed > refineLines || b.added > refineLines {
		return []block{b}
	}
	var list []block
	for _, e := range udiff.Lines(string(old[b.start:b.end]), string(b.text)) {
		sub := block{start: b.start + e.Start, end: b.start + e.End, text: []byte(e.New)}
		sub.removed, sub.added = countLines(old[sub.start:sub.end]), countLines(sub.text)
		// Edits that touch are one block: removed lines stand before added ones.
		if n := len(list); n > 0 && list[n-1].end == sub.start {
			last := &list[n-1]
			last.end, last.text = sub.end, append(last.text, sub.text...)
			last.removed, last.added = last.removed+sub.removed, last.added+sub.added
			continue
		}
		list = append(list, sub)
	}
	return list
}
