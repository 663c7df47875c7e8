package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
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
	Holds      []consent.Hold `json:"holds"`
	HoldsError string         `json:"holds_error,omitempty"`
	// Broken says why the settings cannot be read. Then only Holds are known.
	Broken string `json:"broken,omitempty"`
	broken error
}

func (a *app) trustState() (*place, *trustState, error) {
	p, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	s := &trustState{Holds: []consent.Hold{}}
	cfg, err := a.config()
	if exit.Of(err) == exit.Usage {
		s.broken, s.Broken = err, err.Error() // a held change may be the reason
	} else if err != nil {
		return nil, nil, err
	} else if s.Settings, err = trust.Widening(a.ctx, cfg, p.root); err != nil {
		return nil, nil, err
	}
	if len(s.Settings) > 0 {
		s.Digest = consent.Digest(s.Settings)
	} else {
		s.Settings = []consent.Setting{}
	}
	trusted, d, err := p.trust(a).Check(a.ctx, s.Settings)
	if err != nil {
		return nil, nil, exit.With(exit.Host, err)
	}
	s.Trusted, s.Difference, s.question = trusted, d.String(), d.Question()
	held := consent.OpenHolds(p.dir)
	if err := call.SettleHolds(a.ctx, held, p.root); err != nil {
		return nil, nil, exit.With(exit.Host, err)
	}
	holds, err := held.List()
	if err != nil {
		s.HoldsError = err.Error()
	}
	s.Holds = append(s.Holds, holds...)
	return p, s, nil
}

func (c *trustShowCmd) Run(a *app) error {
	_, s, err := a.trustState()
	if err != nil {
		return err
	}
	if a.out.json {
		return errors.Join(s.broken, a.out.value(s))
	}
	a.printTrust(s)
	return s.broken
}

func (a *app) printTrust(s *trustState) {
	switch {
	case s.broken != nil:
	case len(s.Settings) == 0:
		a.out.printf("the settings of this workspace widen nothing\n")
	case s.Trusted:
		a.out.printf("these settings of this workspace widen access, and were accepted:\n%s", consent.Diff(nil, s.Settings))
	default:
		a.out.printf("these settings of this workspace widen access, and were not accepted:\n%saccept them with: jphost trust accept\n", s.Difference)
	}
	a.out.printf("%s", s.heldChanges())
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

func (c *trustAcceptCmd) Run(a *app) error {
	p, s, err := a.trustState()
	if err != nil {
		return err
	}
	held := len(s.Holds) > 0 || s.HoldsError != ""
	if s.broken != nil && !held {
		return s.broken
	}
	if s.Trusted && !held {
		return a.out.result(accepted{}, "there is nothing to accept")
	}
	switch {
	case c.Digest != "" && c.Digest != s.Digest:
		return exit.Errorf(exit.Refused, "the settings have another digest: %s\nlook at them again with: jphost trust show", s.Digest)
	case c.Digest == "" && !c.Yes:
		if err := a.acceptQuestion(s, held); err != nil {
			return err
		}
	}
	if !s.Trusted {
		if err := p.trust(a).Accept(a.ctx, s.Settings); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if held && c.Digest != "" && !c.Yes {
		return a.out.result(accepted{Accepted: !s.Trusted, Held: true}, "the settings are accepted; changes that wait to be looked at still hold writing calls: jphost trust accept --yes")
	}
	if held {
		if _, err := consent.OpenHolds(p.dir).Accept(a.ctx); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if s.broken != nil {
		return s.broken
	}
	return a.out.result(accepted{Accepted: true}, "accepted")
}

// accepted says whether anything was accepted or released, and whether writing calls are still held back.
type accepted struct {
	Accepted bool `json:"accepted"`
	Held     bool `json:"held"`
}

func (a *app) acceptQuestion(s *trustState, held bool) error {
	q := term.BoolQuestion{Prompt: "Let writing calls go on?", Default: term.No()}
	if !s.Trusted {
		q = s.question
		if !q.Whole() && term.Absent(a.ask()) == nil {
			return exit.Errorf(exit.Refused, "the settings are too many to be shown in a question\nlook at them with: jphost trust show\nand then: jphost trust accept --digest %s", s.Digest)
		}
		if held {
			q.Prompt = strings.TrimSuffix(q.Prompt, "?") + ", and let writing calls go on?"
		}
	}
	q.Then = append(q.Then, term.Message{Body: s.heldChanges()})
	answer, err := a.ask().Bool(a.ctx, q)
	switch {
	case errors.Is(err, term.ErrNoTerminal):
		how := "--yes" // for what is held back
		if !s.Trusted {
			how = "--digest " + s.Digest
			if held {
				how += " --yes"
			}
		}
		return exit.Errorf(exit.Refused, "%w\nlook at it with: jphost trust show\nand then: jphost trust accept %s", err, how)
	case err != nil:
		return exit.With(exit.Refused, err)
	case !answer.Yes:
		return exit.Errorf(exit.Refused, "not accepted")
	}
	return nil
}

type trustRevokeCmd struct{}

func (c *trustRevokeCmd) Run(a *app) error {
	p, err := a.open()
	if err != nil {
		return err
	}
	revoked, err := p.trust(a).Revoke(a.ctx)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	text := "revoked; settings of this workspace that widen access are asked for again"
	if !revoked {
		text = "there is nothing to revoke"
	}
	return a.out.result(map[string]bool{"revoked": revoked}, text)
}
