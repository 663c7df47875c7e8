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

// Limits of the automaton's memory, per Searcher.
const (
	maxTable = 1 << 18 // entries of trans, 4 bytes each
	maxPlace = 1 << 17 // instructions in all states together, 4 bytes each
)

// Entries of automaton.trans that are no state. All are above any state.
const (
	toUnknown = 0xffffffff - iota // not computed yet
	toDecode                      // the byte is part of a longer rune
	toBefore                      // a match ended before the rune
	toAfter                       // a match ended after the rune
	firstSpecial
)

// An automaton finds where the earliest match ends. Its states are sets of
// places in a program and are made when they are first needed. It belongs to one
// goroutine.
type automaton struct {
	p *program
	// trans[s+class] is the state after s. States are numbered by where their
	// entries begin in trans.
	trans  []uint32
	states []state
	places []uint32 // all states' places
	index  map[string]uint32
	starts map[rune]uint32 // by the kind of the rune before

	// broken says that states do not recur: the pattern is not for this engine.
	broken bool
	// Since trans was emptied, steps transitions were computed for since bytes.
	steps, since int

	now, next placeSet
	stack     []uint32
	key       []byte
}

// state is a set of places: instructions that read a rune, and assertions that depend on the
// next rune.
type state struct {
	from, to int  // in automaton.places
	pending  bool // there are such assertions
	// prior is the kind of the rune before, kept only where there are.
	prior rune
}

// placeSet is a set of instructions.
type placeSet struct {
	list    []uint32
	has     []bool
	matched bool
}

func (q *placeSet) clear() {
	for _, pc := range q.list {
		q.has[pc] = false
	}
	q.list, q.matched = q.list[:0], false
}

func newAutomaton(p *program) *automaton {
	a := &automaton{p: p, index: map[string]uint32{}, starts: map[rune]uint32{}}
	a.now.has, a.next.has = make([]bool, len(p.Inst)), make([]bool, len(p.Inst))
	a.empty()
	return a
}

// empty forgets all states.
func (a *automaton) empty() {
	a.trans, a.states, a.places = a.trans[:0], a.states[:0], a.places[:0]
	clear(a.index)
	clear(a.starts)
	a.steps, a.since = 0, 0
}

// Results of automaton.find that are no place.
const (
	noMatch = -1
	gaveUp  = -2 // regexp has to decide
)

// find returns where the first match to end in buf[from:] ends, or noMatch or
// gaveUp. The end of buf is the end of the text,
// and what buf[from] comes after is the byte before it.
func (a *automaton) find(buf []byte, from int) int {
	if a.broken {
		return gaveUp
	}
	s := a.start(buf, from)
	if s == toAfter {
		return from
	}
	i, began := from, from
	bytes := &a.p.bytes
	trans := a.trans
	for i < len(buf) {
		next := trans[s+uint32(bytes[buf[i]])]
		if next < firstSpecial {
			s = next
			i++
			continue
		}
		class, w := bytes[buf[i]], 1
		if next == toDecode {
			var r rune
			r, w = utf8.DecodeRune(buf[i:])
			class = a.p.classOf(r)
			next = trans[s+uint32(class)]
		}
		if next == toUnknown {
			a.since += i - began
			began = i
			if next = a.step(s, class); a.broken {
				return gaveUp
			}
			trans = a.trans
		}
		switch next {
		case toBefore:
			a.since += i - began
			return i
		case toAfter:
			a.since += i - began
			return i + w
		}
		s = next
		i += w
	}
	a.since += i - began
	next := trans[s+uint32(a.p.endClass)]
	if next == toUnknown {
		next = a.step(s, a.p.endClass)
	}
	if next == toBefore {
		return i
	}
	return noMatch
}

// kind returns one of the runes that mean the same to assertions about what comes before.
func kind(r rune) rune {
	switch {
	case r == noRune, r == '\n':
		return r
	case syntax.IsWordChar(r):
		return 'a'
	}
	return ' '
}

const lookBehind = syntax.EmptyBeginLine | syntax.EmptyBeginText

