package cli

import (
	"context"
	"errors"
	"io"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/cmdline"
)

// Run runs one command line; args do not include the program. What is to be said of a
// failure is said on stderr before it returns; the error is for [exit.Of]. It reads the
// environment from environ only.
func Run(ctx context.Context, environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	l, err := read(args)
	return runLine(ctx, l, err, nil, environ, stdin, stdout, stderr, args)
}

// runLine is Run for a command line that was read, or was not because of wrong, with the launcher of its calls; nil is
// a new one.
func runLine(ctx context.Context, l *line, wrong error, launcher *launch.Launcher, environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) (err error) {
	out := newOutput(environ, stdout, stderr)
	defer func() {
		if err != nil {
			out.failure(err)
		}
	}()
	out.json = l.JSON || l.Format == "json"
	switch {
	case errors.Is(wrong, cmdline.ErrHelp), errors.Is(wrong, errNothing):
		if err := l.writeHelp(stdout); err != nil {
			return exit.With(exit.Host, err)
		}
		return nil
	case wrong != nil:
		out.json = out.json || wantsJSON(args) // it may come after what is wrong
		return wrong
	}
	a := &app{ctx: ctx, args: args, environ: environ, stdin: stdin, out: out, global: &l.globals, launcher: launcher}
	err = l.run.Run(a)
	if lost := out.flush(); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	if status := (*exit.Error)(nil); errors.As(err, &status) && status.Err == nil {
		return err // of a program, which may have had its own way with an interrupt
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, term.ErrInterrupted)) && exit.Of(err) != exit.Interrupted {
		return &exit.Error{Code: exit.Interrupted, Err: err}
	}
	return err
}

// wantsJSON reports whether a command line that cannot be read asks for JSON. Of a flag's value that
// happens to be `--json` it is mistaken.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		switch {
		case arg == "--":
			return false
		case arg == "--json", arg == "--json=true", arg == "--format=json", arg == "json" && i > 0 && args[i-1] == "--format":
			return true
		}
	}
	return false
}
