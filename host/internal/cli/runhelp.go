package cli

import (
	"cmp"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
)

// helpOf is the tool of a line that asks for the help of `run`; "" if it names none.
func (l *line) helpOf() string {
	if _, is := l.node().Target.Addr().Interface().(*runCmd); !is {
		return ""
	}
	for _, p := range l.ctx.Path {
		if p.Positional != nil && p.Positional.Name == "tool" {
			return l.ctx.Value(p).String()
		}
	}
	return ""
}

// help describes the arguments of a tool. The error says why that cannot be done.
func (c *runCmd) help(a *app, name string) error {
	_, t, err := a.configured(name)
	if err != nil {
		return err
	}
	words := ""
	for _, p := range t.Parameters {
		if p.Required {
			words += " " + show.Word(p.Name) + "=" + strings.ToUpper(strings.Join(p.Types, "|"))
		}
	}
	a.Out.Printf("Usage: jphost run %s%s [KEY=TEXT | KEY:=JSON]... [flags]\n", show.Word(t.Name), words)
	if text := cmp.Or(t.Summary, t.Description); text != "" {
		a.Out.Text("\n" + show.Text(text))
	}
	a.arguments(t)
	a.Out.Printf("\nThe flags of run: jphost run --help\nWhat it may access: jphost tools %s\n", show.Word(t.Name))
	return nil
}
