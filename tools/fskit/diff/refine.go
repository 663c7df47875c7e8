package diff

import (
	"github.com/aymanbagabas/go-udiff"
)

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
