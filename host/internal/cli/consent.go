package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/call"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/jptool"
)

type approvalsListCmd struct{}

type approved struct {
	RulePath        string   `json:"rule_path"`
	CanonicalTarget string   `json:"canonical_target"`
	ApprovedAt      string   `json:"approved_at,omitempty"`
	Unknown         []string `json:"unknown_keys,omitempty"`
	// State is unapproved, retargeted or broken if a rule names the path and no approval fits it, else "".
	State string `json:"state,omitempty"`
}

func (c *approvalsListCmd) Run(a *app) error {
	p, err := a.open()
	if err != nil {
		return err
	}
	mounts, err := p.approvals(a).List(a.Ctx)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	var rows []approved
	for _, m := range mounts {
		row := approved{RulePath: m.RulePath, CanonicalTarget: m.Target, Unknown: m.Unknown}
		if !m.ApprovedAt.IsZero() {
			row.ApprovedAt = m.ApprovedAt.Format(time.RFC3339)
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 && !a.Out.JSON {
		a.Out.Note("nothing is approved in this workspace")
	}
	external, err := a.external()
	if err != nil {
		a.Out.Warn(fmt.Sprintf("the external paths that rules name are not known: %v", err))
	}
	for _, m := range external {
		if m.State == "unapproved" || m.State == "retargeted" || m.State == "broken" {
			rows = append(rows, approved{RulePath: m.Path, CanonicalTarget: m.Target, State: m.State})
		}
	}
	return list(a.Out, rows, "", func(m approved) {
		note := m.ApprovedAt
		switch {
		case m.State == "broken":
			a.Out.Printf("%s leads nowhere\n", show.Visible(m.RulePath))
			return
		case m.State != "":
			note = m.State + "; approve it with: jphost approvals approve " + show.Word(m.RulePath)
		case len(m.Unknown) > 0:
			note = "approves nothing: it has keys that this version does not know"
		}
		a.Out.Printf("%s → %s  %s\n", show.Visible(m.RulePath), show.Visible(m.CanonicalTarget), note)
	})
}

type approvalsApproveCmd struct {
	Name   string `arg:"" help:"The external path, relative to the workspace."`
	Target string `placeholder:"PATH" help:"Approve only if it leads there; then nothing is asked."`
}

func (c *approvalsApproveCmd) Run(a *app) error {
	p, err := a.open()
	if err != nil {
		return err
	}
	_, req, store, err := a.mountRequest(p)
	if err != nil {
		return err
	}
	entry, target, ok := a.linked(req, c.Name)
	m := mounted{Path: entry, Target: target}
	if ok {
		m.judge(req)
	}
	switch {
	case !ok:
		return exit.Errorf(exit.Usage, "%s is no path below the workspace\nname it as the rule does", show.Visible(c.Name))
	case m.State == "broken":
		return exit.Errorf(exit.Usage, "%s leads nowhere\nmake the link first, or: jphost mount %s=PATH", show.Visible(entry), show.Word(entry))
	case m.State == "inside" && lexicalPath(req.Root, c.Name) != target:
		// A rule that leads through a link of the workspace is approved by its path as written.
		entry = strings.TrimPrefix(lexicalPath(req.Root, c.Name), strings.TrimSuffix(req.Root, "/")+"/")
	case m.State == "inside":
		return exit.Errorf(exit.Usage, "%s leads to %s, which is inside the workspace and needs no approval\nleave external out of its rule", show.Visible(entry), show.Visible(target))
	}
	b := consent.Binding{RulePath: entry, Target: target}
	if c.Target != "" {
		want, err := filepath.Abs(c.Target)
		if err == nil {
			want, err = filepath.EvalSymlinks(want)
		}
		if err != nil || filepath.ToSlash(want) != target {
			return exit.Errorf(exit.Refused, "%s leads to %s, not to %s\nnothing was approved", show.Visible(entry), show.Visible(target), show.Visible(c.Target))
		}
		_, err = store.Record(a.Ctx, b)
		return c.done(a, b, exit.With(exit.Host, err))
	}
	res, err := store.Resolve(a.Ctx, a.ask(), consent.Request{Binding: b, Grants: a.grants(req.Rules, entry), Caution: req.Caution(target)})
	switch {
	case errors.Is(err, term.ErrCancelled):
		return exit.With(exit.Refused, err)
	case err != nil:
		return exit.With(exit.Host, err)
	case !res.Approved && term.Absent(a.ask()) != nil:
		return exit.Errorf(exit.Refused, "%w\nif %s may lead to %s: jphost approvals approve %s --target %s",
			term.Absent(a.ask()), show.Visible(entry), show.Visible(target), show.Word(entry), show.Word(target))
	case !res.Approved:
		return exit.Errorf(exit.Refused, "%s", res.Reason)
	}
	return c.done(a, b, nil)
}

// lexicalPath is the absolute path of a name in the workspace before links are followed, "" if it lies outside.
func lexicalPath(root, name string) string {
	rel, err := mount.ResolveName(filepath.FromSlash(name), root, root)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(root, "/") + "/" + rel.Slash()
}

func (c *approvalsApproveCmd) done(a *app, b consent.Binding, err error) error {
	if err != nil {
		return err
	}
	return a.Out.Result(approved{RulePath: b.RulePath, CanonicalTarget: b.Target},
		fmt.Sprintf("approved %s → %s", show.Visible(b.RulePath), show.Visible(b.Target)))
}

// grants lists what each tool may do below an external path.
func (a *app) grants(rules map[string][]jptool.FsRule, path string) []consent.Grant {
	var list []consent.Grant
	for _, tool := range sortedKeys(rules) {
		for _, r := range slices.Backward(rules[tool]) {
			if r.External && r.Path == path {
				list = append(list, consent.Grant{Tool: tool, Caps: r.Caps()})
				break
			}
		}
	}
	return list
}

type approvalsRevokeCmd struct {
	Names []string `arg:"" name:"name" help:"The paths, as jphost approvals list shows them."`
}

func (c *approvalsRevokeCmd) Run(a *app) error {
	p, err := a.open()
	if err != nil {
		return err
	}
	removed, err := p.approvals(a).Revoke(a.Ctx, c.Names...)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	if len(removed) == 0 {
		return exit.Errorf(exit.Usage, "none of these is approved\nsee: jphost approvals list")
	}
	var rows []approved
	for _, m := range removed {
		rows = append(rows, approved{RulePath: m.RulePath, CanonicalTarget: m.Target})
	}
	return list(a.Out, rows, "", func(m approved) {
		a.Out.Printf("revoked %s → %s\n", show.Visible(m.RulePath), show.Visible(m.CanonicalTarget))
	})
}

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
	} else if s.Settings, err = trust.Widening(a.Ctx, cfg, p.root); err != nil {
		return nil, nil, err
	}
	if len(s.Settings) > 0 {
		s.Digest = consent.Digest(s.Settings)
	} else {
		s.Settings = []consent.Setting{}
	}
	trusted, d, err := p.trust(a).Check(a.Ctx, s.Settings)
	if err != nil {
		return nil, nil, exit.With(exit.Host, err)
	}
	s.Trusted, s.Difference, s.question = trusted, d.String(), d.Question()
	held := consent.OpenHolds(p.dir)
	if err := call.SettleHolds(a.Ctx, held, p.root); err != nil {
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
	if a.Out.JSON {
		return errors.Join(s.broken, a.Out.Value(s))
	}
	a.printTrust(s)
	return s.broken
}

func (a *app) printTrust(s *trustState) {
	switch {
	case s.broken != nil:
	case len(s.Settings) == 0:
		a.Out.Printf("the settings of this workspace widen nothing\n")
	case s.Trusted:
		a.Out.Printf("these settings of this workspace widen access, and were accepted:\n%s", consent.Diff(nil, s.Settings))
	default:
		a.Out.Printf("these settings of this workspace widen access, and were not accepted:\n%saccept them with: jphost trust accept\n", s.Difference)
	}
	a.Out.Printf("%s", s.heldChanges())
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
		return a.Out.Result(accepted{}, "there is nothing to accept")
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
		if err := p.trust(a).Accept(a.Ctx, s.Settings); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if held && c.Digest != "" && !c.Yes {
		return a.Out.Result(accepted{Accepted: !s.Trusted, Held: true}, "the settings are accepted; changes that wait to be looked at still hold writing calls: jphost trust accept --yes")
	}
	if held {
		if _, err := consent.OpenHolds(p.dir).Accept(a.Ctx); err != nil {
			return exit.With(exit.Host, err)
		}
	}
	if s.broken != nil {
		return s.broken
	}
	return a.Out.Result(accepted{Accepted: true}, "accepted")
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
	answer, err := a.ask().Bool(a.Ctx, q)
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
	revoked, err := p.trust(a).Revoke(a.Ctx)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	text := "revoked; settings of this workspace that widen access are asked for again"
	if !revoked {
		text = "there is nothing to revoke"
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

func (c *sessionForgetCmd) Run(a *app) error {
	m, err := a.memory()
	if err != nil {
		return err
	}
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
