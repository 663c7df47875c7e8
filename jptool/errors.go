package jptool

import (
	"errors"
	"fmt"
)

// Error is a refusal or failure as the model sees it: a message that names
// workspace-relative paths only, and a code for machines.
type Error struct {
	Code    Code
	Message string `json:"message" required:""`
	// Trace is the chain of causes, outermost first.
	Trace []string
	// Transient says that the same call may succeed later. Denials never are.
	Transient bool `json:"transient" required:""`
	// Data is the machine-readable detail, or nil.
	Data any
	// cause is kept for errors.Is and errors.As.
	cause error
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Errorf returns an Error with this code; %w operands, of which there may be several, become its cause.
func Errorf(code Code, format string, args ...any) *Error {
	cause := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: cause.Error(), cause: cause}
}

// CodeOf returns the code of the first error in err's chain that has one, and
// CodeIO for all others.
func CodeOf(err error) Code {
	var coded interface{ ErrorCode() Code }
	if errors.As(err, &coded) {
		return coded.ErrorCode()
	}
	return CodeIO
}

// ErrorCode makes Error usable with CodeOf.
func (e *Error) ErrorCode() Code { return e.Code }
