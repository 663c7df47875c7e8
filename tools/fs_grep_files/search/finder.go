package search

import (
	"bytes"
	"math"
	"math/bits"
	"strings"
)

// Estimated costs in nanoseconds, measured on a 2 GHz x86-64 with AVX2. They
// only order the ways to search, so rough is good enough.
const (
	costIndexByte = 0.04 // per byte skipped by bytes.IndexByte
	costRestart   = 7    // per call of it, and for a look at the hit
	costProbe     = 0.9  // per look at one pair of bytes
	costStep      = 0.8  // per look at one byte
	costHit       = 6    // per probe that needs a closer look, and
	costEach      = 3    // for each sequence that it then is compared to
	costVerify    = 100  // to decide about the line around a found sequence
	costAutomaton = 1.9  // per byte of the automaton
)

const maxWidth = 17 // bytes of a window: the table has a bit for each pair in it

// searchPlan says how to look for one of several sequences: by the window of
// width bytes at offsets[i] of sequence i.
type searchPlan struct {
	cost    float64 // ns per byte of text
	width   int
	offsets []int
	// rare, if not negative, is the place in a single sequence of a byte so
	// seldom that stopping at each one beats looking at windows, which costs probing.
	rare    int
	probing float64
}

// plan returns the cheapest plan for a set of sequences, none of them empty.
func plan(set []sequence) searchPlan {
	shares := make([][]float64, len(set)) // of each place of each sequence
	shortest, candidates := maxWidth, 0.0
	for i, q := range set {
		all := 1.0
		for _, choice := range q {
			share := 0.0
			for _, b := range []byte(choice) {
				share += float64(byteFreq[b]) / 65536
			}
			shares[i] = append(shares[i], min(share, 1))
			all *= min(share, 1)
		}
		candidates += all
		shortest = min(shortest, len(q))
	}
	best := searchPlan{cost: math.Inf(1), rare: -1}
	for width := 1; width <= shortest; width++ {
		p := searchPlan{width: width, rare: -1}
		hits := 0.0
		for i := range set {
			at, share := window(shares[i], width)
			p.offsets = append(p.offsets, at)
			hits += share
		}
		closer := min(hits, 1) * (costHit + costEach*float64(len(set)))
		if p.cost = costStep + closer; width > 1 {
			p.cost = (costProbe + closer) / float64(width-1)
		}
		if p.cost < best.cost {
			best = p
		}
	}
	best.probing = best.cost
	if len(set) == 1 {
		for j, choice := range set[0] {
			if cost := costIndexByte + costRestart*shares[0][j]; len(choice) == 1 && cost < best.cost {
				best.cost, best.rare = cost, j
			}
		}
	}
	best.cost += candidates * costVerify
	return best
}

// window returns the place of the window in a sequence that text hits least,
// and how likely a probe hits it there.
func window(shares []float64, width int) (at int, share float64) {
	share = math.Inf(1)
	for start := range len(shares) - width + 1 {
		sum := 0.0
		for j := start; j+1 < start+width; j++ {
			// How often one byte follows another. Letters that can be neighbours
			// are so about twice as often as chance has it.
			a, b := shares[j], shares[j+1]
			sum += min(2*a*b, a, b)
		}
		if width == 1 {
			sum = shares[start]
		}
		if sum < share {
			at, share = start, sum
		}
	}
	return at, share
}

// byteFreq tells how often each byte occurs in 65,536 bytes of C headers, Go
// sources and English documentation, at least 1. It only steers the choice
// between correct ways to search.
var byteFreq = [256]uint16{
	1, 1, 1, 1, 1, 1, 1, 1, 1, 989, 1688, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	9239, 37, 433, 210, 26, 26, 51, 64, 788, 788, 459, 43, 906, 279, 614, 789,
	924, 486, 352, 240, 229, 241, 204, 139, 185, 219, 299, 185, 297, 357, 297, 4,
	18, 564, 213, 539, 299, 785, 249, 199, 130, 548, 31, 111, 496, 270, 529, 569,
	459, 37, 544, 1017, 658, 178, 145, 64, 210, 104, 26, 99, 83, 98, 5, 2052,
	73, 1962, 507, 1510, 1296, 3766, 998, 600, 847, 2175, 76, 465, 1377, 740, 2280, 1939,
	1071, 46, 2081, 2325, 2909, 904, 318, 253, 527, 483, 66, 191, 49, 190, 3, 1,
	2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	24, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 8, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 33, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 4, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
}

