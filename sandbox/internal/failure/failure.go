// Package failure says what went wrong at the start of a program, in a form that crosses processes.
package failure

import (
	"errors"
	"fmt"
	"syscall"
)

// Kind is what an [Error] means to the caller.
type Kind string

const (
	// Changed: Path is not what it was when the plan was made. Survey and fit again.
	Changed Kind = "changed"
	// Namespaces: the private tree cannot be made on this machine. Fit again without namespaces.
	Namespaces Kind = "namespaces"
	// Listener: no calls can be announced to another process on this machine. Fit again without.
	Listener Kind = "listener"
	// Directory: the working directory, Path, cannot be entered where the program runs.
	Directory Kind = "directory"
	// Program: execve refused the program, Path, with Errno; perhaps because the plan does not grant it.
	Program Kind = "program"
	// File: a descriptor would lead past the plan; Step says which one and how.
	File Kind = "file"
	// Unsupported: this system cannot do what was asked for.
	Unsupported Kind = "unsupported"
	// Control: processes of the call may be left, or it is not known how the program ended.
	Control Kind = "control"
	// Failed: any other failure before the program ran.
	Failed Kind = "failed"
)

// Error says what could not be done. Callers decide by Kind and Errno, never by the text.
type Error struct {
	Kind Kind
	// Step is what was being done, in words; Path is what it was done to, if anything.
	Step string
	Path string
	// Errno is what the kernel said, or 0.
	Errno syscall.Errno
}

// Error says what failed and, on a line of its own, what to do about it where there is something.
func (e *Error) Error() string {
	switch e.Kind {
	case Changed:
		return fmt.Sprintf("%q was replaced or removed while the call was prepared\n"+
			"try again; if this stays, something else is changing it", e.Path)
	case Namespaces:
		return fmt.Sprintf("no private namespaces: %s: %v\n`jphost doctor` says what stands in the way", e.what(), e.Errno)
	case Directory:
		return fmt.Sprintf("entering %s: %v", e.Path, e.Errno)
	case Program:
		return e.Errno.Error()
	}
	if e.Errno == 0 {
		return e.what()
	}
	return fmt.Sprintf("%s: %v%s", e.what(), e.Errno, e.remedy())
}

func (e *Error) what() string {
	if e.Path == "" {
		return e.Step
	}
	return fmt.Sprintf("%s %q", e.Step, e.Path)
}

// remedy is what to do about an error number, on a line of its own, or nothing.
func (e *Error) remedy() string {
	switch {
	case e.Errno == syscall.EMFILE:
		return "\nraise the limit of open files (ulimit -n 256)"
	case e.Kind == Listener && e.Errno == syscall.EBUSY:
		return "\nsomething around jphost is told of its calls already, and only one can be: start jphost outside of it"
	case e.Kind == Listener:
		return "\nuse Linux 5.14 or newer"
	case e.Step == StepDomain && e.Errno == syscall.E2BIG:
		return "\nthis process is inside as many Landlock sandboxes as the kernel allows (16): start it with fewer around it"
	case (e.Step == StepProc || e.Step == StepHelper) && e.Errno == syscall.ENOENT:
		return "\nmount it: mount -t proc proc /proc"
	}
	return ""
}

// Unwrap returns the error number of execve alone: of other steps it would be taken for the program's fault.
func (e *Error) Unwrap() error {
	if e.Kind == Program {
		return e.Errno
	}
	return nil
}

// Is makes an Error of kind Unsupported match errors.ErrUnsupported.
func (e *Error) Is(target error) bool {
	return target == errors.ErrUnsupported && e.Kind == Unsupported
}

// Steps that have a meaning beyond their words.
const (
	StepDomain = "entering the Landlock domain"
	StepProc   = "allowing access to /proc/self"
	StepHelper = "starting a helper process"
)

// NoDevice says that a device is missing that every program needs.
func NoDevice(path string) error {
	step := "there is no " + path + ", which programs need\nmount a /dev, or make it; see: man 4 null"
	return &Error{Kind: Failed, Step: step}
}

// OutOfControl returns an *Error of kind [Control].
func OutOfControl(text string) error { return &Error{Kind: Control, Step: text} }

// Is reports whether err is an *Error of a kind.
func Is(err error, kind Kind) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == kind
}

// At returns an *Error for what a system call said; nil if it said nothing.
func At(kind Kind, step, path string, err error) error {
	if err == nil {
		return nil
	}
	errno := syscall.EIO
	errors.As(err, &errno)
	return &Error{kind, step, path, errno}
}
