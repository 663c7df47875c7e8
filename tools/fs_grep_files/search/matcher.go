// Package search is the matching engine of a grep: it finds the lines of a
// byte stream that match a regular expression and hands them to a [Sink]. It
// opens no files, walks no directories and knows no policy.
//
// # What matches
//
// The syntax is Go's (RE2, Perl flags, see regexp/syntax). Without
// [Options.Multiline] every line is a text of its own: a match never includes a
// line end, ^ and \A match at the start of each line, $ and \z at its end, and
// classes such as \s or [^a] never take the newline. Only "\n" ends a line; the
// "\r" of a CRLF file is the last byte of its line, so that `foo$` does not
// match "foo\r\n" and `foo\r?$` does. An empty pattern matches every line, and
// there is no line after the last "\n". This is what ripgrep does by default.
//
// With Multiline the whole text is searched at once: ^ and $ still match at
// line starts and ends, \A and \z only at the ends of the text, "." needs (?s)
// to match "\n", and all lines that a match touches are reported.
//
// # Known differences from ripgrep
//
//   - \w, \d, \s and \b are ASCII here and Unicode there; use \p{L}, \p{Nd}.
//   - A byte that is not valid UTF-8 counts as U+FFFD, so "." and [^a] match it
//     here and do not there.
//   - (?-m) does not change ^ and $ in line mode; they stand at line ends anyway.
//   - A line with a NUL ends the search before that line, not inside it.
//
// # How it is fast
//
// Compile takes from the pattern the texts that every match must contain (as
// sequences of byte sets, so that case folding and small classes count too) and
// looks for those in the whole buffer; only the lines around a hit are checked.
// A pattern without such a text, or with a very common one, runs on an automaton
// that is built as it is needed. The standard regexp package remains the judge
// of what a pattern means: it locates matches within a line, and it takes over
// where the automaton would grow too big.
package search

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// Options say how a pattern is read.
type Options struct {
	// CaseInsensitive makes letters match their other case, as (?i) does.
	CaseInsensitive bool
	// Multiline lets a match extend over line ends. The whole text must then
	// be in memory, see [ErrTooLarge].
	Multiline bool
}

// A Matcher is a compiled pattern. It is safe for use by several goroutines.
type Matcher struct {
	multiline bool

	// re decides on a single line (line mode) or on the whole text.
	re *regexp.Regexp

	// find locates texts that a match cannot be without; nil if there are none
	// worth looking for.
	find *finder
	// whole says that an occurrence of such a text is a match.
	whole bool
	// special says that find misses matches that contain U+017F or U+212A, the
	// two runes outside ASCII that fold to ASCII letters (s and k).
	special bool

	// prog is what the lazy automaton runs; nil if the pattern is too big.
	prog *program
}

// Compile reads a pattern. The error is a [*syntax.Error], or
// [ErrNewline] if the pattern asks for a line end without Options.Multiline.
func Compile(pattern string, opts Options) (*Matcher, error) {
	flags := syntax.Perl &^ syntax.OneLine // ^ and $ match at line ends, as (?m)
	if opts.CaseInsensitive {
		flags |= syntax.FoldCase
	}
	tree, err := syntax.Parse(pattern, flags)
	if err != nil {
		return nil, err
	}
	if !opts.Multiline {
		if namesNewline(pattern) {
			return nil, ErrNewline
		}
		withinLine(tree)
	}
	// A prefix, and no group around the pattern: that may end inside of \Q.
	text := "(?m)" + pattern
	if opts.CaseInsensitive {
		text = "(?mi)" + pattern
	}
	m := &Matcher{multiline: opts.Multiline}
	if m.re, err = regexp.Compile(text); err != nil {
		return nil, err
	}
	tree = tree.Simplify()
	var x extractor
	f := x.node(tree)
	m.find = newFinder(f.anyOf())
	m.whole = m.find != nil && f.exact != nil && !f.more && !x.asserts && !opts.Multiline
	m.special = x.special
	if code, err := syntax.Compile(tree); err == nil {
		m.prog = newProgram(code)
	}
	return m, nil
}

// ErrNewline says that a pattern for single lines contains a newline, which no
// line does.
var ErrNewline = errors.New(`the pattern contains a literal "\n", which no single line can match` +
	"\nset multiline to search across line ends")

// withinLine makes a tree mean on a whole buffer what it means on each line
// taken alone: nothing matches "\n", and the ends of the text are line ends.
func withinLine(re *syntax.Regexp) {
	for _, sub := range re.Sub {
		withinLine(sub)
	}
	switch re.Op {
	case syntax.OpBeginText:
		re.Op = syntax.OpBeginLine
	case syntax.OpEndText:
		re.Op = syntax.OpEndLine
		re.Flags &^= syntax.WasDollar
	case syntax.OpAnyChar:
		re.Op = syntax.OpAnyCharNotNL
	case syntax.OpLiteral:
		if slices.Contains(re.Rune, '\n') { // from a class: namesNewline refuses the others
			re.Op = syntax.OpNoMatch
		}
	case syntax.OpCharClass:
		if re.Rune = withoutNewline(re.Rune); len(re.Rune) == 0 {
			re.Op = syntax.OpNoMatch
		}
	}
}

// withoutNewline returns the rune ranges (pairs of first and last) less '\n'.
func withoutNewline(ranges []rune) []rune {
	var out []rune
	for i := 0; i+1 < len(ranges); i += 2 {
		lo, hi := ranges[i], ranges[i+1]
		for _, part := range [][2]rune{{lo, min(hi, '\n'-1)}, {max(lo, '\n'+1), hi}} {
			if part[0] <= part[1] {
				out = append(out, part[:]...)
			}
		}
	}
	return out
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