// A finder looks for the first of several sequences in a buffer. It is
// immutable.
type finder struct {
	searchPlan
	set    []sequence
	pairs  [4096]uint16 // width > 1: pair of bytes -> places in the window, a bit each
	single [256]bool    // width == 1: bytes that some window consists of
}

// newFinder returns a finder for the set; nil if the set is nil or if running
// the automaton over everything is expected to be faster.
func newFinder(set []sequence) *finder {
	if set == nil {
		return nil
	}
	f := &finder{searchPlan: plan(set), set: set}
	if f.cost > costAutomaton {
		return nil
	}
	for i, q := range set {
		w := q[f.offsets[i]:][:f.width]
		if f.width == 1 {
			for _, b := range []byte(w[0]) {
				f.single[b] = true
			}
		}
		for j := range f.width - 1 {
			for _, a := range []byte(w[j]) {
				for _, b := range []byte(w[j+1]) {
					f.pairs[pairHash(a, b)] |= 1 << j
				}
			}
		}
	}
	return f
}

// pairHash returns the place of a pair of bytes in a table of 4096.
func pairHash(a, b byte) uint32 {
	return uint32(uint16(a)|uint16(b)<<8) * 0x9e3779b1 >> 20
}

// at returns the sequence of which the window begins at buf[i], if it begins at
// from or later.
func (f *finder) at(buf []byte, from, i int) (start, end int, ok bool) {
next:
	for k, q := range f.set {
		start = i - f.offsets[k]
		end = start + len(q)
		if start < from || end > len(buf) {
			continue
		}
		for j, choice := range q {
			if strings.IndexByte(choice, buf[start+j]) < 0 {
				continue next
			}
		}
		return start, end, true
	}
	return 0, 0, false
}

// next returns where the first sequence in buf[from:] begins and ends. First is
// by the place of the windows: of two sequences in different lines it is the one
// in the earlier line, as no sequence extends over a line end in line mode.
// usual says that the rare byte has proven to be no rare one.
func (f *finder) next(buf []byte, from int, usual *bool) (start, end int, ok bool) {
	if f.rare >= 0 && !*usual {
		rare := f.set[0][f.rare][0]
		seen := 0.0
		for i := from + f.rare; i < len(buf); i++ {
			j := bytes.IndexByte(buf[i:], rare)
			if j < 0 {
				break
			}
			i += j
			if start, end, ok = f.at(buf, from, i-f.rare+f.offsets[0]); ok {
				return start, end, true
			}
			if seen++; seen > 64 && seen*costRestart > float64(i-from)*f.probing {
				*usual = true
				return f.next(buf, i-f.rare+1, usual)
			}
		}
		return 0, 0, false
	}
	if f.width == 1 {
		for i := from; i < len(buf); i++ {
			if f.single[buf[i]] {
				if start, end, ok = f.at(buf, from, i); ok {
					return start, end, true
				}
			}
		}
		return 0, 0, false
	}
	// A window of width bytes has width-1 pairs of neighbours, so looking at one pair in
	// every width-1 is enough to meet each window once; and as the places to look at do not
	// depend on what was seen, the processor looks at several at a time.
	stride := f.width - 1
	pairs := &f.pairs
	for i := from + stride - 1; i+1 < len(buf); i += stride {
		for hit := pairs[pairHash(buf[i], buf[i+1])]; hit != 0; {
			j := bits.Len16(hit) - 1 // from high to low: the window that begins first
			hit &^= 1 << j
			if start, end, ok = f.at(buf, from, i-j); ok {
				return start, end, true
			}
		}
	}
	return 0, 0, false
}
