package grants

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/enforcement"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/learn"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/fit"
	"github.com/jptools/jptools/sandbox/observe"
)

// Start runs the program, observed, with more and more of what it was refused and a person agreed to, and prints what it
// needs. What the program prints goes to standard error. It has no standard input, since it is run several times. The
// error has the exit status: [exit.Refused] if the last run failed.
func (l *Learn) Start(p *Process, argv []string, ask func() term.Prompter) error {
	if err := l.check(); err != nil {
		return err
	}
	if err := enforcement.Explainable(true); err != nil {
		return err
	}
	found := &Learned{Program: argv, Left: []learn.Refused{}}
	found.Proposal = learn.Proposal{Presets: []string{}, Grants: []learn.Grant{}, Never: []learn.Refused{}}
	flags, w := l.Flags, (*learn.World)(nil)
	var seen []observe.Refusal
	for {
		found.Runs++
		p.Out.Say("jphost: ", "2", fmt.Sprintf("run %d of at most %d: %s", found.Runs, l.Runs, strings.Join(quotedWords(argv), " ")))
		cmd, m, err := l.run(p, &flags, argv)
		if err != nil {
			return err
		}
		if w == nil {
			if w, err = world(p, m, argv); err != nil {
				return err
			}
		}
		found.Exit = int(exit.Of(programStatus(cmd.State, m.limits, 0)))
		found.Works = found.Exit == 0
		now := w.Propose(cmd.Refused().Refusals)
		if found.Works && !l.All {
			found.Left, found.Never = unneeded(now), []learn.Refused{}
			break
		}
		found.Never = now.Never
		if fresh := l.fresh(now.Presets, found.Presets); len(fresh) > 0 {
			found.Presets = append(found.Presets, fresh...) // the next run shows what is refused in spite of them
		} else {
			seen = union(seen, cmd.Refused().Refusals)
			grants := w.Propose(seen).Grants
			if slices.EqualFunc(grants, found.Grants, func(a, b learn.Grant) bool { return a.Path == b.Path && a.Writes == b.Writes }) {
				break // nothing new
			}
			found.Grants = grants
		}
		flags = l.with(found.Proposal, m.root)
		found.Untried = true
		if found.Runs == l.Runs {
			p.Out.Note(fmt.Sprintf("this was run %d of at most %d: raise --runs to go on", found.Runs, l.Runs))
			break
		}
		yes, err := l.agreed(p, found, ask)
		if err != nil {
			return err
		}
		if !yes {
			break
		}
		found.Untried = false
	}
	m, err := flags.compile(p)
	if err != nil {
		return err
	}
	found.Command = slices.Concat([]string{"jphost", "sandbox", "exec"}, flags.words(p.Workspace), []string{"--"}, argv)
	found.CommandLine = strings.Join(quotedWords(found.Command), " ")
	found.Configuration = flags.configuration(m, argv)
	return found.tell(p)
}

// fresh are the presets that neither the flags nor what was found name yet.
func (l *Learn) fresh(presets, known []string) []string {
	return slices.DeleteFunc(slices.Clone(presets), func(name string) bool {
		return slices.ContainsFunc(slices.Concat(presetWords(l.Preset), known), func(o string) bool {
			return o == name || o == name+preset.NetSuffix
		})
	})
}

// union adds refusals that are not in a list yet.
func union(list, add []observe.Refusal) []observe.Refusal {
	for _, r := range add {
		if !slices.ContainsFunc(list, func(o observe.Refusal) bool {
			return o.Path == r.Path && o.Address == r.Address && o.Operation == r.Operation && o.Lacking == r.Lacking
		}) {
			list = append(list, r)
		}
	}
	return list
}

// tell prints what was found out.
func (l *Learned) tell(p *Process) error {
	if p.Out.JSON {
		if err := p.Out.Value(l); err != nil {
			return err
		}
	} else {
		l.print(p, p.configFile())
	}
	if !l.Works {
		return &exit.Error{Code: exit.Refused}
	}
	return nil
}

