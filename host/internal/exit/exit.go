// Package exit has the exit statuses of jphost as values of one error type;
// docs/exit-codes.md is the table for people.
package exit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

// Code is an exit status.
type Code int

// The statuses. Scripts rely on them: changing one is a change of the contract.
const (
	// OK: done.
	OK Code = 0
	// Refused: the tool answered with an error, or somebody (a person, the policy, a run
	// mode, nobody being there to ask) did not allow it.
	Refused Code = 1
	// Usage: the command line, the arguments or the configuration cannot be used.
	Usage Code = 2
	// Host: the host itself failed: the tool could not be started or controlled, or
	// state could not be read or written.
	Host Code = 3
	// Interrupted: Ctrl-C, Ctrl-\, SIGTERM, or SIGHUP as the terminal went.
	Interrupted Code = 130
)

// String is a word for the status, as errors in JSON have it.
func (c Code) String() string {
	return cmp.Or(map[Code]string{OK: "ok", Refused: "refused", Usage: "usage", Interrupted: "interrupted"}[c], "host")
}

// Error is a failure with its exit status.
type Error struct {
	Code Code
	// Err is for people; nil when everything was said already.
	Err error
}

// Errorf returns an Error with this status; the message may have a second line that says
// what to do.
func Errorf(code Code, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// With gives err a status unless it has one; nil stays nil.
func With(code Code, err error) error {
	if e := (*Error)(nil); err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{code, err}
}

// Error is the message, or empty.
func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.Err }

// Of is the status for err: of an Error in its chain, else Interrupted for a cancelled
// context, else Host.
func Of(err error) Code {
	e := (*Error)(nil)
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return Interrupted
	}
	return Host
}
