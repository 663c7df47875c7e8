// Package edit finds what a pattern matches in the content of a file and says which
// bytes to put in its place. It works on bytes: patterns see a view of the content with
// LF line ends and without a byte order mark, and whatever they do not match stays
// identical to the byte.
//
// It does no I/O, asks for no rights and never guesses: text that is not there exactly
// is not matched, only shown by [Nearest].
package edit

import (
	"bytes"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/jptools/jptools/tools/fskit/diff"
)

// View is content as patterns see it: without a UTF-8 byte order mark, and with every
// CRLF as one LF. A lone CR stays.
type View struct {
	raw   []byte
	start int // of the text, after the mark
	crlf  bool
	lf    []byte // made when first needed
	near  struct {
		from, to int  // no line end is between the two
		cr       bool // the end of the line they are on is CRLF
	}
}

var (
	mark = []byte("\xef\xbb\xbf")
	crlf = []byte("\r\n")
	lf   = []byte("\n")
)

// NewView returns the view of content, which must not change afterwards. It copies
// nothing unless a pattern needs the line ends changed.
func NewView(content []byte) *View {
	v := &View{raw: content, crlf: bytes.Contains(content, crlf)}
	if bytes.HasPrefix(content, mark) {
		v.start = len(mark)
	}
	return v
}

// text returns the view itself.
func (v *View) text() []byte {
	if v.lf == nil {
		v.lf = toLF(v.raw[v.start:])
	}
	return v.lf
}

// cursor translates offsets of the view into offsets of the content. An offset at a
// line end that is CRLF there is the one before the CR. It is cheap for offsets that
// mostly grow.
type cursor struct {
	view   *View
	at, to int // the view's offset at is the content's offset to
	next   int // the first CRLF of the content at or after to, its length for none
}

func (v *View) cursor() *cursor {
	c := &cursor{view: v}
	c.move(0, v.start)
	return c
}

func (c *cursor) move(at, to int) {
	c.at, c.to, c.next = at, to, len(c.view.raw)
	if i := bytes.Index(c.view.raw[to:], crlf); i >= 0 {
		c.next = to + i
	}
}

func (c *cursor) offset(at int) int {
	if at < c.at {
		c.move(0, c.view.start)
	}
	for c.to+at-c.at > c.next { // pass the CRLF: two bytes of content for one of the view
		c.move(c.at+c.next-c.to+1, c.next+2)
	}
	return c.to + at - c.at
}

// toLF is text with every CRLF as LF.
func toLF(text []byte) []byte {
	if bytes.Contains(text, crlf) {
		text = bytes.ReplaceAll(text, crlf, lf)
	}
	return text
}

// lineEnds returns text, which has LF line ends, with those that its place asks for: the
// ends of the text it replaces, line by line, and else those of the lines around.
func (v *View) lineEnds(start, end int, text []byte) []byte {
	if !v.crlf || bytes.IndexByte(text, '\n') < 0 {
		return text
	}
	n := bytes.Count(text, lf)
	var ends []bool
	switch from := endsOf(v.raw[start:end]); {
	case len(from) == 0:
		ends = slices.Repeat([]bool{v.endAround(start, end)}, n)
	case !slices.Contains(from, !from[0]):
		ends = slices.Repeat(from[:1], n)
	default:
		ends = align(from, string(toLF(v.raw[start:end])), string(text))
	}
	out := make([]byte, 0, len(text)+n)
	for _, cr := range ends {
		at := bytes.IndexByte(text, '\n')
		out = append(out, text[:at]...)
		if cr {
			out = append(out, '\r')
		}
		out = append(out, '\n')
		text = text[at+1:]
	}
	return append(out, text...)
}

// alignMost bounds the texts whose lines are compared to find the ones that stay.
const alignMost = 1 << 20

