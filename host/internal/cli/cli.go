package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/launch"
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
	c, err := read(args, stdout, stderr)
	if c == nil || err != nil {
		return err
	}
	out.json = c.global.JSON || c.global.Format == "json"
	a := &app{ctx: ctx, args: args, environ: environ, stdin: stdin, out: out, global: c.global, model: c.model, launcher: launcher}
	err = c.run(a)
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

// invocation is a command line that was read. There is no model of the grammar where none was needed.
type invocation struct {
	run    func(*app) error
	global *globals
	model  *kong.Application
}

// read returns nil when there is nothing left to do.
func read(args []string, stdout, stderr io.Writer) (*invocation, error) {
	if c, global := quick(args); c != nil {
		return &invocation{run: c.Run, global: global}, nil
	}
	g, global := commands(args)
	parser, err := newParser(g, stdout, stderr)
	if err != nil {
		return nil, err
	}
	k, err := parse(parser, reorder(parser.Model, args))
	if k == nil || err != nil {
		return nil, err
	}
	return &invocation{func(a *app) error { return k.Run(a) }, global, parser.Model}, nil
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
		return append(rest, "--help")
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

// missing says of what kong expected and did not find that it is missing.
func missing(err error) string {
	if flag, what, ok := strings.Cut(err.Error(), ": expected "); ok && strings.HasPrefix(flag, "-") && strings.HasSuffix(what, `"EOL" (<EOL>)`) {
		return flag + " is without its value"
	}
	if name, ok := strings.CutPrefix(err.Error(), `expected "<`); ok {
		if name, ok := strings.CutSuffix(name, `"`); ok {
			return "<" + name + " is missing"
		}
	}
	return err.Error()
}

func newParser(g any, stdout, stderr io.Writer) (*kong.Kong, error) {
	return kong.New(g,
		kong.Name("jphost"),
		kong.Description(about),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { panic(helped{}) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.ExplicitGroups([]kong.Group{
			{Key: "calls", Title: "Calls:"},
			{Key: "access", Title: "What a tool may do:"},
			{Key: "consent", Title: "Consent:"},
			{Key: "setup", Title: "Configuration:"},
		}),
	)
}

// helped is thrown when the help has been printed: kong would go on otherwise.
type helped struct{}

// parse returns nil when there is nothing left to do.
func parse(parser *kong.Kong, args []string) (k *kong.Context, err error) {
	defer func() {
		if p := recover(); p != nil {
			if _, ok := p.(helped); !ok {
				panic(p)
			}
			k, err = nil, nil
		}
	}()
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err = parser.Parse(args)
	if written := (*fs.PathError)(nil); errors.As(err, &written) {
		return nil, exit.With(exit.Host, written) // the help could not be
	}
	if err != nil {
		where, said := "jphost", missing(err)
		if p := (*kong.ParseError)(nil); errors.As(err, &p) && p.Context != nil {
			selected := p.Context.Selected()
			if selected != nil {
				where += " " + selected.Path()
			}
			if word, ok := strings.CutPrefix(said, "unexpected argument "); ok && (selected == nil || selected.Type == kong.CommandNode && !selected.Leaf()) {
				said = "there is no command " + strings.TrimPrefix(where+" ", "jphost ") + word
			}
		}
		return nil, exit.Errorf(exit.Usage, "%s\nsee: %s --help", said, where)
	}
	return k, nil
}
