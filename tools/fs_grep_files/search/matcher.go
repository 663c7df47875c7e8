package search

import (
	"regexp"
	"regexp/syntax"
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
	// rest finds the matches of multiline mode after the first: it matches one
	// rune, then as little as it can, then the pattern as group 1. The rune in
	// front gives ^ and \b what they look back at.
	rest *regexp.Regexp

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
	if !opts.Multiline && namesNewline(pattern) {
		return nil, ErrNewline
	}
	groups := tree.MaxCap() > 0
	if opts.Multiline {
		tree = rewrite(tree, dropCaptures)
	} else {
		tree = rewrite(tree, withinLine)
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
	if opts.Multiline {
		if m.rest, err = compileRest(text, groups, tree); err != nil {
			return nil, err
		}
	}

	tree = tree.Simplify()
	var x extractor
	f := x.node(tree)
	m.find = newFinder(f.inexact().best)
	m.whole = m.find != nil && f.exact && !x.asserts && !opts.Multiline
	m.special = x.special
	if code, err := syntax.Compile(tree); err == nil {
		m.prog = newProgram(code)
	}
	return m, nil
}

// compileRest returns what Matcher.rest is for, given the pattern with its flags,
// whether it has groups, and its tree.
func compileRest(text string, groups bool, tree *syntax.Regexp) (*regexp.Regexp, error) {
	const one = `\A(?s:.)(?s:.*?)(`
	// The tree is without groups, which would cost each search their captures,
	// but to turn it back into text can take tens of milliseconds.
	if !groups && !has(tree, syntax.OpBeginText) {
		if re, err := regexp.Compile(one + text + `)`); err == nil {
			return re, nil // else text ends inside of \Q
		}
	}
	return regexp.Compile(one + rewrite(tree, afterStart).String() + `)`)
}
