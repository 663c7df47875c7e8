package search

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// ErrNewline says that a pattern for single lines contains a newline, which no
// line does.
var ErrNewline = errors.New(`the pattern contains a literal "\n", which no single line can match` +
	"\nset multiline to search across line ends")

// rewrite returns the tree with f applied to every node, children first. The
// given tree stays as it is.
func rewrite(re *syntax.Regexp, f func(*syntax.Regexp) *syntax.Regexp) *syntax.Regexp {
	c := *re
	c.Sub = nil
	for _, sub := range re.Sub {
		c.Sub = append(c.Sub, rewrite(sub, f))
	}
	return f(&c)
}

// dropCaptures makes a group a plain subexpression: nobody asks for submatches
// and the engines are faster without.
func dropCaptures(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re.Sub[0]
	}
	return re
}

// withinLine makes a node mean on a whole buffer what it means on each line
// taken alone: nothing matches "\n", and the ends of the text are line ends.
func withinLine(re *syntax.Regexp) *syntax.Regexp {
	switch re.Op {
	case syntax.OpCapture:
		return re.Sub[0]
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
		re.Flags &^= syntax.WasDollar
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') { // from a class: namesNewline refuses the others
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	case syntax.OpCharClass:
		re.Rune = withoutNewline(re.Rune)
		if len(re.Rune) == 0 {
			return &syntax.Regexp{Op: syntax.OpNoMatch}
		}
	}
	return re
}

// withoutNewline returns the rune ranges (pairs of first and last) less '\n'.
func withoutNewline(ranges []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		if lo > '\n' || hi < '\n' {
			out = append(out, lo, hi)
			continue
		}
		if lo < '\n' {
			out = append(out, lo, '\n'-1)
		}
		if hi > '\n' {
			out = append(out, '\n'+1, hi)
		}
	}
	return out
}

// afterStart makes a node mean what it means anywhere but at the start of the
// text.
func afterStart(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpBeginText {
		return &syntax.Regexp{Op: syntax.OpNoMatch}
	}
	return re
}

// has reports whether an operation occurs in the tree.
func has(re *syntax.Regexp, op syntax.Op) bool {
	return re.Op == op || slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return has(sub, op) })
}

// piece is one piece of a valid pattern: a quoted text, a newline outside a character class, or
// whatever else stands for itself: an escape, a class, a character.
var piece = regexp.MustCompile(`(?s)\\Q(.*?)(?:\\E|\z)` +
	`|\\12[0-7]|(\n|\\(?:\n|n|x0[aA]|x\{0*[aA]\}|0?12))` +
	`|\\.|\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]|.`)

// namesNewline reports whether a valid pattern spells a newline outside a
// character class. The parsed tree cannot tell: it turns `a|\n` into a class.
func namesNewline(pattern string) bool {
	return slices.ContainsFunc(piece.FindAllStringSubmatch(pattern, -1), func(m []string) bool {
		return strings.Contains(m[1], "\n") || m[2] != ""
	})
}
