package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	similarLines = 40  // of the pattern that take part
	similarLeast = 0.5 // of the score that a passage needs
)

// similar finds the passages with most three-byte sequences in common with old, line
// by line; white space counts little. It is linear in the text.
func (l *lines) similar(old []byte) []Place {
	pattern := newLines(bytes.Trim(old, "\n"))
	n := min(pattern.count(), similarLines)
	if n <= 0 || l.count() == 0 {
		return nil
	}
	s := newScorer(pattern, n)
	if s.total == 0 {
		return nil
	}
	// scores[i] is of the passage whose first line is i-(n-1).
	scores := make([]float32, l.count()+n-1)
	for i := range l.count() {
		for j, sim := range s.line(l.line(i)) {
			if sim > 0.3 {
				scores[i-j+n-1] += sim * s.weight[j]
			}
		}
	}
	var list []Place
	least := float32(similarLeast) * s.total
	for len(list) < placesMost {
		best := 0
		for i := range scores {
			if scores[i] > scores[best] {
				best = i
			}
		}
		if scores[best] < least {
			break
		}
		least = max(least, 0.9*scores[best])
		from := best - (n - 1)
		for i := max(0, best-n+1); i < min(len(scores), best+n); i++ {
			scores[i] = 0
		}
		to := min(from+pattern.count()-1, l.count()-1)
		from = max(0, from)
		if to >= from {
			from, to = l.stretch(s, from, to)
			list = append(list, l.place(from, to, "", old))
		}
	}
	return list
}

// stretch moves both ends of a passage to the lines that are most like the first and the
// last of the pattern, when they stand near: the content may have more lines or fewer.
func (l *lines) stretch(s *scorer, from, to int) (int, int) {
	last := len(s.weight) - 1
	if last < 1 {
		return from, to
	}
	near := func(i, j int) int {
		best, at := float32(0.8), i
		for _, d := range []int{0, 1, -1, 2, -2, 3, -3} {
			if k := i + d; k >= 0 && k < l.count() {
				if sim := s.line(l.line(k))[j]; sim > best {
					best, at = sim, k
				}
			}
		}
		return at
	}
	first := near(from, 0)
	if last < similarLines-1 {
		to = near(to, last)
	}
	return min(first, to), to
}

// scorer compares lines with the lines of a pattern.
type scorer struct {
	weight []float32 // of each line of the pattern: how many sequences it has
	total  float32
	in     map[[3]byte][]int // the pattern's lines that have a sequence
	seen   map[[3]byte]bool  // those of them that the line at hand has
	sims   []float32
}

func newScorer(pattern *lines, n int) *scorer {
	s := &scorer{
		weight: make([]float32, n), sims: make([]float32, n),
		in: map[[3]byte][]int{}, seen: map[[3]byte]bool{},
	}
	for j := range n {
		for _, key := range sequences(pattern.line(j)) {
			if !slices.Contains(s.in[key], j) {
				s.in[key] = append(s.in[key], j)
				s.weight[j]++
				s.total++
			}
		}
	}
	return s
}

// sequences lists the three-byte sequences of a line, without regard to indentation and
// to the amount of white space.
func sequences(line []byte) [][3]byte {
	text := []byte{' '}
	for _, f := range bytes.Fields(line) {
		text = append(append(text, f...), ' ')
	}
	var list [][3]byte
	for i := 0; i+3 <= len(text); i++ {
		list = append(list, [3]byte(text[i:]))
	}
	return list
}

// line returns how like the line is to each line of the pattern, 0 to 1. The first and
// the last line of a pattern may be parts of lines. The result is valid until the next call.
func (s *scorer) line(line []byte) []float32 {
	clear(s.seen)
	clear(s.sims)
	keys := sequences(line)
	for _, key := range keys {
		if in := s.in[key]; in != nil && !s.seen[key] {
			s.seen[key] = true
			for _, j := range in {
				s.sims[j]++
			}
		}
	}
	for j, common := range s.sims {
		if common == 0 {
			continue
		}
		s.sims[j] = 2 * common / max(float32(len(keys))+s.weight[j], 2*common)
		if j == 0 || j == len(s.sims)-1 {
			s.sims[j] = max(s.sims[j], 0.9*common/s.weight[j])
		}
	}
	return s.sims
}

// lineList is "line 3" or "lines 3, 8 and 12".
func lineList(lines []int) string {
	if len(lines) == 1 {
		return fmt.Sprintf("line %d", lines[0])
	}
	var list []string
	for _, n := range lines {
		list = append(list, strconv.Itoa(n))
	}
	last := len(list) - 1
	return "lines " + strings.Join(list[:last], ", ") + " and " + list[last]
}
