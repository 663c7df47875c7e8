package search

import (
	"errors"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
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
		for _, r := range re.Rune {
			if r == '\n' { // from a class: namesNewline refuses the others
				return &syntax.Regexp{Op: syntax.OpNoMatch}
			}
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

// namesNewline reports whether a valid pattern spells a newline outside a
// character class. The parsed tree cannot tell: it turns `a|\n` into a class.
func namesNewline(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\n':
			return true
		case '[':
			i = classEnd(pattern, i)
		case '\\':
			rest := pattern[i+1:]
			if strings.HasPrefix(rest, "Q") {
				quoted, _, _ := strings.Cut(rest[1:], `\E`)
				if strings.Contains(quoted, "\n") {
					return true
				}
				i += 1 + len(quoted) // the \E that may follow reads as an escape
				continue
			}
			if escapesNewline(rest) {
				return true
			}
			_, w := utf8.DecodeRuneInString(rest)
			i += w
		}
	}
	return false
}

// escapesNewline reports whether the text after a backslash makes a newline.
func escapesNewline(rest string) bool {
	if hex, ok := strings.CutPrefix(rest, "x{"); ok {
		digits, _, _ := strings.Cut(hex, "}")
		return strings.EqualFold(strings.TrimLeft(digits, "0"), "a")
	}
	octal, n := 0, 0
	for n < len(rest) && n < 3 && '0' <= rest[n] && rest[n] <= '7' {
		octal = octal*8 + int(rest[n]-'0')
		n++
	}
	return octal == '\n' || strings.HasPrefix(rest, "n") || strings.HasPrefix(rest, "\n") ||
		strings.HasPrefix(rest, "x0a") || strings.HasPrefix(rest, "x0A")
}

// classEnd returns the index of the bracket that closes the class opened at i.
func classEnd(pattern string, i int) int {
	i++
	if i < len(pattern) && pattern[i] == '^' {
		i++
	}
	for first := true; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case c == ']' && !first:
			return i
		case c == '\\':
			i++
		case c == '[' && strings.HasPrefix(pattern[i:], "[:"):
			if n := strings.Index(pattern[i:], ":]"); n > 0 {
				i += n + 1
			}
		}
		first = false
	}
	return i
}
