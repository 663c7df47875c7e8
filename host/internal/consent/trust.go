package consent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
)

// maxAccepted is how many accepted lists a workspace keeps: enough to go back and
// forth between branches, and to accept tools one by one, without being asked again.
const maxAccepted = 64

// Trust remembers which widening settings of a workspace's own config a person accepted.
type Trust struct{ f file[Accepted] }

// OpenTrust returns the trust store in dir.
func OpenTrust(dir *state.Dir, warn func(string)) *Trust {
	t := &Trust{file[Accepted]{dir: dir, name: "trust.json", key: "accepted"}}
	t.f.mend = t.f.setAside(warn)
	return t
}

// Accepted is one list of settings that was accepted.
type Accepted struct {
	Digest     string    `json:"digest"`
	AcceptedAt time.Time `json:"accepted_at"`
	Settings   []Setting `json:"settings"`
}

// UnmarshalJSON refuses a list whose digest is another: the list is what a person sees as
// accepted, the digest what counts.
func (a *Accepted) UnmarshalJSON(data []byte) error {
	type plain Accepted
	if err := json.Unmarshal(data, (*plain)(a)); err != nil {
		return err
	}
	if a.Digest != Digest(a.Settings) {
		return errors.New("the digest does not fit the settings")
	}
	return nil
}

// Check reports whether exactly these settings were accepted, and otherwise how they differ
// from what was accepted last. No settings need no trust. The settings of each tool are
// compared by themselves, beside those that concern all tools: if those of one tool change,
// the other tools stay trusted.
func (t *Trust) Check(ctx context.Context, now []Setting) (trusted bool, d Difference, err error) {
	if len(now) == 0 {
		return true, Difference{}, nil
	}
	known, err := t.f.load(ctx) // oldest first
	if err != nil {
		return false, Diff(nil, now), err
	}
	mine := group(now, Setting.tool)
	var was []Setting
	trusted = true
	lists := make([]map[string][]Setting, len(known))
	for i, a := range known {
		lists[i] = group(a.Settings, Setting.tool)
	}
	all := Digest(mine[""])
	sameForAll := make([]bool, len(lists))
	for i, list := range lists {
		sameForAll[i] = Digest(list[""]) == all
	}
	for tool, settings := range mine {
		digest, accepted := Digest(settings), false
		var last []Setting
		for i, list := range lists {
			if len(list[tool]) > 0 {
				last = list[tool]
			}
			if sameForAll[i] && Digest(list[tool]) == digest {
				accepted, last = true, list[tool]
				break
			}
		}
		trusted = trusted && accepted
		was = append(was, last...)
	}
	if trusted {
		return true, Difference{}, nil
	}
	if d = Diff(was, now); d.String() == "" { // each was accepted, but not beside what now is for all
		d = Diff(nil, now)
	}
	return false, d, nil
}

// Concerning are the settings that one tool goes by: its own, and those that concern all of them.
func Concerning(list []Setting, tool string) []Setting {
	return slices.DeleteFunc(slices.Clone(list), func(s Setting) bool {
		concerns := s.tool()
		return concerns != "" && concerns != tool
	})
}

// tool is the one that a setting concerns; "" stands for all of them.
func (s Setting) tool() string {
	parts, err := settings.SplitKey(s.Key)
	if err != nil || len(parts) < 4 || parts[0] != "conversation" || parts[1] != "tools" || parts[2] == "*" {
		return ""
	}
	return parts[2]
}

// Accept remembers exactly these settings: those that were shown, not what the files
// hold by now.
func (t *Trust) Accept(ctx context.Context, shown []Setting) error {
	a := Accepted{Digest: Digest(shown), AcceptedAt: t.f.dir.Now().UTC().Truncate(time.Second), Settings: sorted(shown)}
	return t.f.update(ctx, func(list []Accepted) ([]Accepted, bool) {
		list = append(slices.DeleteFunc(list, func(o Accepted) bool { return o.Digest == a.Digest }), a)
		return list[max(0, len(list)-maxAccepted):], true
	})
}

// Revoke forgets everything that was accepted in this workspace, and reports whether there
// was anything.
func (t *Trust) Revoke(ctx context.Context) (bool, error) {
	revoked, err := t.f.remove(ctx, func(Accepted) bool { return true })
	return len(revoked) > 0, err
}

// ErrNotTrusted: the repository's own config asks for more than was accepted.
var ErrNotTrusted = errors.New("this workspace's own config widens access and was not accepted")

// tooMuch is what to do where a question could not show everything.
const tooMuch = "look at all of it with: jphost trust show\nand accept it with: jphost trust accept --digest DIGEST"

// Require checks the settings, asks for them as a difference when they are new, and
// remembers a yes. Anything else is an error: ErrNotTrusted with the difference and what to
// do, or what went wrong.
func (t *Trust) Require(ctx context.Context, p term.Prompter, now []Setting) error {
	trusted, d, err := t.Check(ctx, now)
	if trusted || err != nil {
		return err
	}
	q := d.Question()
	if !q.Whole() && term.Absent(p) == nil {
		return fmt.Errorf("%w: that is too much to be shown in a question\n%s", ErrNotTrusted, tooMuch)
	}
	answer, err := p.Bool(ctx, q)
	if err != nil && !errors.Is(err, term.ErrNoTerminal) {
		return err
	}
	if err == nil && !answer.Yes {
		return fmt.Errorf("%w: declined\nto look at it again: jphost trust show", ErrNotTrusted)
	}
	if err != nil {
		return fmt.Errorf("%w:\n%slook at them and run: jphost trust accept", ErrNotTrusted, d.String())
	}
	return t.Accept(ctx, now)
}
