package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

type mountsCmd struct {
	Names bool `help:"Only their names, one a line, for scripts."`
}

// mounted is one mount as `jphost mounts --json` prints it.
type mounted struct {
	Path   string `json:"path"`
	Target string `json:"target"`
	// State is approved, unapproved, retargeted, inside or broken.
	State    string              `json:"state"`
	Approved string              `json:"approved_target,omitempty"`
	Tools    map[string][]string `json:"tools"`
	written  string              // Path before links are followed
}

func (c *mountsCmd) Run(a *app) error {
	mounts, err := a.external()
	if err != nil {
		return err
	}
	if c.Names {
		names := []string{}
		for _, m := range mounts {
			names = append(names, m.Path)
		}
		return a.names(names)
	}
	return list(a.Out, mounts, "there are no mounts\nmake one with: jphost mount TOOL:NAME=PATH", func(m mounted) {
		to, state := "nowhere", m.State
		if m.Target != "" {
			to = show.Visible(m.Target)
		}
		if m.State == "retargeted" {
			state += ", approved was " + show.Visible(m.Approved)
		}
		a.Out.Printf("%s → %s (%s)\n", show.Visible(m.Path), to, state)
		for _, tool := range sortedKeys(m.Tools) {
			a.Out.Printf("  %s: %s\n", show.Visible(tool), strings.Join(m.Tools[tool], ", "))
		}
	})
}

// external lists the external paths of all local tools.
func (a *app) external() ([]mounted, error) {
	_, req, _, err := a.mountRequest()
	if err != nil {
		return nil, err
	}
	found := map[string]mounted{}
	for _, tool := range sortedKeys(req.Rules) {
		for _, r := range req.Rules[tool] {
			if !r.External || r.Caps() == 0 {
				continue
			}
			if m, ok := lookAt(req, r.Path); ok {
				if found[m.Path].Tools == nil {
					found[m.Path] = m
				}
				found[m.Path].Tools[tool] = r.Caps().Names()
			}
		}
	}
	var list []mounted
	for _, path := range sortedKeys(found) {
		list = append(list, found[path])
	}
	return list, nil
}

// lookAt finds the link that a rule path names, where it leads, and whether that is approved. ok is false if the path is
// none in the workspace.
func lookAt(req mount.Request, rulePath string) (m mounted, ok bool) {
	name, err := mount.ResolveName(filepath.FromSlash(rulePath), req.Root, req.Root)
	if err != nil {
		return m, false
	}
	m = mounted{Path: name.Slash(), State: "unapproved", Tools: map[string][]string{}, written: name.Slash()}
	look := mount.System{Root: req.Root}
	if e, err := look.Entry(name); err == nil {
		m.Path = e.Path.Slash()
	}
	if t, err := look.Target(strings.TrimSuffix(req.Root, "/") + "/" + m.Path); err == nil {
		m.Target = t.Abs
	}
	_, inside := wspath.WithinAbs(req.Root, m.Target)
	switch d := req.Approved(consent.Binding{RulePath: m.Path, Target: m.Target}); {
	case m.Target == "":
		m.State = "broken"
	case inside:
		m.State = "inside"
	case d.Verdict == consent.Approved:
		m.State = "approved"
	case d.Verdict == consent.Retargeted:
		m.State, m.Approved = "retargeted", d.Previous
	}
	return m, true
}

type approvalsListCmd struct{}

type approved struct {
	RulePath        string   `json:"rule_path"`
	CanonicalTarget string   `json:"canonical_target"`
	ApprovedAt      string   `json:"approved_at,omitempty"`
	Unknown         []string `json:"unknown_keys,omitempty"`
	// State is unapproved, retargeted or broken if a rule names the path and no approval fits it, else "".
	State string `json:"state,omitempty"`
}

func (m approved) String() string {
	return show.Visible(m.RulePath) + " → " + show.Visible(m.CanonicalTarget)
}

