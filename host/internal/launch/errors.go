package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"
)

// StartError says that the tool could not be started; nothing of it ran.
type StartError struct {
	// Program is what was to be started, as it was written.
	Program string
	Err     error
}

// Error names the program, the reason, and on the next line what to do.
func (e *StartError) Error() string {
	text := fmt.Sprintf("starting %q: %v", e.Program, e.Err)
	switch {
	case errors.Is(e.Err, syscall.E2BIG):
		return text + "\nthe arguments are too long for a command line; let the tool read its request from standard input instead of {{context}} and {{tool}}"
	case errors.Is(e.Err, syscall.ENOEXEC):
		return text + "\nthe file is no program for this machine; a script must begin with a line like #!/bin/sh"
	case errors.Is(e.Err, syscall.ETXTBSY):
		return text + "\nsomebody has the file open for writing; try again when that is done"
	case errors.Is(e.Err, fs.ErrPermission):
		return text + "\nmake it executable (chmod +x), and check that its file system is not mounted noexec; an interpreter or loader outside of /usr and the workspace needs sandbox.paths"
	case errors.Is(e.Err, fs.ErrNotExist):
		return text + "\nif the file is there, the interpreter in its first line or its dynamic loader is missing, or the workspace is"
	}
	return text
}

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// RefusedError is the error of a Start function after its way from the supervisor.
type RefusedError struct {
	// Code is what the error's own method `Code() string` returned, if it has one.
	Code    string
	Message string
}

// Error is the message.
func (e *RefusedError) Error() string { return e.Message }

// Reason is why the host ended a tool.
type Reason uint8

// The reasons.
const (
	TimedOut Reason = iota + 1
	Cancelled
	StdoutFlood
	StderrFlood
	TooManyProcesses
	Exposed
)

// StopError says that the host ended the tool before it was done.
type StopError struct {
	Reason Reason
	// Limit is the number of bytes that a flood passed, or of processes.
	Limit int
	// After is the time limit that passed.
	After time.Duration
	// Path is what was exposed.
	Path string

	cause error
}

// Error says in one line what happened and on the next what to do.
func (e *StopError) Error() string {
	switch e.Reason {
	case TimedOut:
		return fmt.Sprintf("the tool was not done within %s and was ended\nraise limits.time of the tool if it needs longer", e.After)
	case StdoutFlood:
		return fmt.Sprintf("the tool printed more than %d bytes on standard output and was ended\nlet it print less, or raise limits.output of the tool", e.Limit)
	case TooManyProcesses:
		return fmt.Sprintf("the tool had more than %d processes and was ended\nlet it do less at a time, or raise the limit of processes of the tool", e.Limit)
	case Exposed:
		return fmt.Sprintf("%q was replaced or moved from outside while the tool ran, so that it was no longer protected from it; the tool was ended\nlook at what is there now, and run the tool again when nothing else changes it", e.Path)
	case StderrFlood:
		return fmt.Sprintf("the tool printed more than %d bytes on standard error and was ended\nlet it print less, or send what nobody reads to /dev/null", e.Limit)
	}
	return "the call was cancelled and the tool ended"
}

// Unwrap returns the cause of a cancellation, or nil.
func (e *StopError) Unwrap() error { return e.cause }

// ControlError says that the host lost control of the tool: it cannot promise that all
// of its processes are gone, or does not know how it ended.
type ControlError struct {
	Message string
	Err     error
}

// Error is the message, with the cause if there is one.
func (e *ControlError) Error() string {
	if e.Err != nil {
		return e.Message + ": " + e.Err.Error()
	}
	return e.Message
}

// Unwrap returns the cause, or nil.
func (e *ControlError) Unwrap() error { return e.Err }

// NotSupportedError says what this platform cannot do.
type NotSupportedError struct {
	Platform, What string
}

// Error names the platform and what is missing.
func (e *NotSupportedError) Error() string { return "on " + e.Platform + " " + e.What }

// Is makes it match errors.ErrUnsupported.
func (e *NotSupportedError) Is(target error) bool { return target == errors.ErrUnsupported }

var errClosed = errors.New("the launcher is closed")
