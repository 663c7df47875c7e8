// Package term puts questions to a person on a terminal.
//
// Questions go to the terminal itself, never to standard output, which belongs to results. Without a terminal every
// question fails with [ErrNoTerminal], so that callers deny instead of taking a default for consent.
//
// Text of others (names, paths, questions of tools, diffs) cannot steer the terminal or pass for the host's own words.
// Control characters, bidirectional overrides and blank look-alikes are written out, and every row of such text begins
// with a bar. Only the host's own words begin at the first column; if they need a second row, that row has a bar too.
// The line that is answered names what it is about.
//
// This does not help against letters that look like other letters, a text that lies in plain words, terminals that move
// right-to-left letters across the row, and a window that is made narrower while the question stands.
package term

import (
	"context"
	"errors"
	"slices"
)

var (
	// ErrNoTerminal: there is nobody to ask. Callers deny.
	ErrNoTerminal = errors.New("there is no terminal to ask on")
	// ErrNoInput is the ErrNoTerminal of --no-input, even if there is a terminal.
	ErrNoInput error = special{"--no-input allows no questions", ErrNoTerminal}
	// ErrCancelled: the person ended the question (Ctrl-C, Ctrl-D), or no answer was usable.
	ErrCancelled = errors.New("cancelled")
	// ErrInterrupted is the ErrCancelled of Ctrl-C, with which people mean to end the whole command.
	ErrInterrupted error = special{"cancelled by Ctrl-C", ErrCancelled}
)

// special is an error that is also a more general one, and has words of its own.
type special struct {
	text    string
	general error
}

func (e special) Error() string { return e.text }

func (e special) Unwrap() error { return e.general }

// Prompter asks questions, one at a time. Without an answer every method returns an error that wraps ErrNoTerminal,
// ErrCancelled or the context's error, and the answer beside the error means no.
type Prompter interface {
	// Bool asks for yes or no.
	Bool(ctx context.Context, q BoolQuestion) (BoolAnswer, error)
	// Select asks for one of several options and returns its index.
	Select(ctx context.Context, q SelectQuestion) (int, error)
	// Text asks for a line.
	Text(ctx context.Context, q TextQuestion) (string, error)
	// Edit hands text to the person's editor and returns what became of it.
	Edit(ctx context.Context, q EditQuestion) (string, error)
}

// Message is what is shown before a question is asked.
type Message struct {
	// Body is the host's own text. Values of others in it went through [show.Visible], and none begins a line.
	Body string
	// Quoted is the text of somebody else. Each row of it is shown behind a bar.
	Quoted string
	// Then follows in the same way.
	Then []Message
}

// Whole reports whether all of the message is shown.
func (m Message) Whole() bool {
	return Whole(m.Quoted) && !slices.ContainsFunc(m.Then, func(t Message) bool { return !t.Whole() })
}

// BoolQuestion is a yes-or-no question.
type BoolQuestion struct {
	Message
	// Prompt is the line that ends in the answer, such as "Let t create a.txt?". Values of others in it went through
	// [show.Name].
	Prompt string
	// Default is the answer to an empty line; nil means that there is none.
	Default *bool
	// Remember offers Y and N, which hold for the rest of the session.
	Remember bool
}

// BoolAnswer is an answer and whether it is to be remembered for the session.
type BoolAnswer struct{ Yes, Remember bool }

// SelectQuestion is a choice from options.
type SelectQuestion struct {
	Message
	Prompt  string
	Options []string
	// Default is the index taken for an empty line; nil means that there is none.
	Default *int
}

// TextQuestion asks for a line of text.
type TextQuestion struct {
	Message
	Prompt string
	// Default is the answer to an empty line; nil takes the empty line as it is.
	Default *string
}

// EditQuestion asks for text to be edited.
type EditQuestion struct {
	// Text is what the editor starts with.
	Text string
	// Suffix is the ending of the temporary file's name, such as ".json", for the
	// editor's benefit.
	Suffix string
}

// None is the Prompter of a host that has nobody to ask.
type None struct {
	// Why wraps ErrNoTerminal; nil is ErrNoTerminal.
	Why error
}

func (n None) err() error {
	if n.Why == nil {
		return ErrNoTerminal
	}
	return n.Why
}

// Bool fails.
func (n None) Bool(context.Context, BoolQuestion) (BoolAnswer, error) {
	return BoolAnswer{}, n.err()
}

// Select fails.
func (n None) Select(context.Context, SelectQuestion) (int, error) { return -1, n.err() }

// Text fails.
func (n None) Text(context.Context, TextQuestion) (string, error) { return "", n.err() }

// Edit fails.
func (n None) Edit(context.Context, EditQuestion) (string, error) { return "", n.err() }

// Absent says why p has nobody to ask, so that callers need not prepare a question. It is nil if there may be somebody.
func Absent(p Prompter) error {
	if none, ok := p.(None); ok {
		return none.err()
	}
	return nil
}

// No is the default of questions that grant something.
func No() *bool { return new(bool) }
