package engine

import "github.com/jptools/jptools/sandbox/internal/failure"

// Error says what could not be done. Callers decide by Kind and Errno, never by the text.
type Error = failure.Error

// The kinds of an Error.
const (
	Changed     = failure.Changed
	Namespaces  = failure.Namespaces
	Directory   = failure.Directory
	Program     = failure.Program
	File        = failure.File
	Unsupported = failure.Unsupported
	Control     = failure.Control
	Failed      = failure.Failed
)

func outOfControl(text string) error { return &Error{Kind: Control, Step: text} }

// Is reports whether err is an *Error of a kind.
func Is(err error, kind failure.Kind) bool { return failure.Is(err, kind) }
