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
