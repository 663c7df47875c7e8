package search

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Limits beyond which a pattern is left to the standard library. They bound the
// work of Compile to about a millisecond.
const (
	maxInsts     = 2000
	maxRuneSets  = 200
	maxSetChecks = 200_000
)

// classSlow is the class of the bytes that are not a rune by themselves.
const classSlow = 0

// program is a compiled pattern prepared for the lazy automaton: runes are
// grouped into classes that no instruction tells apart. It is immutable.
//
// The automaton steps by runes, decoded as regexp does it, and not by the bytes
// of an UTF-8 automaton, so that invalid bytes mean the same to both.
type program struct {
	insts []syntax.Inst
	start uint32

	bytes   [256]uint8 // class of each rune below 0x80; of the other bytes classSlow, or their common class
	bounds  []rune     // first rune of each interval, ascending from 0
	classes []uint8    // class of the interval
	shift   uint       // 1<<shift classes, including the next three
	newline uint8
	end     uint8 // the end of the text, which is no rune
	word    [256]bool

	setOf []int          // instruction -> index into sets
	sets  []byteSet      // classes that a rune instruction matches
	quick bool           // no instruction matches a rune above 0x7f, so that it can be taken byte by byte
	looks syntax.EmptyOp // all assertions that occur
}

// newProgram prepares a compiled pattern, or returns nil if it is too big.
func newProgram(code *syntax.Prog) *program {
	p := &program{insts: code.Inst, start: uint32(code.Start)}
	if len(p.insts) > maxInsts {
		return nil
	}
	var sets [][]rune        // distinct sets of runes, as sorted pairs
	var first []*syntax.Inst // the first instruction of each set
	p.setOf = make([]int, len(p.insts))
	bounds := []rune{0, '\n', '\n' + 1, utf8.RuneSelf, unicode.MaxRune + 1}
	for i := range p.insts {
		in := &p.insts[i]
		if in.Op == syntax.InstEmptyWidth {
			p.looks |= syntax.EmptyOp(in.Arg)
		}
		set := instRunes(in)
		if len(set) == 0 {
			p.setOf[i] = -1
			continue
		}
		k := slices.IndexFunc(sets, func(s []rune) bool { return slices.Equal(s, set) })
		if k < 0 {
			k = len(sets)
			sets, first = append(sets, set), append(first, in)
			for j := 0; j < len(set); j += 2 {
				bounds = append(bounds, set[j], set[j+1]+1)
			}
		}
		p.setOf[i] = k
	}
	if p.looks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0 {
		bounds = append(bounds, '0', '9'+1, 'A', 'Z'+1, '_', '_'+1, 'a', 'z'+1)
	}
	slices.Sort(bounds)
	bounds = slices.Compact(bounds)
	if len(sets) > maxRuneSets || len(bounds)*len(sets) > maxSetChecks {
		return nil
	}
	if !p.classify(first, bounds[:len(bounds)-1]) {
		return nil
	}
	return p
}

// instRunes returns the runes that an instruction matches as sorted pairs, nil
// if it matches none.
func instRunes(in *syntax.Inst) []rune {
	if len(in.Rune) != 1 {
		return in.Rune
	}
	r := in.Rune[0]
	orbit := []rune{r}
	if syntax.Flags(in.Arg)&syntax.FoldCase != 0 {
		for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
			orbit = append(orbit, c)
		}
		slices.Sort(orbit)
	}
	var out []rune
	for _, c := range orbit {
		out = append(out, c, c)
	}
	return out
}

// classify gives each interval of runes a class; intervals that all sets agree
// on share one. It returns false if there are too many. Each set is that of the runes that
// its instruction matches.
func (p *program) classify(sets []*syntax.Inst, bounds []rune) bool {
	p.bounds = bounds
	p.sets = make([]byteSet, len(sets))
	known := map[string]uint8{}
	next := 1 // after classSlow
	key := make([]byte, len(sets)+1)
	p.quick = p.looks&syntax.EmptyNoWordBoundary == 0 // \B would match inside of runes
	for _, lo := range bounds {
		for k, set := range sets {
			key[k] = '0'
			if set.MatchRune(lo) {
				key[k] = '1'
				p.quick = p.quick && lo < utf8.RuneSelf
			}
		}
		key[len(sets)] = '0'
		switch isWord := lo < utf8.RuneSelf && syntax.IsWordChar(lo); {
		case lo == '\n':
			key[len(sets)] = 'n'
		case isWord && p.looks&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
			key[len(sets)] = 'w'
		}
		class, ok := known[string(key)]
		if !ok {
			if next > 250 {
				return false
			}
			class = uint8(next)
			next++
			known[string(key)] = class
			for k := range sets {
				if key[k] == '1' {
					p.sets[k].add(class)
				}
			}
			p.word[class] = key[len(sets)] == 'w'
		}
		p.classes = append(p.classes, class)
	}
	p.newline = p.classOf('\n')
	p.end = uint8(next)
	for 1<<p.shift <= next {
		p.shift++
	}
	for b := range p.bytes {
		switch {
		case b < utf8.RuneSelf:
			p.bytes[b] = p.classOf(rune(b))
		case p.quick:
			p.bytes[b] = p.classOf(utf8.RuneError)
		default:
			p.bytes[b] = classSlow
		}
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
