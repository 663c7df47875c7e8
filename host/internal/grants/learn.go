package grants

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/learn"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool/wspath"
)

// Learn is `sandbox learn`: it runs a program until it is known what the program needs.
type Learn struct {
	Flags
	Runs int  `default:"5" placeholder:"N" help:"Run the program at most N times (1 to 20)."`
	Yes  bool `short:"y" help:"Give the next run what the last one was refused, without asking."`
	All  bool `help:"Go on after a run that succeeded, until nothing new is refused, and propose all of it."`
}

// Learned is what was found out.
type Learned struct {
	Program []string `json:"program"`
	// Runs is how often the program was run, Works that the last run ended with 0, and Exit its status.
	Runs  int  `json:"runs"`
	Works bool `json:"works"`
	Exit  int  `json:"exit"`
	// Untried: the proposal has more than the last run got.
	Untried bool `json:"untried"`
	learn.Proposal
	// Command is one command line, in words; CommandLine the same for a shell, and Configuration for a file.
	Command       []string `json:"command"`
	CommandLine   string   `json:"command_line"`
	Configuration string   `json:"configuration"`
	// Left is what the last run was refused without need.
	Left []learn.Refused `json:"left"`
}

// check refuses what cannot be learned.
func (l *Learn) check() error {
	switch {
	case l.Policy != "":
		return exit.Errorf(exit.Usage, "sandbox learn proposes flags, and a policy goes without them\nleave out --policy")
	case l.Runs < 1 || l.Runs > 20:
		return exit.Errorf(exit.Usage, "--runs %d: a program is run 1 to 20 times\nwrite a number between them", l.Runs)
	}
	return nil
}

// with returns the flags with a proposal added. A grant of a path ends the default for the workspace, which is then
// written down.
func (g *Flags) with(p learn.Proposal, root string) Flags {
	f := *g
	f.Preset = slices.Concat(g.Preset, p.Presets)
	f.RO, f.RW, f.Grant = slices.Clone(g.RO), slices.Clone(g.RW), slices.Clone(g.Grant)
	if len(p.Grants) > 0 && !f.narrows() {
		f.RW = append(f.RW, ".")
	}
	for _, n := range p.Grants {
		path := filepath.FromSlash(n.Path)
		if rel, in := wspath.WithinAbs(filepath.ToSlash(root), n.Path); in {
			if path = filepath.FromSlash(rel); path == "" {
				path = "."
			}
		}
		if n.Writes {
			f.RW = append(f.RW, path)
			f.RO = slices.DeleteFunc(f.RO, func(o string) bool { return o == path })
		} else {
			f.RO = append(f.RO, path)
		}
	}
	return f
}

// words are the flags as a command line.
func (g *Flags) words(workspace string) (words []string) {
	add := func(flag string, values ...string) {
		for _, v := range values {
			words = append(words, flag, v)
		}
	}
	if workspace != "" {
		add("-C", workspace)
	}
	if len(g.Preset) > 0 {
		add("--preset", strings.Join(g.Preset, ","))
	}
	add("--ro", g.RO...)
	add("--rw", g.RW...)
	add("--grant", g.Grant...)
	add("--deny", g.Deny...)
	add("--env", g.Env...)
	if g.Net {
		words = append(words, "--net")
	}
	add("--limit", g.Limit...)
	if g.Root != "" && workspace == "" {
		add("--root", g.Root)
	}
	if g.Tier != "" && g.Tier != "auto" {
		add("--tier", g.Tier)
	}
	if g.Required {
		words = append(words, "--required")
	}
	return words
}

// print prints what was found out for people.
func (l *Learned) print(p *Process, configFile string) {
	out := p.Out
	line := strings.Join(quotedWords(l.Program), " ")
	times := map[bool]string{true: "once", false: fmt.Sprintf("%d times", l.Runs)}[l.Runs == 1]
	ended := fmt.Sprintf("the last run ended with %d", l.Exit)
	if l.Works {
		ended = "the last run succeeded"
	}
	out.Entry(fmt.Sprintf("Ran %s: %s; %s.", times, line, ended))
	out.Printf("Each run could change what it may write, and nothing was undone.\n")
	if len(l.Presets)+len(l.Grants) > 0 {
		out.Heading(map[bool]string{true: "What it needs", false: "What it needs, as far as it came"}[l.Works])
	}
	out.Printf("%s", l.needs())
	l.refused(p, "Refused and not proposed", l.Never)
	l.refused(p, "Refused, and the run succeeded without", l.Left)
	switch {
	case l.Works:
	case l.Untried:
		out.Printf("\nNo run has tried all of this yet.\n")
	case len(l.Never) == 0:
		out.Printf("\nWhat it lacks is nothing that can be observed: it may need a network (--net, or a preset with :net), a variable\n(--env NAME), or fail for a reason of its own.\n")
	default:
		out.Printf("\nIt may need a network (--net, or a preset with :net), a variable (--env NAME), or what was not proposed.\n")
	}
	out.Heading("As a command")
	out.Printf("  %s\n", show.Text(l.CommandLine))
	out.Heading("As a tool of your own configuration, " + show.Visible(configFile))
	for text := range strings.Lines(l.Configuration) {
		out.Printf("  %s", show.Text(text))
	}
}

// needs is what is proposed, for people.
func (l *Learned) needs() string {
	var b strings.Builder
	for _, name := range l.Presets {
		fmt.Fprintf(&b, "  preset %s\n", name)
	}
	for _, g := range l.Grants {
		doing := map[bool]string{true: "write", false: "read"}[g.Writes]
		fmt.Fprintf(&b, "  %s %s, because of %s\n", doing, show.Visible(g.Path), visible(g.For))
	}
	return b.String()
}

// agreed asks a person whether the next run gets what is proposed. The program chose what it was refused, so nobody
// gives it that unseen. Where nobody can be asked, it is not given.
func (l *Learn) agreed(p *Process, found *Learned, ask func() term.Prompter) (bool, error) {
	if l.Yes {
		return true, nil
	}
	program := show.Name(filepath.Base(found.Program[0]))
	answer, err := ask().Bool(p.Ctx, term.BoolQuestion{
		Message: term.Message{Body: "To go on, the next run gets:\n" + found.needs()},
		Prompt:  "Give this to " + program + " and run it again?", Default: term.No(),
	})
	switch {
	case errors.Is(err, term.ErrNoTerminal), errors.Is(err, term.ErrNoInput):
		p.Out.Note("what was refused is not given to another run, because there is nobody to ask\nto do that without asking: --yes")
		return false, nil
	case errors.Is(err, term.ErrCancelled):
		return false, nil
	}
	return answer.Yes, exit.With(exit.Host, err)
}

func (l *Learned) refused(p *Process, heading string, list []learn.Refused) {
	if len(list) == 0 {
		return
	}
	p.Out.Heading(heading)
	for _, r := range list {
		line := fmt.Sprintf("  %s %s", r.Operation, show.Visible(r.Path))
		if r.Why != "" {
			line += ": " + r.Why
		}
		p.Out.Entry(line)
	}
}

func visible(paths []string) string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = show.Visible(p)
	}
	return strings.Join(list, ", ")
}

func quotedWords(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = show.Word(w)
	}
	return list
}

// configFile is the user's own configuration.
func (p *Process) configFile() string { return config.UserGlobalPath(p.housed().Environ) }
