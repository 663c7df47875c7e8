package edit

import (
	"github.com/jptools/jptools/tools/fskit/diff"
)

// Content is the content of one file on its way from old to new.
type Content struct {
	part    bool
	old     []byte
	edits   []diff.Edit // of old
	current []byte      // old with edits, once somebody needed it
	view    *View
}

// NewContent starts with old, which must not change afterwards.
func NewContent(old []byte) *Content { return &Content{old: old, current: old} }

// NewPart starts with a part of a file: whole lines that do not include the first.
func NewPart(old []byte) *Content { return &Content{old: old, current: old, part: true} }

// Old returns the content as it was.
func (c *Content) Old() []byte { return c.old }

// View shows the content as it is now, with all edits made so far.
func (c *Content) View() *View {
	if c.view == nil {
		c.view = NewView(c.New())
		if c.part {
			c.view.start = 0 // a byte order mark stands at the start of a file only
		}
	}
	return c.view
}

// New returns the content as it is now.
func (c *Content) New() []byte {
	if c.current == nil {
		c.current = diff.Apply(c.old, c.edits)
	}
	return c.current
}

// Edits returns what was done to the old content.
func (c *Content) Edits() []diff.Edit { return c.edits }

// Apply makes edits of the content as it is now.
func (c *Content) Apply(edits []diff.Edit) {
	if len(edits) == 0 {
		return
	}
	if len(c.edits) == 0 {
		c.edits = edits
	} else {
		c.edits = compose(c.edits, edits, c.New())
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
