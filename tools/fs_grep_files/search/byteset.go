package search

import (
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// byteSet is a set of byte values, one bit each.
type byteSet [4]uint64

func (s *byteSet) add(b byte)      { s[b>>6] |= 1 << (b & 63) }
func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

func (s *byteSet) len() int {
	return bits.OnesCount64(s[0]) + bits.OnesCount64(s[1]) + bits.OnesCount64(s[2]) + bits.OnesCount64(s[3])
}

// first returns the lowest byte of a set that is not empty.
func (s *byteSet) first() byte {
	for i, w := range s {
		if w != 0 {
			return byte(i*64 + bits.TrailingZeros64(w))
		}
	}
	return 0
}

// each calls f with every byte of the set.
func (s *byteSet) each(f func(b byte)) {
	for i, w := range s {
		for ; w != 0; w &= w - 1 {
			f(byte(i*64 + bits.TrailingZeros64(w)))
		}
	}
}

// share is the part of ordinary text that the bytes of the set make up.
func (s *byteSet) share() float64 {
	sum := 0
	s.each(func(b byte) { sum += int(byteFreq[b]) })
	return min(float64(sum)/65536, 1)
}

// A sequence stands for all texts with one byte of each set in turn.
type sequence []byteSet

// text returns the one text that the sequence stands for, if it is only one.
func (q sequence) text() (string, bool) {
	out := make([]byte, len(q))
	for i := range q {
		if q[i].len() != 1 {
			return "", false
		}
		out[i] = q[i].first()
	}
	return string(out), true
}

// Two runes outside ASCII have an ASCII letter as their other case.
const (
	longS  = '\u017f' // folds to s
	kelvin = '\u212a' // folds to k
)

// The same in UTF-8.
var (
	longSBytes  = [...]byte{0xc5, 0xbf}
	kelvinBytes = [...]byte{0xe2, 0x84, 0xaa}
)

// runeSequence returns the bytes of one rune, or of any case of it. Special
// says that longS or kelvin were left out. It returns nil if the runes have no
// common length in bytes, or if the rune also stands for invalid bytes.
func runeSequence(r rune, fold bool) (q sequence, special bool) {
	var ascii byteSet
	orbit, ascii1 := 1, 0
	for c := r; ; orbit++ {
		switch {
		case c < utf8.RuneSelf:
			ascii.add(byte(c))
			ascii1++
		case c == longS || c == kelvin:
			special = true
		}
		if !fold {
			break
		}
		if c = unicode.SimpleFold(c); c == r {
			break
		}
	}
	if ascii1 > 0 {
		return sequence{ascii}, special
	}
	if orbit > 1 || r == utf8.RuneError {
		return nil, false
	}
	for _, b := range []byte(string(r)) {
		var one byteSet
		one.add(b)
		q = append(q, one)
	}
	return q, false
}

// classSequence does the same for a class of runes.
func classSequence(ranges []rune) (q sequence, special bool) {
	var ascii byteSet
	for i := 0; i+1 < len(ranges); i += 2 {
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			switch {
			case r < utf8.RuneSelf:
				ascii.add(byte(r))
			case r == longS || r == kelvin:
				special = true
			default:
				return nil, false
			}
		}
	}
	if ascii.len() == 0 {
		return nil, false
	}
	return sequence{ascii}, special
}
