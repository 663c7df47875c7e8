package search

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// Limits beyond which a pattern is left to the standard library. They bound the
// work of Compile to a few milliseconds.
const (
	maxInsts  = 2000
	maxChecks = 200_000
)

// classSlow is the class of the bytes that are not a rune by themselves.
const classSlow = 0

// noRune stands for the start or the end of the text, where a rune could be.
const noRune rune = -1

// program is a compiled pattern prepared for the lazy automaton: runes are
// grouped into classes that no instruction tells apart. It is immutable.
//
// The automaton steps by runes, decoded as regexp does it, and not by the bytes
// of an UTF-8 automaton, so that invalid bytes mean the same to both.
type program struct {
	*syntax.Prog

	bytes    [256]uint8 // class of each rune below 0x80; of the other bytes classSlow, or their common class
	bounds   []rune     // first rune of each interval, ascending from 0
	classes  []uint8    // class of the interval
	runes    []rune     // one rune of each class, noRune for endClass
	endClass uint8
	shift    uint // 1<<shift classes, including classSlow and endClass
}

// newProgram prepares a compiled pattern, or returns nil if it is too big.
func newProgram(code *syntax.Prog) *program {
	p := &program{Prog: code}
	if len(p.Inst) > maxInsts {
		return nil
	}
	var readers []*syntax.Inst // the instructions that read a rune
	var looks syntax.EmptyOp   // all assertions that occur
	p.bounds = []rune{0, '\n', '\n' + 1, utf8.RuneSelf}
	quick := true // no instruction matches a rune above 0x7f, so that these can be taken byte by byte
	for i := range p.Inst {
		in := &p.Inst[i]
		if in.Op == syntax.InstEmptyWidth {
			looks |= syntax.EmptyOp(in.Arg)
		}
		set := in.Rune // pairs of first and last
		if len(set) == 0 {
			continue
		}
		readers = append(readers, in)
		if len(set) == 1 {
			set = nil
			cases := []rune{in.Rune[0]}
			if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
				cases = orbit(in.Rune[0])
			}
			for _, r := range cases {
				set = append(set, r, r)
			}
		}
		for j := 0; j < len(set); j += 2 {
			p.bounds = append(p.bounds, set[j], set[j+1]+1)
			quick = quick && set[j+1] < utf8.RuneSelf
		}
	}
	words := looks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0
	if words {
		p.bounds = append(p.bounds, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
	}
	slices.Sort(p.bounds)
	p.bounds = slices.Compact(p.bounds)
	if len(p.bounds)*len(readers) > maxChecks || !p.classify(readers, words) {
		return nil
	}
	quick = quick && looks&syntax.EmptyNoWordBoundary == 0 // \B would match inside of runes
	for b := range p.bytes {
		switch {
		case b < utf8.RuneSelf:
			p.bytes[b] = p.classOf(rune(b))
		case quick:
			p.bytes[b] = p.classOf(utf8.RuneError)
		}
	}
	return p
}

// classify gives each interval of runes a class; intervals that all readers agree
// on share one, unless words says that it matters what is part of a word. It returns
// false if there are too many.
func (p *program) classify(readers []*syntax.Inst, words bool) bool {
	known := map[string]uint8{}
	p.runes = []rune{0} // classSlow
	for _, first := range p.bounds {
		var key []byte
		for _, in := range readers {
			key = append(key, '0')
			if in.MatchRune(first) {
				key[len(key)-1] = '1'
			}
		}
		switch {
		case first == '\n':
			key = append(key, 'n')
		case words && syntax.IsWordChar(first):
			key = append(key, 'w')
		}
		class, ok := known[string(key)]
		if !ok {
			if len(p.runes) > 250 {
				return false
			}
			class = uint8(len(p.runes))
			known[string(key)] = class
			p.runes = append(p.runes, first)
		}
		p.classes = append(p.classes, class)
	}
	p.endClass = uint8(len(p.runes))
	p.runes = append(p.runes, noRune)
	for 1<<p.shift < len(p.runes) {
		p.shift++
	}
	return true
}

// classOf returns the class of a rune.
func (p *program) classOf(r rune) uint8 {
	i, ok := slices.BinarySearch(p.bounds, r)
	if !ok {
		i--
	}
	return p.classes[i]
}