func (c *approvalsListCmd) Run(a *app, p *place) error {
	approvals, err := p.approvals(a).List(a.Ctx)
	if err != nil {
		return exit.With(exit.Host, err)
	}
	var rows []approved
	for _, m := range approvals {
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
		if m.State != "approved" && m.State != "inside" {
			rows = append(rows, approved{RulePath: m.Path, CanonicalTarget: m.Target, State: m.State})
		}
	}
	return list(a.Out, rows, "", func(m approved) {
		switch {
		case m.State == "broken":
			a.Out.Printf("%s leads nowhere\n", show.Visible(m.RulePath))
		case m.State != "":
			a.Out.Printf("%s  %s; approve it with: jphost approvals approve %s\n", m, m.State, show.Word(m.RulePath))
		case len(m.Unknown) > 0:
			a.Out.Printf("%s  approves nothing: it has keys that this version does not know\n", m)
		default:
			a.Out.Printf("%s  %s\n", m, m.ApprovedAt)
		}
	})
}

type approvalsApproveCmd struct {
	Name   string `arg:"" help:"The external path, relative to the workspace."`
	Target string `placeholder:"PATH" help:"Approve only if it leads there; then nothing is asked."`
}

func (c *approvalsApproveCmd) Run(a *app) error {
	_, req, store, err := a.mountRequest()
	if err != nil {
		return err
	}
	m, ok := lookAt(req, c.Name)
	b := consent.Binding{RulePath: m.Path, Target: m.Target}
	path, target := show.Visible(m.Path), show.Visible(m.Target)
	switch {
	case !ok:
		return exit.Errorf(exit.Usage, "%s is no path below the workspace\nname it as the rule does", show.Visible(c.Name))
	case m.State == "broken":
		return exit.Errorf(exit.Usage, "%s leads nowhere\nmake the link first, or: jphost mount %s=PATH", path, show.Word(m.Path))
	case m.State == "inside" && strings.TrimSuffix(req.Root, "/")+"/"+m.written != m.Target:
		// A rule that leads through a link of the workspace is approved by its path as written.
		b.RulePath, path = m.written, show.Visible(m.written)
	case m.State == "inside":
		return exit.Errorf(exit.Usage, "%s leads to %s, which is inside the workspace and needs no approval\nleave external out of its rule", path, target)
	}
	if c.Target != "" {
		want, err := filepath.Abs(c.Target)
		if err == nil {
			want, err = filepath.EvalSymlinks(want)
		}
		if err != nil || filepath.ToSlash(want) != b.Target {
			return exit.Errorf(exit.Refused, "%s leads to %s, not to %s\nnothing was approved", path, target, show.Visible(c.Target))
		}
		if _, err := store.Record(a.Ctx, b); err != nil {
			return exit.With(exit.Host, err)
		}
	} else {
		res, err := store.Resolve(a.Ctx, a.ask(), consent.Request{Binding: b, Grants: grantsAt(req.Rules, b.RulePath), Caution: req.Caution(b.Target)})
		absent := term.Absent(a.ask())
		switch {
		case errors.Is(err, term.ErrCancelled):
			return exit.With(exit.Refused, err)
		case err != nil:
			return exit.With(exit.Host, err)
		case !res.Approved && absent != nil:
			return exit.Errorf(exit.Refused, "%w\nif %s may lead to %s: jphost approvals approve %s --target %s",
				absent, path, target, show.Word(b.RulePath), show.Word(b.Target))
		case !res.Approved:
			return exit.Errorf(exit.Refused, "%s", res.Reason)
		}
	}
	done := approved{RulePath: b.RulePath, CanonicalTarget: b.Target}
	return a.Out.Result(done, "approved "+done.String())
}

// grantsAt lists what each tool may do below an external path.
func grantsAt(rules map[string][]jptool.FsRule, path string) []consent.Grant {
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

func (c *approvalsRevokeCmd) Run(a *app, p *place) error {
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
	return list(a.Out, rows, "", func(m approved) { a.Out.Printf("revoked %s\n", m) })
}
