package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/trust"
)

type trustShowCmd struct{}

// trustState is what waits to be accepted, and what was accepted.
type trustState struct {
	Trusted bool   `json:"trusted"`
	Digest  string `json:"digest,omitempty"`
	// Settings are those that widen access; Difference compares them with those accepted last.
	Settings   []consent.Setting `json:"settings"`
	Difference string            `json:"difference,omitempty"`
	question   term.BoolQuestion
	// full is Difference with the differences of scripts.
	full       string
	Holds      []consent.Hold `json:"holds"`
	HoldsError string         `json:"holds_error,omitempty"`
	// Broken says why the settings cannot be read. Then only Holds are known.
	Broken string `json:"broken,omitempty"`
	broken error
}

func (a *app) trustState() (*trustState, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	s := &trustState{Settings: []consent.Setting{}, Holds: []consent.Hold{}}
	cfg, err := a.config()
	if exit.Of(err) == exit.Usage {
		s.broken, s.Broken = err, err.Error() // a held change may be the reason
	} else if err != nil {
		return nil, err
	} else if widening, err := trust.Widening(a.Ctx, cfg, p.root); err != nil {
		return nil, err
	} else if len(widening) > 0 {
		s.Settings, s.Digest = widening, consent.Digest(widening)
	}
	trusted, d, err := p.trust(a).Check(a.Ctx, s.Settings)
	if err != nil {
		return nil, exit.With(exit.Host, err)
	}
	s.Trusted, s.Difference, s.full, s.question = trusted, d.String(), d.Full(), d.Question()
	held := consent.OpenHolds(p.dir)
	if err := call.SettleHolds(a.Ctx, held, p.root); err != nil {
		return nil, exit.With(exit.Host, err)
	}
	holds, err := held.List()
	if err != nil {
		s.HoldsError = err.Error()
	}
	s.Holds = append(s.Holds, holds...)
	return s, nil
}

func (c *trustShowCmd) Run(a *app, s *trustState) error {
	switch {
	case a.Out.JSON:
		return errors.Join(s.broken, a.Out.Value(s))
	case s.broken != nil:
	case len(s.Settings) == 0:
		a.Out.Printf("the settings of this workspace widen nothing\n")
	case s.Trusted:
		a.Out.Printf("these settings of this workspace widen access, and were accepted:\n%s", consent.Diff(nil, s.Settings).Full())
	default:
		a.Out.Printf("these settings of this workspace widen access, and were not accepted:\n%saccept them with: jphost trust accept\n", s.full)
	}
	a.Out.Printf("%s", s.heldChanges())
	return s.broken
}

// heldChanges lists the changes that hold back writing calls, a line each.
func (s *trustState) heldChanges() string {
	text := ""
	for _, h := range s.Holds {
		text += fmt.Sprintf("held: %s: %s\n", show.Visible(h.Path), show.Visible(h.Reason))
	}
	if s.HoldsError != "" {
		text += show.Text(s.HoldsError) + "\n"
	}
	return text
}

type trustAcceptCmd struct {
	Yes    bool   `help:"Ask nothing."`
	Digest string `placeholder:"DIGEST" help:"Accept only settings with this digest (jphost trust show --json); then nothing is asked. Calls that are held back stay so without --yes."`
}

func (c *trustAcceptCmd) Run(a *app, p *place, s *trustState) error {
	// It says whether anything was accepted or released, and whether writing calls are still held back.
	result := func(accepted, held bool, line string) error {
		return a.Out.Result(map[string]bool{"accepted": accepted, "held": held}, line)
	}
	held := len(s.Holds) > 0 || s.HoldsError != ""
	switch {
	case s.broken != nil && !held:
		return s.broken
	case s.Trusted && !held:
		return result(false, false, "there is nothing to accept")
	case c.Digest != "" && c.Digest != s.Digest:
		return exit.Errorf(exit.Refused, "the settings have another digest: %s\nlook at them again with: jphost trust show", s.Digest)
	case c.Digest == "" && !c.Yes:
		if err := a.acceptQuestion(s, held); err != nil {
			return err
		}
	}
	if !s.Trusted {
		if err := p.trust(a).Accept(a.Ctx, s.Settings); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if held && c.Digest != "" && !c.Yes {
		return result(!s.Trusted, true, "the settings are accepted; changes that wait to be looked at still hold writing calls: jphost trust accept --yes")
	}
	if held {
		if _, err := consent.OpenHolds(p.dir).Accept(a.Ctx); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if s.broken != nil {
		return s.broken
	}
	return result(true, false, "accepted")
}

func (a *app) acceptQuestion(s *trustState, held bool) error {
	q, how := term.BoolQuestion{Prompt: "Let writing calls go on?", Default: term.No()}, "--yes"
	if !s.Trusted {
		q, how = s.question, "--digest "+s.Digest
		if !q.Whole() && term.Absent(a.ask()) == nil {
			return exit.Errorf(exit.Refused, "the settings are too many to be shown in a question\nlook at them with: jphost trust show\nand then: jphost trust accept %s", how)
		}
		if held {
			q.Prompt = strings.TrimSuffix(q.Prompt, "?") + ", and let writing calls go on?"
			how += " --yes"
		}
	}
	q.Then = append(q.Then, term.Message{Body: s.heldChanges()})
	answer, err := a.ask().Bool(a.Ctx, q)
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		return exit.Errorf(exit.Refused, "%w\nlook at it with: jphost trust show\nand then: jphost trust accept %s", err, how)
	case err != nil:
		return exit.With(exit.Refused, err)
	case !answer.Yes:
		return exit.Errorf(exit.Refused, "not accepted")
	}
	return nil
}

type trustRevokeCmd struct{}

func (c *trustRevokeCmd) Run(a *app, p *place) error {
	revoked, err := p.trust(a).Revoke(a.Ctx)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	text := "there is nothing to revoke"
	if revoked {
		text = "revoked; settings of this workspace that widen access are asked for again"
	}
	return a.Out.Result(map[string]bool{"revoked": revoked}, text)
}

type sessionListCmd struct{}

// memory is what this session remembers.
func (a *app) memory() (*consent.Memory, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	id, err := state.SessionID(a.Getenv)
	return consent.OpenMemory(p.dir, id), exit.With(exit.Usage, err)
}

func (c *sessionListCmd) Run(a *app, m *consent.Memory) error {
	found, err := m.List()
	if err != nil {
		return exit.With(exit.Host, err)
	}
	none := "nothing is remembered in this session"
	if !m.Remembers() {
		none = "there is no session, so nothing is remembered\nset JPHOST_SESSION to have one"
	}
	return list(a.Out, found, none, func(r consent.Remembered) {
		what := r.On
		if r.Question != "" {
			what += " " + show.Visible(r.Question)
		}
		a.Out.Printf("%s  %s: %s  (%s)\n", show.Visible(r.Tool), what, cond(r.Yes, "yes", "no"), r.At.Local().Format("2006-01-02 15:04"))
	})
}

type sessionForgetCmd struct {
	Tool string `arg:"" optional:"" help:"Only the answers for this tool."`
}

func (c *sessionForgetCmd) Run(a *app, m *consent.Memory) error {
	n, err := m.Forget(a.Ctx, c.Tool)
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
	return a.Out.Result(map[string]int{"forgotten": n}, fmt.Sprintf("forgot %d answer%s", n, cond(n == 1, "", "s")))
}
