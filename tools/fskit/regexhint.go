package fskit

import (
	"errors"
	"regexp/syntax"
	"strings"
)

// RegexError says of a regex that RE2 refuses what it has not got and what to write instead, where the caller
// seems to have another engine's syntax in mind. Any other error is returned as it is.
func RegexError(err error) error {
	var se *syntax.Error
	if !errors.As(err, &se) {
		return err
	}
	begins := func(list ...string) bool {
		for _, p := range list {
			if strings.HasPrefix(se.Expr, p) {
				return true
			}
		}
		return false
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