// align gives every line end of text the kind of a line of old: lines that stay keep
// theirs, others take those of the lines they replace, and more lines the last of them.
func align(from []bool, old, text string) []bool {
	ends := make([]bool, 0, strings.Count(text, "\n"))
	edits := []udiff.Edit{{Start: 0, End: len(old), New: text}}
	if len(old)+len(text) <= alignMost {
		edits = udiff.Lines(old, text)
	}
	line, at := 0, 0 // of old
	for _, e := range edits {
		same := strings.Count(old[at:e.Start], "\n")
		ends = append(ends, from[line:line+same]...)
		line, at = line+same, e.End
		gone := strings.Count(old[e.Start:e.End], "\n")
		for i := range strings.Count(e.New, "\n") {
			k := line + min(i, gone-1)
			ends = append(ends, from[max(0, min(k, len(from)-1))])
		}
		line += gone
	}
	return append(ends, from[line:line+strings.Count(old[at:], "\n")]...)
}

// endsOf lists the line ends of b: true for CRLF.
func endsOf(b []byte) []bool {
	var list []bool
	for line := range bytes.Lines(b) {
		if bytes.HasSuffix(line, lf) {
			list = append(list, bytes.HasSuffix(line, crlf))
		}
	}
	return list
}

// endAround reports whether the line that a place stands on ends with CRLF, or if it is
// the last and has no end, the line before.
//
// A line can have any number of places, so the last answer is kept.
func (v *View) endAround(start, end int) bool {
	if n := &v.near; n.from < n.to && n.from <= end && end <= n.to {
		return n.cr
	}
	i := bytes.IndexByte(v.raw[end:], '\n')
	v.near.from, v.near.to = end, len(v.raw)
	if i >= 0 {
		i += end
		v.near.to = i
	} else {
		i = bytes.LastIndexByte(v.raw[:start], '\n')
	}
	v.near.cr = i > 0 && v.raw[i-1] == '\r'
	return v.near.cr
}

// Content is the content of one file on its way from old to new.
type Content struct {
	// Part says that it is a part of a file: whole lines that do not include the first.
	Part bool

	Old     []byte      // as it was
	Edits   []diff.Edit // what was done to it
	current []byte      // Old with Edits, once somebody needed it
	view    *View
}

// NewContent starts with old, which must not change afterwards.
func NewContent(old []byte) *Content { return &Content{Old: old, current: old} }

// View shows the content as it is now, with all edits made so far.
func (c *Content) View() *View {
	if c.view == nil {
		c.view = NewView(c.New())
		if c.Part {
			c.view.start = 0 // a byte order mark stands at the start of a file only
		}
	}
	return c.view
}

// New returns the content as it is now.
func (c *Content) New() []byte {
	if c.current == nil {
		c.current = diff.Apply(c.Old, c.Edits)
	}
	return c.current
}

// Apply makes edits of the content as it is now.
func (c *Content) Apply(edits []diff.Edit) {
	if len(edits) == 0 {
		return
	}
	if len(c.Edits) == 0 {
		c.Edits = edits
	} else {
		c.Edits = compose(c.Edits, edits, c.New())
	}
	c.current, c.view = nil, nil
}

// compose returns edits of the old content that do what first and then second do; mid
// is the content between the two. Edits that touch become one.
func compose(first, second []diff.Edit, mid []byte) []diff.Edit {
	var out []diff.Edit
	shift := 0 // from old to mid, by the edits of first that are done
	for len(first) > 0 || len(second) > 0 {
		// The next cluster of mid that edits of either list touch.
		start := len(mid)
		if len(first) > 0 {
			start = first[0].Start + shift
		}
		if len(second) > 0 {
			start = min(start, second[0].Start)
		}
		e := diff.Edit{Start: start - shift}
		end, done := start, start
		for {
			if len(first) > 0 && first[0].Start+shift <= end {
				f := first[0]
				first = first[1:]
				end = max(end, f.Start+shift+len(f.Text))
				shift += len(f.Text) - (f.End - f.Start)
				continue
			}
			if len(second) > 0 && second[0].Start <= end {
				s := second[0]
				second = second[1:]
				e.Text = append(append(e.Text, mid[done:s.Start]...), s.Text...)
				done = s.End
				end = max(end, s.End)
				continue
			}
			break
		}
		e.Text = append(e.Text, mid[done:end]...)
		e.End = end - shift
		out = append(out, e)
	}
	return out
}
