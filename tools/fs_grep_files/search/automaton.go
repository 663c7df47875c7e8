package search

import "unicode/utf8"

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

// Flags of a state: what its first rune comes after. They are kept only where an
// assertion still has to look at the next rune as well.
const (
	afterNewline = 1 << iota
	afterWord
	afterNothing // start of the text
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
	starts [8]uint32 // by flags; 0 is not computed

	// broken says that states do not recur: the pattern is not for this engine.
	broken bool
	// Since trans was emptied, steps transitions were computed for since bytes.
	steps, since int

	now, next placeSet
	stack     []uint32
	key       []byte
}

// state is a set of places: rune instructions, and assertions that depend on the
// next rune.
type state struct {
	from, to int // in automaton.places
	flags    uint8
	pending  bool // there are such assertions
}

func newAutomaton(p *program) *automaton {
	n := len(p.insts)
	a := &automaton{p: p, index: map[string]uint32{}}
	for _, q := range []*placeSet{&a.now, &a.next} {
		q.dense, q.sparse = make([]uint32, 0, n), make([]uint32, n)
	}
	a.empty()
	return a
}

// empty forgets all states.
func (a *automaton) empty() {
	a.trans, a.states, a.places = a.trans[:0], a.states[:0], a.places[:0]
	clear(a.index)
	clear(a.starts[:])
	a.steps, a.since = 0, 0
	a.addState(state{}) // state 0 is never entered, so that 0 can mean none
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
	next := trans[s+uint32(a.p.end)]
	if next == toUnknown {
		next = a.step(s, a.p.end)
	}
	if next == toBefore {
		return i
	}
	return noMatch
}

// start returns the state before buf[from], or toAfter if there is an empty
// match.
func (a *automaton) start(buf []byte, from int) uint32 {
	var flags uint8
	if from == 0 {
		flags = afterNothing | afterNewline
	} else if b := buf[from-1]; b == '\n' {
		flags = afterNewline
	} else if a.p.word[a.p.bytes[b]] {
		flags = afterWord
	}
	if s := a.starts[flags]; s != 0 {
		return s
	}
	a.next.clear()
	a.follow(&a.next, a.p.start, before(flags))
	s := a.enter(flags)
	a.starts[flags] = s
	return s
}
