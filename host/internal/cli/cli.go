// Package cli is the command line of jphost: the grammar, the commands, and what they print. What is decided is decided
// elsewhere; what is printed where is at the top of [term.Output].
package cli

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/sandbox"
)

// Run runs one command line; args do not include the program. It says on stderr why a command failed before it
// returns the error, which is for [exit.Of]. It reads the environment from environ only.
func Run(ctx context.Context, environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	l, err := read(args)
	return l.start(ctx, err, nil, environ, stdin, stdout, stderr, args)
}

// start runs the command of a line, or says what is wrong with the line. The helpers start programs; nil means
// new ones.
func (l *line) start(
	ctx context.Context, wrong error, helpers *sandbox.Helpers,
	environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string,
) (err error) {
	out := term.NewOutput(environ, stdout, stderr)
	out.JSON = l.json
	defer func() {
		if err != nil {
			fail(out, err)
		}
	}()
	a := &app{global: l.globals, Process: &grants.Process{
		Ctx: ctx, Environ: environ, Stdin: stdin, Out: out, Helpers: helpers, Workspace: l.Workspace,
		Configured: len(l.Cfg) > 0 || l.Conversation != "",
	}}
	switch {
	case errors.Is(wrong, errHelp):
		l.ctx.Stdout = stdout
		err = l.help(a)
	case wrong != nil:
		return wrong
	default:
		err = l.command(a)
	}
	if lost := out.Flush(); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	if status := (*exit.Error)(nil); errors.As(err, &status) && status.Err == nil {
		return err // the status of a program, which decides itself what an interrupt means
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, term.ErrInterrupted)) && exit.Of(err) != exit.Interrupted {
		return &exit.Error{Code: exit.Interrupted, Err: err}
	}
	return err
}

// help prints the help of the command of the line, or of the tool that it would run.
func (l *line) help(a *app) error {
	if tool := l.helpOf(); tool != "" {
		err := (&runCmd{}).help(a, tool)
		if err == nil {
			return nil
		}
		a.Out.Warn(err.Error())
	}
	return exit.With(exit.Host, l.ctx.PrintUsage(false))
}

// failed is the JSON value of a command that has no other to print.
type failed struct {
	Message string `json:"message"`
	// Code is a word for Exit, the exit status: refused, usage, host or interrupted.
	Code string    `json:"code"`
	Exit exit.Code `json:"exit"`
	// Errors are the single ones of a configuration that cannot be used.
	Errors []problem `json:"errors,omitempty"`
}

// problem is one thing that is wrong in a configuration, as JSON output has it.
type problem struct {
	// File is an absolute path, the name of an environment variable or a flag; Line and Column count
	// from 1 and are absent where there are no lines.
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Key     string `json:"key,omitempty"`
	Message string `json:"message"`
	// Hint is what to do.
	Hint string `json:"hint,omitempty"`
}

func failedBy(err error) failed {
	code := exit.Of(err)
	f := failed{Message: err.Error(), Code: code.String(), Exit: code}
	if list := settings.Errors(nil); errors.As(err, &list) {
		for _, p := range list {
			f.Errors = append(f.Errors, problem{p.Origin.File, p.Origin.Line, p.Origin.Column, p.Origin.Key, p.Message, p.Help})
		}
	}
	return f
}

// fail prints why the command failed. Lines after the first say what to do.
func fail(out *term.Output, err error) {
	text := err.Error()
	if out.JSON && !out.Answered && text != "" {
		_ = out.Value(failedBy(err))
	}
	messages := []string{text}
	if list := settings.Errors(nil); errors.As(err, &list) && text == list.Error() {
		messages = nil
		for _, p := range list {
			messages = append(messages, p.Error())
		}
	}
	for _, message := range messages {
		if message != "" {
			out.Say("jphost: ", "31", message)
		}
	}
	_ = out.Flush()
	if out.After != "" {
		out.Note(out.After)
	}
}

// list prints the result of a command that lists things: in JSON all rows as one list, else what text prints of each.
// A note says what it means if there are none.
func list[T any](out *term.Output, rows []T, none string, text func(T)) error {
	if out.JSON {
		return out.Value(append([]T{}, rows...))
	}
	if len(rows) == 0 && none != "" {
		out.Note(none)
	}
	for _, row := range rows {
		text(row)
	}
	return nil
}

// cond is yes or no.
func cond(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
