// Package cli is the command line of jphost: the grammar, the commands, and everything
// that is printed. What is decided is decided elsewhere; what is printed where is at the
// top of output.go.
package cli

import (
	"context"
	"errors"
	"io"

	"github.com/jptools/jptools/host/internal/exit"
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
	out := newOutput(environ, stdout, stderr)
	out.json = l.json
	defer func() {
		if err != nil {
			out.failure(err)
		}
	}()
	switch {
	case errors.Is(wrong, errHelp):
		l.ctx.Stdout = stdout
		return exit.With(exit.Host, l.ctx.PrintUsage(false))
	case wrong != nil:
		return wrong
	}
	a := &app{ctx: ctx, args: args, environ: environ, stdin: stdin, out: out, global: l.globals, helpers: helpers}
	err = l.run.Run(a)
	if lost := out.flush(); lost != nil && !errors.Is(err, lost) {
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
