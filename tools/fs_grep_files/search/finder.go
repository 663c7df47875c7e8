package search

import (
	"bytes"
	"math/bits"
)

// A finder looks for the first of several sequences in a buffer. It is
// immutable.
type finder struct {
	needles []needle
	width   int // of the window that is looked for, see searchPlan

	rare    byte // looked for first, if rareAt >= 0
	rareAt  int
	unrares int           // stop doing so when it occurs more often in 4096 bytes
	table   *[4096]uint16 // width > 1: pair of bytes -> places in the window, a bit each
	set     *[256]bool    // width == 1: bytes that some window consists of
}

// needle is one sequence.
type needle struct {
	n      int          // length
	window int          // place of the window
	text   string       // the only text of the sequence, or
	masks  *[256]uint64 // bit j: the byte is in the set at place j
}

// newFinder returns a finder for the set; nil if the set is nil or if running
// the automaton over everything is expected to be faster.
func newFinder(set []sequence) *finder {
	if set == nil {
		return nil
	}
	p := plan(set)
	if p.cost > costAutomaton {
		return nil
	}
	f := &finder{width: p.width, rareAt: p.rare, unrares: int(4096 * p.probing / costRestart)}
	if p.rare >= 0 {
		f.rare = set[0][p.rare].first()
	}
	if p.width == 1 {
		f.set = new([256]bool)
	} else {
		f.table = new([4096]uint16)
	}
	for i, q := range set {
		nd := needle{n: len(q), window: p.offsets[i]}
		var ok bool
		if nd.text, ok = q.text(); !ok {
			nd.masks = new([256]uint64)
			for j := range q {
				q[j].each(func(b byte) { nd.masks[b] |= 1 << j })
			}
		}
		f.needles = append(f.needles, nd)
		f.enter(q[nd.window : nd.window+p.width])
	}
	return f
}

// enter puts a window into the table.
func (f *finder) enter(w sequence) {
	if f.width == 1 {
		w[0].each(func(b byte) { f.set[b] = true })
		return
	}
	for j := range w[1:] {
		w[j].each(func(a byte) {
			w[j+1].each(func(b byte) {
				f.table[pairHash(a, b)] |= 1 << j
			})
		})
	}
}

// pairHash returns the place of a pair of bytes in a table of 4096.
func pairHash(a, b byte) uint32 {
	return uint32(uint16(a)|uint16(b)<<8) * 0x9e3779b1 >> 20
}

// at reports whether the sequence begins at p, which may lie outside of buf.
func (nd *needle) at(buf []byte, p int) bool {
	if p < 0 || p+nd.n > len(buf) {
		return false
	}
	b := buf[p : p+nd.n]
	if nd.masks == nil {
		return string(b) == nd.text
	}
	for j, c := range b {
		if nd.masks[c]>>(j&63)&1 == 0 {
			return false
		}
	}
	return true
}

// next returns where the first sequence in buf[from:] begins and ends. First is
// by the place of the windows: of two sequences in different lines it is the one
// in the earlier line, as no sequence extends over a line end in line mode.
// usual says that the rare byte has proven to be no rare one.
func (f *finder) next(buf []byte, from int, usual *bool) (start, end int, ok bool) {
	if f.rareAt >= 0 && !*usual {
		nd := &f.needles[0]
		i, seen := from+f.rareAt, 0
		for i < len(buf) {
			j := bytes.IndexByte(buf[i:], f.rare)
			if j < 0 {
				return 0, 0, false
			}
			i += j
			if start = i - f.rareAt; nd.at(buf, start) {
				return start, start + nd.n, true
			}
			i++
			if seen++; seen&63 == 0 && seen*4096 > (i-from)*f.unrares {
				*usual = true
				return f.next(buf, i-f.rareAt, usual)
			}
		}
		return 0, 0, false
	}
	if f.width == 1 {
		return f.nextByte(buf, from)
	}
	return f.nextWindow(buf, from)
}

// nextByte does the work of next for windows of one byte.
func (f *finder) nextByte(buf []byte, from int) (start, end int, ok bool) {
	set := f.set
	for i := from; i < len(buf); i++ {
		if !set[buf[i]] {
			continue
		}
		for k := range f.needles {
			nd := &f.needles[k]
			if start = i - nd.window; start >= from && nd.at(buf, start) {
				return start, start + nd.n, true
			}
		}
	}
	return 0, 0, false
}

// nextWindow does the work of next for longer windows. A window of width bytes
// has width-1 pairs of neighbours, so looking at one pair in every width-1 is
// enough to meet each window once; and as the places to look at do not depend on
// what was seen, the processor looks at several at a time.
func (f *finder) nextWindow(buf []byte, from int) (start, end int, ok bool) {
	stride := f.width - 1
	table := f.table
	for i := from + stride - 1; i+1 < len(buf); i += stride {
		for i+3*stride+1 < len(buf) {
			i1 := i + stride
			i2 := i1 + stride
			i3 := i2 + stride
			hit := table[pairHash(buf[i], buf[i+1])] | table[pairHash(buf[i1], buf[i1+1])] |
				table[pairHash(buf[i2], buf[i2+1])] | table[pairHash(buf[i3], buf[i3+1])]
			if hit != 0 {
				break
			}
			i = i3 + stride
		}
		if i+1 >= len(buf) {
			break
		}
		hit := table[pairHash(buf[i], buf[i+1])]
		if hit == 0 {
			continue
		}
		// In most windows that are there, the pairs beside this one fit too.
		if i > 0 {
			hit &= table[pairHash(buf[i-1], buf[i])]<<1 | 1
		}
		if i+2 < len(buf) {
			hit &= table[pairHash(buf[i+1], buf[i+2])]>>1 | 1<<(stride-1)
		}
		for hit != 0 {
			j := bits.Len16(hit) - 1 // from high to low: the window that begins first
			hit &^= 1 << j
			for k := range f.needles {
				nd := &f.needles[k]
				if start = i - j - nd.window; start >= from && nd.at(buf, start) {
					return start, start + nd.n, true
				}
			}
		}
	}
	return 0, 0, false
}
