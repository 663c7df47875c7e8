package search

import "math"

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

const maxWidth = 17 // bytes of a window: probeTable has a bit for each pair in it

// searchPlan says how to look for one of several sequences: by the window of
// width bytes at offsets[i] of sequence i.
type searchPlan struct {
	cost    float64 // ns per byte of text
	width   int
	offsets []int
	// rare, if not negative, is the place in a single sequence of a byte so
	// seldom that stopping at each one beats probing windows, which costs probing.
	rare    int
	probing float64
}

// plan returns the cheapest plan for a set of sequences, none of them empty.
func plan(set []sequence) searchPlan {
	shares := make([][]float64, len(set))
	shortest, candidates := maxWidth, 0.0
	for i, q := range set {
		all := 1.0
		for j := range q {
			s := q[j].share()
			shares[i] = append(shares[i], s)
			all *= s
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
		for j := range set[0] {
			if set[0][j].len() != 1 {
				continue
			}
			if cost := costIndexByte + costRestart*shares[0][j]; cost < best.cost {
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
	sum := 0.0
	for end := range shares { // of the window, inclusive
		if width == 1 {
			sum = shares[end]
		} else if end > 0 {
			sum += pairShare(shares[end-1], shares[end])
		}
		at0 := end - width + 1
		if at0 < 0 {
			continue
		}
		if width > 1 && at0 > 0 {
			sum -= pairShare(shares[at0-1], shares[at0])
		}
		if sum < share {
			at, share = at0, sum
		}
	}
	return at, max(share, 0)
}

// pairShare estimates how often one byte follows another. Letters that can be
// neighbours are so about twice as often as chance has it.
func pairShare(a, b float64) float64 { return min(2*a*b, a, b) }
