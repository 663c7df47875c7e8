package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/toolargs"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
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
	s, err := toolargs.New(t.Parameters)
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

func (c *toolsCmd) Run(a *app, cfg *config.Config) error {
	tools := cfg.Tools()
	if c.Tool != "" {
		t, err := a.tool(cfg, c.Tool)
		if err != nil {
			return err
		}
		tools = []*config.Tool{t}
	}
	list, names := []*described{}, []string{}
	for _, t := range tools {
		d, err := describe(t)
		if err != nil {
			return err
		}
		local := t.Source.Kind == config.SourceLocal
		switch {
		case c.Names && c.Tool != "":
			for _, p := range t.Parameters {
				names = append(names, p.Name)
			}
		case c.Names && local && d.Enabled:
			names = append(names, d.Name)
		case !c.Names && local:
			d.Access = a.accessOf(cfg, t)
		}
		list = append(list, d)
	}
	switch {
	case c.Names && a.Out.JSON:
		return a.Out.Value(names)
	case c.Names:
		for _, name := range names {
			if show.Word(name) == name { // nothing that a shell would make something of
				a.Out.Printf("%s\n", name)
			}
		}
		return nil
	case a.Out.JSON && c.Tool != "":
		return a.Out.Value(list[0])
	case a.Out.JSON:
		return a.Out.Value(list)
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
		rows = append(rows, []string{show.Visible(d.Name), mode, show.Line(cmp.Or(d.Summary, first))})
		if d.Access != nil {
			rows = append(rows, []string{"", "", show.Line(d.Access.short())})
		}
	}
	a.Out.Table("", rows)
	return nil
}

func (a *app) describe(t *config.Tool, d *described) {
	a.Out.Printf("%s\n", strings.TrimSuffix(show.Visible(d.Name)+": "+show.Line(d.Summary), ": "))
	if d.Description != "" {
		a.Out.Text("\n" + show.Text(d.Description))
	}
	a.Out.Printf("\nsource   %s (%s)\nrun      %s\n", d.Source, d.Origin, d.Run)
	if len(d.Command) > 0 {
		a.Out.Printf("command  %s (%s)\n", show.Line(strings.Join(d.Command, " ")), t.Command.Origin)
	}
	if len(d.Needs) > 0 {
		a.Out.Printf("needs    %s\n", strings.Join(d.Needs, ", "))
	}
	if d.Access != nil {
		d.Access.print(a)
	}
	a.arguments(t)
}

// arguments describes the arguments of a tool.
func (a *app) arguments(t *config.Tool) {
	if len(t.Parameters) > 0 {
		a.Out.Printf("\narguments:\n")
	}
	for _, p := range t.Parameters {
		kind := strings.Join(p.Types, " or ")
		if p.Required {
			kind += ", required"
		}
		if p.HasDefault {
			kind += ", default " + show.Value(p.Default)
		}
		a.Out.Printf("  %s (%s)\n", show.Visible(p.Name), kind)
		text := cmp.Or(p.Summary, p.Description)
		if len(p.Enum) > 0 {
			var list []string
			for _, v := range p.Enum {
				list = append(list, show.Value(v))
			}
			text = strings.TrimSpace(text + " One of " + strings.Join(list, ", ") + ".")
		}
		if text != "" {
			a.Out.Paragraph("      ", show.Line(text))
		}
	}
}

// accessOf is what a tool may access, here and now.
type accessOf struct {
	// Tier says by which means the operating system enforces it; none if it does not.
	Tier  fit.Tier `json:"tier"`
	Rules []ruleOf `json:"rules"`
	// Refused says why no call of the tool is made; empty if calls are made.
	Refused string `json:"refused,omitempty"`
	// Error says why the access is not known; empty if it is.
	Error string `json:"error,omitempty"`
}

// ruleOf is one rule as it is enforced.
type ruleOf struct {
	// Type is fs, net, env or command; Name the path, host, variable or program.
	Type string `json:"type"`
	Name string `json:"name"`
	// Rule is the enforced rule as one would write it; Capabilities is what it grants on a path.
	Rule         string   `json:"rule"`
	Capabilities []string `json:"capabilities,omitempty"`
	Origin       string   `json:"origin"`
	// Declared is the rule as it was written, if less is enforced; Why and Remedy say why, and what to do.
	Declared string `json:"declared,omitempty"`
	Why      string `json:"why,omitempty"`
	Remedy   string `json:"remedy,omitempty"`
}

