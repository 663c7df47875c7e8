package cli

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/grants"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/show"
)

type sandboxPresetsCmd struct {
	Names []string `arg:"" optional:"" name:"name" help:"Describe these, with :net as they are with a network. Default: list all."`
}

// describedPreset is a preset as JSON output has it.
type describedPreset struct {
	Name     string   `json:"name"`
	Summary  string   `json:"summary"`
	Example  string   `json:"example"`
	Programs []string `json:"programs"`
	// Places are those that were found on this machine.
	Places []*preset.Place `json:"places"`
	// Env are the variables that are handed down, Set those that the program gets where the person has none, and Names those
	// that name places to it, as NAME=VALUE.
	Env   []string          `json:"env"`
	Set   map[string]string `json:"set,omitempty"`
	Names []string          `json:"names,omitempty"`
	// Net is what the preset may reach if it is named with :net; Network says that it was.
	Net     any              `json:"net"`
	Network bool             `json:"network"`
	System  bool             `json:"system,omitempty"`
	LeftOut []preset.LeftOut `json:"left_out"`
	Trusts  []preset.Trust   `json:"trusts"`
	Notes   []string         `json:"notes,omitempty"`
}

func (c *sandboxPresetsCmd) Run(a *app) error {
	choices, err := preset.Parse(c.Names)
	if err != nil {
		return exit.With(exit.Usage, err)
	}
	if len(choices) == 0 {
		for _, p := range preset.All() {
			choices = append(choices, preset.Choice{Preset: p})
		}
	}
	root := ""
	if a.Workspace != "" {
		root, err = a.Placed("-C", a.Workspace)
	} else {
		root, err = grants.WorkingDirectory()
	}
	if err != nil {
		return err
	}
	var list []*describedPreset
	for _, choice := range choices {
		r := preset.Request{Workspace: filepath.ToSlash(root), Environ: a.Environ, Own: a.Own(), TempDir: a.TempBase()}
		found, err := preset.Find(a.Ctx, []preset.Choice{choice}, r)
		if err != nil {
			return exit.With(exit.Host, err)
		}
		left := []preset.LeftOut{}
		for _, l := range choice.LeftOut {
			left = append(left, preset.LeftOut{What: l.What, Why: found.Fill(l.Why)})
		}
		list = append(list, &describedPreset{
			Name: choice.Name, Summary: choice.Summary, Example: choice.Example, Programs: choice.Programs,
			Places: append([]*preset.Place{}, found.Places...), Env: choice.Env, Set: choice.Set, Net: choice.Net, Network: choice.Network,
			System: choice.System, LeftOut: left, Trusts: append([]preset.Trust{}, choice.Trusts...),
			Notes: found.Notes, Names: found.Sets(),
		})
	}
	switch {
	case a.Out.JSON:
		return a.Out.Value(list)
	case len(c.Names) == 0:
		for _, d := range list {
			d.brief(a)
		}
		a.Out.Printf("\nmore on one: jphost sandbox presets NAME\n")
		return nil
	}
	for i, d := range list {
		if i > 0 {
			a.Out.Printf("\n")
		}
		d.print(a, choices[i])
	}
	return nil
}

// brief prints a preset on a few lines.
func (d *describedPreset) brief(a *app) {
	a.Out.Heading(d.Name)
	a.Out.Paragraph("  ", d.Summary)
	byAccess := map[string][]string{}
	for _, p := range d.Places {
		what := cmp.Or(p.Doing(), "does not grant")
		byAccess[what] = append(byAccess[what], d.shown(a, p.Path))
	}
	for _, what := range []string{"reads", "writes", "writes, made at the start", "with " + d.Name + preset.NetSuffix + " writes", "does not grant"} {
		if list := byAccess[what]; len(list) > 0 {
			a.Out.Paragraph("  ", what+" "+strings.Join(slices.Compact(list), ", "))
		}
	}
}

// shown is a path for people.
func (d *describedPreset) shown(a *app, path string) string {
	return show.Visible(show.Home(path, a.Getenv("HOME")))
}

// print prints all of a preset.
func (d *describedPreset) print(a *app, choice preset.Choice) {
	a.Out.Entry(choice.Word() + ": " + d.Summary)
	a.Out.Printf("\n    %s\n", d.Example)
	a.Out.Heading("Places on this machine")
	var rows [][]string
	for _, p := range d.Places {
		doing := cmp.Or(p.Doing(), "not granted")
		how := "found by " + p.By
		switch {
		case p.Access == "write":
			how = p.By
		case p.By == preset.Usual:
			how = "in " + p.By
		}
		rows = append(rows, []string{show.Line(p.Name), d.shown(a, p.Path), doing, show.Line(p.What + ", " + how)})
	}
	a.Out.Table("  ", rows)
	if len(rows) == 0 {
		a.Out.Printf("  none was found\n")
	}
	for _, p := range d.Places {
		if p.Refused != "" {
			a.Out.Printf("  %s is not granted: %s\n", show.Line(p.Name), show.Line(p.Refused))
			if p.Remedy != "" {
				a.Out.Printf("    %s\n", show.Line(p.Remedy))
			}
		}
	}
	if d.System {
		a.Out.Printf("  and what every program that is not static gets: /usr, /lib, certificates, …\n")
	}
	a.Out.Heading("Variables that are handed down")
	a.Out.Paragraph("  ", strings.Join(d.Env, ", "))
	for _, name := range slices.Sorted(maps.Keys(d.Set)) {
		a.Out.Printf("  %s=%s, unless you have it\n", name, show.Line(d.Set[name]))
	}
	for _, set := range d.Names {
		a.Out.Printf("  %s\n", show.Line(set))
	}
	a.Out.Heading("Network, only as " + d.Name + preset.NetSuffix)
	a.Out.Paragraph("  ", choice.Reaches())
	a.Out.Heading("Left out")
	for _, l := range d.LeftOut {
		a.Out.Paragraph("  ", l.What)
		a.Out.Paragraph("    ", l.Why)
	}
	if len(d.Trusts) > 0 {
		a.Out.Heading("What you trust")
	}
	for _, t := range d.Trusts {
		a.Out.Paragraph("  ", t.What)
		a.Out.Paragraph("    ", t.Instead)
	}
	for _, note := range d.Notes {
		a.Out.Warn(note)
	}
}
