package search

import (
	"regexp/syntax"
	"slices"
)

// placeSet is a set of instructions that is quick to empty.
type placeSet struct {
	dense   []uint32
	sparse  []uint32
	matched bool
}

func (q *placeSet) clear() { q.dense, q.matched = q.dense[:0], false }

// insert adds pc and reports whether it was not there.
func (q *placeSet) insert(pc uint32) bool {
	if i := q.sparse[pc]; int(i) < len(q.dense) && q.dense[i] == pc {
		return false
	}
	q.sparse[pc] = uint32(len(q.dense))
	q.dense = append(q.dense, pc)
	return true
}

// before returns the assertions about what comes before that hold for a state.
func before(flags uint8) syntax.EmptyOp {
	var op syntax.EmptyOp
	if flags&afterNewline != 0 {
		op |= syntax.EmptyBeginLine
	}
	if flags&afterNothing != 0 {
		op |= syntax.EmptyBeginText
	}
	return op
}

const lookBehind = syntax.EmptyBeginLine | syntax.EmptyBeginText

// follow adds to q the places that are reached from pc without reading a rune,
// given the assertions that hold.
func (a *automaton) follow(q *placeSet, pc uint32, holds syntax.EmptyOp) {
	a.stack = append(a.stack[:0], pc)
	for len(a.stack) > 0 {
		pc = a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if !q.insert(pc) {
			continue
		}
		switch in := &a.p.insts[pc]; in.Op {
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

// keeps reports whether a place is part of a state, or only led to one.
func (a *automaton) keeps(pc uint32, holds syntax.EmptyOp) (kept, pending bool) {
	if in := &a.p.insts[pc]; in.Op == syntax.InstEmptyWidth {
		open := syntax.EmptyOp(in.Arg) &^ holds
		wait := open != 0 && open&lookBehind == 0
		return wait, wait
	}
	return a.p.setOf[pc] >= 0, false
}

// step computes the transition of state s on a class and returns where it goes.
func (a *automaton) step(s uint32, class uint8) uint32 {
	a.steps++
	st := a.states[s>>a.p.shift]
	set := a.places[st.from:st.to]
	if st.pending {
		holds := before(st.flags)
		if class == a.p.newline {
			holds |= syntax.EmptyEndLine
		}
		if class == a.p.end {
			holds |= syntax.EmptyEndLine | syntax.EmptyEndText
		}
		if (st.flags&afterWord != 0) != a.p.word[class] {
			holds |= syntax.EmptyWordBoundary
		} else {
			holds |= syntax.EmptyNoWordBoundary
		}
		a.now.clear()
		for _, pc := range set {
			a.follow(&a.now, pc, holds)
		}
		if a.now.matched {
			a.trans[s+uint32(class)] = toBefore
			return toBefore
		}
		set = a.now.dense
	}
	var flags uint8
	switch {
	case class == a.p.end: // nothing follows: stay
		a.trans[s+uint32(class)] = s
		return s
	case class == a.p.newline:
		flags = afterNewline
	case a.p.word[class]:
		flags = afterWord
	}
	a.next.clear()
	for _, pc := range set {
		if k := a.p.setOf[pc]; k >= 0 && a.p.sets[k].has(class) {
			a.follow(&a.next, a.p.insts[pc].Out, before(flags))
		}
	}
	a.follow(&a.next, a.p.start, before(flags)) // a match may begin anywhere
	full := len(a.states)
	next := a.enter(flags)
	if len(a.states) >= full { // else s is gone
		a.trans[s+uint32(class)] = next
	}
	return next
}

// enter returns the state for a.next, or toAfter if that contains a match.
func (a *automaton) enter(flags uint8) uint32 {
	if a.next.matched {
		return toAfter
	}
	slices.Sort(a.next.dense)
	a.key = a.key[:0]
	pending := false
	n := 0
	for _, pc := range a.next.dense {
		kept, waits := a.keeps(pc, before(flags))
		if kept {
			a.next.dense[n] = pc
			n++
			a.key = append(a.key, byte(pc), byte(pc>>8))
		}
		pending = pending || waits
	}
	if !pending {
		flags = 0
	}
	a.key = append(a.key, flags)
	if s, ok := a.index[string(a.key)]; ok {
		return s
	}
	if (len(a.states)+1)<<a.p.shift > maxTable || len(a.places)+n > maxPlace {
		// A step costs about what regexp needs for several bytes.
		if a.since < 10*a.steps {
			a.broken = true
		}
		a.empty()
	}
	st := state{from: len(a.places), to: len(a.places) + n, flags: flags, pending: pending}
	a.places = append(a.places, a.next.dense[:n]...)
	s := a.addState(st)
	a.index[string(a.key)] = s
	return s
}

// addState makes room for a state's transitions and returns its number.
func (a *automaton) addState(st state) uint32 {
	s := uint32(len(a.trans))
	a.states = append(a.states, st)
	for class := range 1 << a.p.shift {
		to := uint32(toUnknown)
		if class == classSlow {
			to = toDecode
		}
		a.trans = append(a.trans, to)
	}
	return s
}