// accessOf is the access in a call whose arguments name no path.
func (a *app) accessOf(cfg *config.Config, t *config.Tool) *accessOf {
	o := &accessOf{Tier: fit.TierNone, Rules: []ruleOf{}}
	f, err := a.effective(cfg, t)
	if err != nil {
		o.Error = err.Error()
		return o
	}
	h, tier, err := f.fitted()
	if err != nil {
		o.Error = err.Error()
		return o
	}
	o.Tier, o.Refused = tier, h.Refused
	declared := f.declared
	access := cmp.Or(h.Access, declared.Access)
	for _, r := range declared.Rules {
		one := ruleOf{Type: r.Type, Name: r.Name, Rule: r.Text, Origin: r.Origin}
		if r.Type == "fs" && r.Index < len(access.FS) {
			w := &access.FS[r.Index]
			one.Rule, one.Capabilities = fit.FsText(w), w.Caps().Names()
			if stated := fit.FsRule(w.Path, r.Stated); w.Caps() != r.Stated && (w.Caps() != r.Caps || r.Origin != policy.BuiltIn) {
				stated.External = w.External
				one.Declared, one.Why = fit.FsText(&stated), r.Note
				if h.Less != nil && w.Caps() != r.Caps {
					one.Why, one.Remedy = h.Less(r.Index)
				}
			}
		}
		o.Rules = append(o.Rules, one)
	}
	if access == nil {
		return o
	}
	for i := len(declared.Access.FS); i < len(access.FS); i++ {
		w := &access.FS[i]
		o.Rules = append(o.Rules, ruleOf{
			Type: "fs", Name: w.Path, Rule: fit.FsText(w), Capabilities: w.Caps().Names(), Origin: w.Origin,
			Why: "it stands in for a rule above it, which could not be enforced as a whole",
		})
	}
	return o
}

// maxShort bounds the places in one line.
const maxShort = 6

// restricts reports whether any rule is about files.
func (o *accessOf) restricts() bool {
	return slices.ContainsFunc(o.Rules, func(r ruleOf) bool { return r.Type == "fs" })
}

// short is the access to files in one line.
func (o *accessOf) short() string {
	switch {
	case o.Error != "":
		why, _, _ := strings.Cut(o.Error, "\n")
		return "access: not known: " + why
	case o.Refused != "":
		return "access: " + o.Refused
	case !o.restricts():
		return "access: all of the workspace"
	}
	var list []string
	for _, r := range o.Rules {
		if r.Type == "fs" && r.Origin != policy.SelfProtection {
			list = append(list, fmt.Sprintf("%s (%s)", jptool.Quote(r.Name), cmp.Or(strings.Join(r.Capabilities, ", "), "nothing")))
		}
	}
	if more := len(list) - maxShort; more > 0 {
		list = append(list[:maxShort], fmt.Sprintf("and %d more", more))
	}
	return "access: " + strings.Join(list, ", ")
}

// print prints the rules that somebody wrote, and the default for files.
func (o *accessOf) print(a *app) {
	if o.Error != "" {
		a.Out.Printf("\naccess: not known\n  %s\n", show.Indented(o.Error, "  "))
		return
	}
	by := "enforced by the operating system: " + string(o.Tier)
	if o.Tier == fit.TierNone {
		by = "enforced by the tool's own checks only"
	}
	a.Out.Printf("\naccess (%s):\n", by)
	if o.Refused != "" {
		a.Out.Printf("  %s\n", show.Line(o.Refused))
	}
	if !o.restricts() {
		a.Out.Printf("  all of the workspace\n")
	}
	for _, r := range o.Rules {
		if r.Origin == policy.SelfProtection || r.Origin == policy.BuiltIn && r.Type != "fs" {
			continue
		}
		kind := r.Type
		if kind == "command" {
			kind += " " + r.Name
		}
		a.Out.Printf("  %s %s   (%s)\n", show.Line(kind), show.Line(r.Rule), show.Line(r.Origin))
		if r.Declared != "" {
			a.Out.Printf("    declared %s\n", show.Line(r.Declared))
		}
		if r.Why != "" {
			a.Out.Printf("    %s\n", show.Line(r.Why))
		}
		if r.Remedy != "" {
			a.Out.Printf("    %s\n", show.Indented(r.Remedy, "    "))
		}
	}
	a.Out.Printf("  all of it, with the defaults: jphost policy NAME; why a path is allowed or not: jphost explain NAME CAPABILITY PATH\n")
}
