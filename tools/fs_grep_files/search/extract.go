package search

import "regexp/syntax"

// Limits of what is collected from a pattern: more sequences than maxSet are
// slower to look for than the automaton is, longer ones no more selective.
const (
	maxSet    = 16
	maxLength = 32
)

// facts is what is known of the texts that a part of a pattern matches.
type facts struct {
	// exact says that they are just those of prefixes (= suffixes).
	exact bool
	// Each of them begins with one of prefixes and ends with one of suffixes.
	// An empty sequence stands for no knowledge.
	prefixes, suffixes []sequence
	// Each of them contains one of best; nil if nothing is known, or while
	// exact says it all. To look for those costs so much, see searchPlan.
	best []sequence
	cost float64
}

func exactly(set ...sequence) facts {
	return facts{exact: true, prefixes: set, suffixes: set}
}

func unknown() facts {
	empty := []sequence{nil}
	return facts{prefixes: empty, suffixes: empty}
}

// offer takes a set for best if it is of use and cheaper to look for.
func (f *facts) offer(set []sequence) {
	if len(set) == 0 {
		return
	}
	for _, q := range set {
		if len(q) == 0 {
			return
		}
	}
	if cost := plan(set).cost; f.best == nil || cost < f.cost {
		f.best, f.cost = set, cost
	}
}

// inexact fills in what was left out while exact said it all.
func (f facts) inexact() facts {
	if f.exact {
		f.exact = false
		f.offer(f.prefixes)
	}
	return f
}

// cross returns each of a followed by each of b, or false if that is too much.
func cross(a, b []sequence) ([]sequence, bool) {
	if len(a)*len(b) > maxSet {
		return nil, false
	}
	var out []sequence
	for _, p := range a {
		for _, q := range b {
			if len(p)+len(q) > maxLength {
				return nil, false
			}
			out = append(out, append(p[:len(p):len(p)], q...))
		}
	}
	return out, true
}

// union returns the members of both sets, or the set of the empty sequence if
// that is too much.
func union(a, b []sequence) ([]sequence, bool) {
	if len(a)+len(b) > maxSet {
		return []sequence{nil}, false
	}
	return append(a[:len(a):len(a)], b...), true
}

func concat(a, b facts) facts {
	joined, ok := cross(a.suffixes, b.prefixes)
	if a.exact && b.exact && ok {
		return exactly(joined...)
	}
	f := facts{prefixes: a.prefixes, suffixes: b.suffixes}
	for _, part := range []facts{a.inexact(), b.inexact()} {
		if part.best != nil && (f.best == nil || part.cost < f.cost) {
			f.best, f.cost = part.best, part.cost
		}
	}
	if ok {
		f.offer(joined)
		if a.exact {
			f.prefixes = joined
		}
		if b.exact {
			f.suffixes = joined
		}
	}
	return f
}

func alternate(a, b facts) facts {
	prefixes, ok1 := union(a.prefixes, b.prefixes)
	suffixes, ok2 := union(a.suffixes, b.suffixes)
	if a.exact && b.exact && ok1 && ok2 {
		return exactly(prefixes...)
	}
	f := facts{prefixes: prefixes, suffixes: suffixes}
	a, b = a.inexact(), b.inexact()
	if a.best != nil && b.best != nil {
		if best, ok := union(a.best, b.best); ok {
			f.offer(best)
		}
	}
	return f
}

// extractor collects facts; its fields hold what is true of the whole pattern.
type extractor struct {
	// asserts: the pattern looks at what is around it, so that an occurrence of
	// an exact text need not be a match.
	asserts bool
	// special: some texts with longS or kelvin were left out.
	special bool
}

func (x *extractor) sequence(q sequence, special bool) facts {
	x.special = x.special || special
	if q == nil {
		return unknown()
	}
	return exactly(q)
}

// node returns the facts of a simplified pattern.
func (x *extractor) node(re *syntax.Regexp) facts {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return exactly(nil)
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		x.asserts = true
		return exactly(nil)
	case syntax.OpLiteral:
		f := exactly(nil)
		for _, r := range re.Rune {
			f = concat(f, x.sequence(runeSequence(r, re.Flags&syntax.FoldCase != 0)))
		}
		return f
	case syntax.OpCharClass:
		return x.sequence(classSequence(re.Rune))
	case syntax.OpCapture:
		return x.node(re.Sub[0])
	case syntax.OpQuest:
		return alternate(x.node(re.Sub[0]), exactly(nil))
	case syntax.OpPlus:
		return x.node(re.Sub[0]).inexact()
	case syntax.OpConcat:
		f := exactly(nil)
		for _, sub := range re.Sub {
			f = concat(f, x.node(sub))
		}
		return f
	case syntax.OpAlternate:
		f := x.node(re.Sub[0])
		for _, sub := range re.Sub[1:] {
			f = alternate(f, x.node(sub))
		}
		return f
	}
	// OpStar matches the empty text, OpAnyChar runes of any length, OpNoMatch
	// is too rare to care, and Simplify leaves no OpRepeat.
	return unknown()
}
