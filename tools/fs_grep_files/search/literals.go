package search

import (
	"regexp/syntax"
	"slices"
	"unicode"
	"unicode/utf8"
)

// Limits of what is collected from a pattern: more sequences than maxSet are
// slower to look for than the automaton is, longer ones no more selective.
const (
	maxSet    = 16
	maxLength = 32
)

// A sequence stands for all texts that have at each place one of the bytes in
// the string for it.
type sequence []string

// facts is what is known of the texts that a part of a pattern matches.
type facts struct {
	// exact are all of these texts; nil if they are not known. With more, a text is
	// one of them, or several in turn.
	exact []sequence
	more  bool
	// Each of these texts contains one of required, if it is not nil, and to
	// look for those costs so much, see searchPlan.
	required []sequence
	cost     float64
}

func exactly(set ...sequence) facts { return facts{exact: set} }

// anyOf returns sequences of which each text contains one, nil if none are known.
func (f facts) anyOf() []sequence {
	f.require(f.exact)
	return f.required
}

// require takes a set of which each text contains one, if it is of use and cheaper to look for.
func (f *facts) require(set []sequence) {
	if len(set) == 0 || slices.ContainsFunc(set, func(q sequence) bool { return len(q) == 0 }) {
		return
	}
	if cost := plan(set).cost; f.required == nil || cost < f.cost {
		f.required, f.cost = set, cost
	}
}

// cross returns each of a followed by each of b, nil if that is too much or one
// of them is not known.
func cross(a, b []sequence) []sequence {
	if len(a)*len(b) > maxSet {
		return nil
	}
	var out []sequence
	for _, p := range a {
		for _, q := range b {
			if len(p)+len(q) > maxLength {
				return nil
			}
			out = append(out, slices.Concat(p, q))
		}
	}
	return out
}

// concat returns the facts of one part after the other. Neighbours of which all
// texts are known make longer texts.
func concat(parts []facts) facts {
	var all facts
	run := exactly(nil)
	whole := true // so far, run is all of it
	for _, part := range parts {
		joined := cross(run.exact, part.exact)
		if joined != nil && !part.more {
			run.exact = joined
			continue
		}
		whole = false
		all.require(run.exact)
		all.require(joined)
		all.require(part.required)
		run = exactly(nil)
		if part.exact != nil {
			run.exact = part.exact
		}
	}
	if whole {
		return run
	}
	all.require(run.exact)
	return all
}

// alternate returns the facts of either of two parts.
func alternate(a, b facts) facts {
	if a.exact != nil && b.exact != nil && !a.more && !b.more && len(a.exact)+len(b.exact) <= maxSet {
		return exactly(slices.Concat(a.exact, b.exact)...)
	}
	var f facts
	if one, other := a.anyOf(), b.anyOf(); one != nil && other != nil && len(one)+len(other) <= maxSet {
		f.require(slices.Concat(one, other))
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

// Two runes outside ASCII have an ASCII letter as their other case.
const (
	longS  = '\u017f' // folds to s
	kelvin = '\u212a' // folds to k
)

// oneOf returns the facts of a text of one of the runes. Nothing is known if they
// have no common length in bytes, or if one also stands for invalid bytes.
func (x *extractor) oneOf(runes []rune) facts {
	if r := runes[0]; len(runes) == 1 && r >= utf8.RuneSelf && r != utf8.RuneError {
		var q sequence
		for _, b := range []byte(string(r)) {
			q = append(q, string([]byte{b}))
		}
		return exactly(q)
	}
	var ascii []byte
	for _, r := range runes {
		switch {
		case r < utf8.RuneSelf:
			ascii = append(ascii, byte(r))
		case r == longS, r == kelvin:
			x.special = true
		default:
			return facts{}
		}
	}
	if len(ascii) == 0 {
		return facts{}
	}
	return exactly(sequence{string(ascii)})
}

// orbit lists a rune and all other cases of it.
func orbit(r rune) []rune {
	list := []rune{r}
	for c := unicode.SimpleFold(r); c != r; c = unicode.SimpleFold(c) {
		list = append(list, c)
	}
	return list
}

// node returns the facts of a simplified pattern.
func (x *extractor) node(re *syntax.Regexp) facts {
	var parts []facts
	for _, sub := range re.Sub {
		parts = append(parts, x.node(sub))
	}
	switch re.Op {
	case syntax.OpEmptyMatch:
		return exactly(nil)
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText,
		syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		x.asserts = true
		return exactly(nil)
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			runes := []rune{r}
			if re.Flags&syntax.FoldCase != 0 {
				runes = orbit(r)
			}
			parts = append(parts, x.oneOf(runes))
		}
		return concat(parts)
	case syntax.OpCharClass:
		var runes []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if runes = append(runes, r); len(runes) > utf8.RuneSelf+2 {
					return facts{} // more than ASCII, longS and kelvin
				}
			}
		}
		if len(runes) > 0 {
			return x.oneOf(runes)
		}
	case syntax.OpCapture:
		return parts[0]
	case syntax.OpQuest:
		return alternate(parts[0], exactly(nil))
	case syntax.OpPlus:
		parts[0].more = true
		return parts[0]
	case syntax.OpConcat:
		return concat(parts)
	case syntax.OpAlternate:
		for _, other := range parts[1:] {
			parts[0] = alternate(parts[0], other)
		}
		return parts[0]
	}
	// OpStar matches the empty text, OpAnyChar runes of any length, OpNoMatch
	// is too rare to care, and Simplify leaves no OpRepeat.
	return facts{}
}
