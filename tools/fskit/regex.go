package fskit

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strings"
)

// The bounds of a regex that a caller gives. A few bytes, `(a{1000}b?){1000}`, ask for as
// many copies; package regexp takes 140 bytes for each instruction and has a bound only far
// above.
const (
	maxRegexBytes = 64 << 10
	maxRegexSize  = 200_000 // instructions
)

// RegexSize estimates the number of instructions that package regexp makes of a regex in the
// syntax of flags, without making them. It returns an error for one that is larger than may
// be compiled, and none for one that cannot be parsed: compiling it tells why.
func RegexSize(source string, flags syntax.Flags) (int, error) {
	if len(source) > maxRegexBytes {
		return 0, fmt.Errorf("the regex is longer than %d KiB", maxRegexBytes>>10)
	}
	tree, err := syntax.Parse(source, flags)
	if err != nil {
		return 0, nil
	}
	size := instructions(tree)
	if size > maxRegexSize {
		return size, errors.New("the regex is too large, or repeats too much too often ({n,m})")
	}
	return size, nil
}

// instructions needs no bound of its own: the parser has one for depth, and one for size
// that fits in an int.
func instructions(re *syntax.Regexp) int {
	n := 0
	for _, sub := range re.Sub {
		n += instructions(sub)
	}
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune)
	case syntax.OpConcat:
		return n
	case syntax.OpAlternate:
		return n + len(re.Sub)
	case syntax.OpCapture:
		return n + 2
	case syntax.OpRepeat:
		return (n + 1) * max(re.Min, re.Max, 1)
	}
	return n + 1
}

// RegexError says of a regex that RE2 refuses what it has not got and what to write instead, where the caller
// seems to have another engine's syntax in mind. Any other error is returned as it is.
func RegexError(err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return err
	}
	begins := func(list ...string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return strings.HasPrefix(se.Expr, p) })
	}
	const instead = "; leave the condition out and match the text around too: whole lines are shown, and a second search can narrow them"
	switch {
	case begins("(?<=", "(?<!"):
		return errors.New("RE2 has no lookbehind, `" + se.Expr[:4] + "`" + instead)
	case begins("(?=", "(?!"):
		return errors.New("RE2 has no lookahead, `" + se.Expr[:3] + "`" + instead)
	case begins(`\k`, "(?P=") || len(se.Expr) == 2 && se.Expr[0] == '\\' && se.Expr[1] >= '1' && se.Expr[1] <= '9':
		return errors.New("RE2 has no back-references, `" + se.Expr + "`; match anything in that place, such as `.*`")
	case begins("(?>") || se.Code == syntax.ErrInvalidRepeatOp && strings.HasSuffix(se.Expr, "+"):
		return errors.New("RE2 has no atomic groups and no possessive repetition, `" + se.Expr + "`; write `(?:…)`, and `*` or `+` alone: it never takes long")
	}
	return err
}
