package call

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

// beforehand asks about places of secrets that rules only cover, where Landlock alone has to withhold them. It does that
// by granting the entries around them one by one, so that nothing can be listed, created or removed in the directories
// above, and most programs fail. Without a yes they are withheld in this way.
func (k *call) beforehand(ctx context.Context) error {
	if k.builtIn() || k.Config.Sandbox().Mode == "off" {
		return nil // the built-in tools ask when they use one
	}
	places, err := k.costly(ctx)
	if err != nil || len(places) == 0 {
		return err
	}
	where := consent.Remembered{Tool: k.Tool.Name, On: OnSensitive, Question: "beforehand", Scope: scope(slices.Concat([]string{k.report.Policy.Digest, k.program()}, places)...)}
	old, known := k.recall(where)
	if !known {
		const text = "Places of secrets are withheld. On this machine the directories around them can then not be\n" +
			"listed, and nothing can be created or removed there (jphost doctor says why).\n"
		prompt := "Let " + show.Name(k.Tool.Name) + " use these places"
		if k.Memory.Remembers() {
			prompt += ", for the rest of this session"
		}
		q := term.BoolQuestion{
			Message: term.Message{Body: text, Quoted: strings.Join(places, "\n") + "\n"}, Prompt: prompt + "?", Default: term.No(),
		}
		answer, err := term.BoolAnswer{}, term.ErrNoTerminal
		if q.Whole() { // else a yes would be for places that nobody has seen
			answer, err = k.Prompter.Bool(ctx, q)
		}
		switch {
		case errors.Is(err, term.ErrNoTerminal), errors.Is(err, term.ErrNoInput):
			names := show.Visible(strings.Join(places[:min(len(places), mostPlaces)], ", "))
			if more := len(places) - mostPlaces; more > 0 {
				names += fmt.Sprintf(" and %d more", more)
			}
			k.warnOnce(ctx, text+"They are: "+names+"\nto allow it: --allow-sensitive, or name them in access.fs of the tool")
			return nil
		case err != nil:
			return k.notRun(ReasonSensitive, err)
		}
		k.answered(OnSensitive, "", ByPerson)
		k.remember(ctx, where, answer.Yes)
		old.Yes = answer.Yes
	}
	if !old.Yes {
		return nil
	}
	list, err := k.policy.Touches(places, jptool.AllCaps, true)
	if err != nil {
		return err
	}
	if k.places == nil {
		k.places = map[string]jptool.Caps{}
	}
	for _, s := range list {
		k.places[s.Path] = s.Covered
	}
	return k.compile(ctx, k.Prompter)
}

// mostPlaces is how many places a warning names.
const mostPlaces = 5

// costly are the places of secrets in the workspace that Landlock alone withholds.
func (k *call) costly(ctx context.Context) (places []string, err error) {
	cmd, err := k.command(ctx, false)
	if err != nil {
		return nil, err
	}
	c, err := cmd.next(ctx)
	if err != nil {
		return nil, err
	}
	a, err := c.Preview()
	if refused := (*fit.RefusedError)(nil); errors.As(err, &refused) {
		return nil, nil // the start will say so
	} else if err != nil {
		return nil, err
	}
	if a.Plan.Tier != fit.TierLandlock {
		return nil, nil
	}
	for _, w := range a.Withheld {
		if w.By == "secrets" {
			places = append(places, w.Path)
		}
	}
	return places, nil
}
