package cli

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
	"github.com/jptools/jptools/jptool/cmdline"
)

// Run runs one command line; args do not include the program. What is to be said of a
// failure is said on stderr before it returns; the error is for [exit.Of]. It reads the
// environment from environ only.
func Run(ctx context.Context, environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) error {
	return runWith(ctx, nil, environ, stdin, stdout, stderr, args)
}

// runWith is Run with the launcher of its calls; nil is a new one.
func runWith(ctx context.Context, launcher *launch.Launcher, environ []string, stdin io.Reader, stdout, stderr io.Writer, args []string) (err error) {
	out := newOutput(environ, stdout, stderr)
	defer func() {
		if err != nil {
			out.failure(err)
		}
	}()
	args = usual(args)
	out.json = wantsJSON(args) // what cannot be parsed is answered in JSON too
	l, err := read(args)
	switch {
	case errors.Is(err, cmdline.ErrHelp), errors.Is(err, errNothing):
		if err := l.writeHelp(stdout); err != nil {
			return exit.With(exit.Host, err)
		}
		return nil
	case err != nil:
		return err
	}
	out.json = l.JSON || l.Format == "json"
	a := &app{ctx: ctx, args: args, environ: environ, stdin: stdin, out: out, global: &l.globals, launcher: launcher}
	err = l.run.Run(a)
	if lost := out.flush(); lost != nil && !errors.Is(err, lost) {
		err = errors.Join(err, lost)
	}
	if status := (*exit.Error)(nil); errors.As(err, &status) && status.Err == nil {
		return err // of a program, which may have had its own way with an interrupt
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, ask.ErrInterrupted)) && exit.Of(err) != exit.Interrupted {
		return &exit.Error{Code: exit.Interrupted, Err: err}
	}
	return err
}

// usual turns what people try first into what there is: `--version`, and `help [COMMAND…]`, also after
// flags without a value.
func usual(args []string) []string {
	i := slices.IndexFunc(args, func(arg string) bool {
		return arg != "--json" && arg != "--no-input" && !strings.HasPrefix(arg, "--format=")
	})
	if i < 0 {
		return args
	}
	rest := slices.Concat(args[:i], args[i+1:])
	switch args[i] {
	case "--version", "-V":
		return append([]string{"version"}, rest...)
	case "help":
		return append([]string{"--help"}, rest...) // first, or it were an argument of the program of `sandbox exec`
	}
	return args
}

// wantsJSON reports whether a command line asks for JSON, before it is parsed. Of a flag's value that
// happens to be `--json` it is mistaken, which only matters for the error of an unusable command line.
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
