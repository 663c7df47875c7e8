package cli

import (
	"fmt"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
)

type sessionListCmd struct{}

// memory is what this session remembers.
func (a *app) memory() (*consent.Memory, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	id, err := state.SessionID(a.getenv)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	return consent.OpenMemory(p.dir, id), nil
}

func (c *sessionListCmd) Run(a *app) error {
	m, err := a.memory()
	if err != nil {
		return err
	}
	found, err := m.List()
	if err != nil {
		return exit.With(exit.Host, err)
	}
	none := "nothing is remembered in this session"
	if !m.Remembers() {
		none = "there is no session, so nothing is remembered\nset JPHOST_SESSION to have one"
	}
	return list(a.out, found, none, func(r consent.Remembered) {
		what := r.On
		if r.Question != "" {
			what += " " + show.Visible(r.Question)
		}
		a.out.printf("%s  %s: %s  (%s)\n", show.Visible(r.Tool), what, cond(r.Yes, "yes", "no"), r.At.Local().Format("2006-01-02 15:04"))
	})
}

type sessionForgetCmd struct {
	Tool string `arg:"" optional:"" help:"Only the answers for this tool."`
}

func (c *sessionForgetCmd) Run(a *app) error {
	m, err := a.memory()
	if err != nil {
		return err
	}
	n, err := m.Forget(a.ctx, c.Tool)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	if n == 0 && c.Tool != "" {
		// Answers for a tool that was removed can be forgotten, and also if the configuration is broken. But a name
		// that nothing knows is a slip.
		if cfg, err := a.config(); err == nil {
			if _, err := a.tool(cfg, c.Tool); err != nil {
				return err
			}
		}
	}
	return a.out.result(map[string]int{"forgotten": n}, fmt.Sprintf("forgot %d answer%s", n, cond(n == 1, "", "s")))
}