// unneeded is what a run that succeeded was refused.
func unneeded(p learn.Proposal) []learn.Refused {
	list := slices.Clone(p.Never)
	for _, g := range p.Grants {
		op := observe.OpRead
		if g.Writes {
			op = observe.OpWrite
		}
		for _, at := range g.For {
			list = append(list, learn.Refused{Operation: op, Path: at})
		}
	}
	return append([]learn.Refused{}, list...)
}

// run runs the program once, observed.
func (l *Learn) run(p *Process, flags *Flags, argv []string) (*sandbox.Cmd, *merged, error) {
	c := &Exec{Flags: *flags}
	m, err := c.compile(p)
	if err != nil {
		return nil, nil, err
	}
	if err := m.presets.Make(); err != nil {
		p.Out.Warn(err.Error())
	}
	cmd, err := c.command(p, m, argv)
	if err != nil {
		return nil, nil, err
	}
	cmd.Stdout, cmd.Stderr, cmd.Explain = p.Out.Stderr, p.Out.Stderr, true
	workspace := FindRoot(m.root, p.housed().Home())
	cmd.BeforeStart = func(at *sandbox.Attempt) error {
		if at.Plan.Tier == fit.TierNone {
			why := at.NotEnforced[0]
			return exit.Errorf(exit.Refused, "%s was not run: nothing can be enforced here: %s\n%s",
				show.Visible(argv[0]), why.Why, why.Remedy)
		}
		if why := at.Explainable(); why != "" {
			return exit.Errorf(exit.Refused, "what is refused cannot be observed: %s\nname what the program needs yourself: jphost sandbox exec --help", why)
		}
		for _, w := range m.declared.Warnings {
			p.Out.Warn(w.String())
		}
		return exit.With(exit.Host, p.Out.Flush())
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, c.startError(m, err)
	}
	err = cmd.Wait()
	if p.Ctx.Err() != nil {
		return nil, nil, exit.Errorf(exit.Interrupted, "interrupted")
	}
	if err := errors.Join(c.ended(err), hold(p, workspace, cmd)); err != nil {
		return nil, nil, err
	}
	return cmd, m, nil
}

// world is what the refusals of a run are compared with.
func world(p *Process, m *merged, argv []string) (*learn.World, error) {
	var all []preset.Choice
	for _, one := range preset.All() {
		all = append(all, preset.Choice{Preset: one})
	}
	found, err := preset.Find(p.Ctx, all, preset.Request{
		Workspace: filepath.ToSlash(m.root), Environ: p.Environ, Own: p.Own(), TempDir: p.TempBase(),
	})
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	return &learn.World{
		Root: filepath.ToSlash(m.root), Homes: preset.Homes(p.housed().Environ),
		Program: preset.Meant(argv[0], m.root, p.Environ), Presets: found,
		Guarded: func(r observe.Refusal) string {
			return guarded(m.declared, append(p.Own(), preset.Roots(p.Environ)...), r)
		},
	}, nil
}

// guarded says why nobody should be told to grant a path: it is the host's own, it protects the workspace, or a
// pattern withholds it.
func guarded(d *policy.Declared, own []string, r observe.Refusal) string {
	for _, dir := range own {
		if to, err := wspath.CanonicalizeAbs(dir, nil); err == nil {
			_, in := wspath.WithinAbs(to.Abs, r.Path)
			if _, holds := wspath.WithinAbs(r.Path, to.Abs); in || holds && r.Lacking&jptool.Write != 0 {
				return "it is configuration or state of jphost"
			}
		}
	}
	if why := d.Withheld(r.Path); why != "" {
		return show.Line(why)
	}
	nearest := -1
	why := ""
	for _, place := range d.Places() {
		if _, in := wspath.WithinAbs(place.Abs, r.Path); !in || len(place.Abs) < nearest {
			continue
		}
		nearest, why = len(place.Abs), ""
		if place.SelfProtection && r.Lacking&jptool.Write != 0 {
			why = "it is protected from programs, because git or jphost obeys it: name it yourself if that is right"
		}
	}
	return why
}
