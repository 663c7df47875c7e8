package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/internal/failure"
)

// ExitError says that the program ran to its end without success.
type ExitError struct {
	*State
	// Stderr holds the beginning of what the program wrote to standard error, if [Cmd.Output] collected it.
	Stderr []byte
}

// Error says how the program ended.
func (e *ExitError) Error() string { return e.State.String() }

// StartError says that the program could not be started; nothing of it has run.
type StartError struct {
	// Program is what was to be started, as it was written.
	Program string
	// NotGranted is an interpreter that the program needs and the policy does not grant, if that may be the reason.
	NotGranted string
	Err        error
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

// Unwrap returns the reason. It is a syscall.Errno only if the program itself could not be executed.
func (e *StartError) Unwrap() error { return e.Err }

// Refused reports whether the program itself could not be executed. Shells say so by the exit status 126 or 127.
func (e *StartError) Refused() bool { return failure.Is(e.Err, failure.Program) }

// Directory reports whether the working directory cannot be entered where the program would run.
func (e *StartError) Directory() bool { return failure.Is(e.Err, failure.Directory) }

// ControlError says that processes of a call may be left, or that it is not known how its program ended.
type ControlError struct{ Err error }

// Error says what is not known.
func (e *ControlError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *ControlError) Unwrap() error { return e.Err }

// LimitError says that a call was ended because it had more processes than its limit, or took longer.
type LimitError struct {
	// Processes is the limit that was reached, 0 if it was Time.
	Processes int
	Time      time.Duration
}

// Error names the limit and what to do.
func (e *LimitError) Error() string {
	if e.Processes == 0 {
		return fmt.Sprintf("the program was not done within %s and was ended\nraise the limit of time if it needs longer", e.Time)
	}
	return fmt.Sprintf("the program had more than %d processes and was ended\nlet it do less at a time, or raise the limit of processes", e.Processes)
}

// LostError says that a call was ended because something was replaced that has to stay in its place, or appeared where
// nothing may be.
type LostError struct {
	fit.Loss
	// Name is the path as rules write it.
	Name string
	// Read and Changed say what the program may have done with what stands there now.
	Read, Changed bool
}

// Error names the path and says what happened.
func (e *LostError) Error() string {
	name := visible(e.Name)
	done := "read and changed"
	switch {
	case e.Kind == fit.Appeared:
		return "the call was ended: " + name + " appeared, where nothing may be created"
	case e.Kind == fit.Unwatched:
		return "the call was ended: more happened around " + name + " than can be watched"
	case !e.Read && !e.Changed:
		return "the call was ended: " + name + " was replaced, moved or removed, and has to stay in its place\n" +
			"until then the program may have used what stands there now"
	case !e.Read:
		done = "changed"
	case !e.Changed:
		done = "read"
	}
	return "the call was ended: " + name + " was replaced, moved or removed from outside, which undid the mount that protects it\n" +
		"until then the program may have " + done + " what stands there now"
}

// ChangedError says that, after a call, something is not as the rules want it.
type ChangedError struct {
	Changes []fit.Change
	// Err is what became of the call otherwise, or nil.
	Err error
}

// Error lists the changes.
func (e *ChangedError) Error() string {
	var b strings.Builder
	b.WriteString("this is not as the rules want it:")
	for _, c := range e.Changes {
		b.WriteString("\n  " + c.String())
	}
	return b.String()
}

// Unwrap returns what became of the call otherwise.
func (e *ChangedError) Unwrap() error { return e.Err }

// visible returns a name as it is if every character shows, else quoted.
func visible(name string) string {
	quoted := strconv.Quote(name)
	if quoted != `"`+name+`"` || strings.TrimSpace(name) != name || name == "" {
		return quoted
	}
	return name
}