// behind returns the assertions that hold after a rune, whatever follows.
func behind(prior rune) syntax.EmptyOp { return syntax.EmptyOpContext(prior, ' ') & lookBehind }

// start returns the state before buf[from], or toAfter if there is an empty
// match.
func (a *automaton) start(buf []byte, from int) uint32 {
	prior := noRune
	if from > 0 {
		prior = kind(rune(buf[from-1]))
	}
	s, ok := a.starts[prior]
	if !ok {
		a.next.clear()
		a.follow(&a.next, uint32(a.p.Start), behind(prior))
		s = a.enter(prior)
		a.starts[prior] = s
	}
	return s
}

// follow adds to q the places that are reached from pc without reading a rune,
// given the assertions that hold.
func (a *automaton) follow(q *placeSet, pc uint32, holds syntax.EmptyOp) {
	a.stack = append(a.stack[:0], pc)
	for len(a.stack) > 0 {
		pc = a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if q.has[pc] {
			continue
		}
		q.has[pc] = true
		q.list = append(q.list, pc)
		switch in := &a.p.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^holds == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstMatch:
			q.matched = true
		}
	}
}

// step computes the transition of state s on a class and returns where it goes.
func (a *automaton) step(s uint32, class uint8) uint32 {
	a.steps++
	st := a.states[s>>a.p.shift]
	set := a.places[st.from:st.to]
	r := a.p.runes[class]
	if st.pending {
		a.now.clear()
		for _, pc := range set {
			a.follow(&a.now, pc, syntax.EmptyOpContext(st.prior, r))
		}
		if a.now.matched {
			a.trans[s+uint32(class)] = toBefore
			return toBefore
		}
		set = a.now.list
	}
	if r == noRune { // nothing follows: stay
		a.trans[s+uint32(class)] = s
		return s
	}
	prior := kind(r)
	a.next.clear()
	for _, pc := range set {
		if in := &a.p.Inst[pc]; len(in.Rune) > 0 && in.MatchRune(r) {
			a.follow(&a.next, in.Out, behind(prior))
		}
	}
	a.follow(&a.next, uint32(a.p.Start), behind(prior)) // a match may begin anywhere
	full := len(a.states)
	next := a.enter(prior)
	if len(a.states) >= full { // else s is gone
		a.trans[s+uint32(class)] = next
	}
	return next
}

// enter returns the state for a.next, or toAfter if that contains a match.
func (a *automaton) enter(prior rune) uint32 {
	if a.next.matched {
		return toAfter
	}
	slices.Sort(a.next.list)
	st := state{from: len(a.places), prior: ' '}
	a.key = a.key[:0]
	for _, pc := range a.next.list {
		in := &a.p.Inst[pc]
		open := syntax.EmptyOp(in.Arg) &^ behind(prior)
		waits := in.Op == syntax.InstEmptyWidth && open != 0 && open&lookBehind == 0
		if waits || len(in.Rune) > 0 {
			a.places = append(a.places, pc)
			a.key = append(a.key, byte(pc), byte(pc>>8))
		}
		st.pending = st.pending || waits
	}
	if st.pending {
		st.prior = prior
	}
	a.key = append(a.key, byte(st.prior))
	if s, ok := a.index[string(a.key)]; ok {
		a.places = a.places[:st.from]
		return s
	}
	if (len(a.states)+1)<<a.p.shift > maxTable || len(a.places) > maxPlace {
		// A step costs about what regexp needs for several bytes.
		if a.since < 10*a.steps {
			a.broken = true
		}
		kept := a.places[st.from:]
		a.empty()
		st.from, a.places = 0, append(a.places, kept...)
	}
	st.to = len(a.places)
	s := uint32(len(a.trans))
	a.states = append(a.states, st)
	for class := range 1 << a.p.shift {
		to := uint32(toUnknown)
		if class == classSlow {
			to = toDecode
		}
		a.trans = append(a.trans, to)
	}
	a.index[string(a.key)] = s
	return s
}
