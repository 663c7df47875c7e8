package cli

import (
	"cmp"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/schema"
	"github.com/jptools/jptools/host/internal/show"
)

type toolsCmd struct {
	Tool  string `arg:"" optional:"" help:"Describe this one."`
	Names bool   `help:"Only the names of those that can be run, or of the arguments of TOOL, one a line, for scripts."`
}

// described is a tool as `jphost tools --json` prints it.
type described struct {
	Name        string         `json:"name"`
	Summary     string         `json:"summary"`
	Description string         `json:"description,omitempty"`
	Source      string         `json:"source"`
	Enabled     bool           `json:"enabled"`
	Run         string         `json:"run"`
	Command     []string       `json:"command,omitempty"`
	Needs       []string       `json:"needs,omitempty"`
	Declared    bool           `json:"access_declared"`
	Access      *accessOf      `json:"access,omitempty"`
	Parameters  map[string]any `json:"parameters"`
	Origin      string         `json:"origin"`
}

func describe(t *config.Tool) (*described, error) {
	s, err := schema.New(t.Parameters)
	if err != nil {
		return nil, exit.Errorf(exit.Usage, "%s: parameters of %s: %w", t.Origin("parameters"), t.Name, err)
	}
	d := &described{
		Name: t.Name, Summary: t.Summary, Description: t.Description, Source: string(t.Source.Kind), Enabled: t.Enable.On,
		Run: t.Run, Declared: t.Access != nil, Parameters: s.JSON(), Origin: t.Origin("source").String(),
	}
	if t.Command != nil {
		d.Command = append([]string{t.Command.Program}, t.Command.Args...)
	}
	if t.Needs != nil {
		d.Needs = t.Needs.Names()
	}
	return d, nil
}

func (c *toolsCmd) Run(a *app) error {
	cfg, err := a.config()
	if err != nil {
		return err
	}
	tools := cfg.Tools()
	if c.Tool != "" {
		t, err := a.tool(cfg, c.Tool)
		if err != nil {
			return err
		}
		tools = []*config.Tool{t}
	}
	list := []*described{}
	for _, t := range tools {
		d, err := describe(t)
		if err != nil {
			return err
		}
		list = append(list, d)
	}
	if c.Names {
		names := []string{}
		for i, d := range list {
			if c.Tool != "" {
				for _, p := range tools[i].Parameters {
					names = append(names, p.Name)
				}
			} else if d.Enabled && d.Source == string(config.SourceLocal) {
				names = append(names, d.Name)
			}
		}
		return a.names(names)
	}
	for i, t := range tools {
		if t.Source.Kind == config.SourceLocal {
			list[i].Access = a.accessOf(cfg, t)
		}
	}
	switch {
	case a.out.json && c.Tool != "":
		return a.out.value(list[0])
	case a.out.json:
		return a.out.value(list)
	case c.Tool != "":
		a.describe(tools[0], list[0])
		return nil
	}
	var rows [][]string
	for _, d := range list {
		mode := d.Run
		if !d.Enabled {
			mode = "off"
		} else if d.Source != string(config.SourceLocal) {
			mode = d.Source
		}
		first, _, _ := strings.Cut(strings.TrimSpace(d.Description), "\n")
		text := cmp.Or(d.Summary, first)
		rows = append(rows, []string{show.Visible(d.Name), mode, show.Line(text)})
		if d.Access != nil {
			rows = append(rows, []string{"", "", show.Line(d.Access.short())})
		}
	}
	a.out.table("", rows)
	return nil
}

// names prints names for scripts; as text only those in which a shell sees nothing special.
func (a *app) names(list []string) error {
	if a.out.json {
		return a.out.value(list)
	}
	for _, name := range list {
		if show.Word(name) == name {
			a.out.printf("%s\n", name)
		}
	}
	return nil
}

func (a *app) describe(t *config.Tool, d *described) {
	a.out.printf("%s\n", strings.TrimSuffix(show.Visible(d.Name)+": "+show.Line(d.Summary), ": "))
	if d.Description != "" {
		a.out.text("\n" + show.Text(d.Description))
	}
	a.out.printf("\nsource   %s (%s)\nrun      %s\n", d.Source, d.Origin, d.Run)
	if len(d.Command) > 0 {
		a.out.printf("command  %s (%s)\n", show.Line(strings.Join(d.Command, " ")), t.Command.Origin)
	}
	if len(d.Needs) > 0 {
		a.out.printf("needs    %s\n", strings.Join(d.Needs, ", "))
	}
	if d.Access != nil {
		d.Access.print(a)
	}
	if len(t.Parameters) > 0 {
		a.out.printf("\narguments:\n")
	}
	for _, p := range t.Parameters {
		kind := strings.Join(p.Types, " or ")
		if p.Required {
			kind += ", required"
		}
		if p.HasDefault {
			kind += ", default " + show.Value(p.Default)
		}
		a.out.printf("  %s (%s)\n", show.Visible(p.Name), kind)
		text := cmp.Or(p.Summary, p.Description)
		if len(p.Enum) > 0 {
			list := make([]string, len(p.Enum))
			for i, v := range p.Enum {
				list[i] = show.Value(v)
			}
			text = strings.TrimSpace(text + " One of " + strings.Join(list, ", ") + ".")
		}
		if text != "" {
			a.out.printf("      %s\n", show.Line(text))
		}
	}
}
