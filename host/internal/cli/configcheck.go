package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/schema"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/template"
)

type configCheckCmd struct{}

// checked is what `jphost config check --json` prints if the configuration is in order.
type checked struct {
	OK     bool `json:"ok"`
	Layers int  `json:"layers"`
	Tools  int  `json:"tools"`
	// Trusted is false while settings of the repository wait to be accepted. Until then the tools they concern do not run.
	Trusted  bool             `json:"trusted"`
	Warnings []policy.Warning `json:"warnings"`
	// User and Workspace are the places of the user's own files: for all workspaces, and for this one.
	User      string `json:"user"`
	Workspace string `json:"workspace"`
}

func (c *configCheckCmd) Run(a *app) error {
	report, err := c.check(a)
	if err != nil {
		if a.out.json && exit.Of(err) == exit.Usage {
			f := failedBy(err)
			return errors.Join(err, a.out.value(struct {
				OK bool `json:"ok"`
				failed
			}{false, f}))
		}
		return err
	}
	for _, w := range report.Warnings {
		a.out.warn(w.String())
	}
	if a.out.json {
		return a.out.value(report)
	}
	a.out.printf("the configuration is in order: %d layers, %d tools\n", report.Layers, report.Tools)
	a.out.printf("your own is read from %s,\n  and for this workspace from %s\n", show.Visible(cmp.Or(report.User, "nowhere, as HOME is not set")), show.Visible(report.Workspace))
	if !report.Trusted {
		a.noteWaiting()
	}
	return nil
}

// check compiles everything. The error lists all problems.
func (c *configCheckCmd) check(a *app) (*checked, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, err
	}
	h, err := a.host(cfg)
	if err != nil {
		return nil, err
	}
	report := &checked{
		OK: true, Tools: len(cfg.Tools()), Warnings: []policy.Warning{},
		User: config.UserGlobalPath(a.environ), Workspace: a.place.dir.File(userFile),
	}
	warn := func(list ...policy.Warning) {
		for _, w := range list {
			if !slices.Contains(report.Warnings, w) {
				report.Warnings = append(report.Warnings, w)
			}
		}
	}
	var all config.Errors
	wrong := func(at config.Origin, err error) {
		message, help, _ := strings.Cut(err.Error(), "\n")
		all = append(all, &config.Problem{Origin: at, Message: message, Help: help})
	}
	for _, t := range cfg.Tools() {
		if a.ctx.Err() != nil {
			return nil, exit.Errorf(exit.Interrupted, "interrupted")
		}
		if _, err := schema.New(t.Parameters); err != nil {
			wrong(t.Origin("parameters"), err)
		}
		if t.Source.Kind != config.SourceLocal {
			continue
		}
		if command, err := template.Compile(template.Command{Program: t.Command.Program, Args: t.Command.Args, Shell: t.Command.Shell}); err != nil {
			wrong(t.Command.Origin, err)
		} else {
			warn(checkCommand(h, t, command)...)
		}
		f, err := a.effective(cfg, t)
		if list := config.Errors(nil); errors.As(err, &list) {
			all = append(all, list...)
			continue
		} else if err != nil {
			wrong(t.Origin("access"), err)
			continue
		}
		warn(f.declared.Warnings...)
		warn(f.declared.Remarks(cfg, t)...)
		less, err := f.narrowed(report.Warnings)
		if err != nil {
			wrong(t.Origin("access"), err)
		}
		warn(less...)
	}
	if len(all) > 0 {
		return nil, exit.With(exit.Usage, all)
	}
	for _, l := range cfg.Layers() {
		if l.State == config.Loaded {
			report.Layers++
		}
	}
	report.Trusted, err = a.trusted(cfg)
	return report, err
}
