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
	mounts, err := p.approvals(a).List(a.ctx)
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
	if len(rows) == 0 && !a.out.json {
		a.out.note("nothing is approved in this workspace")
	}
	external, err := a.external()
	if err != nil {
		a.out.warn(fmt.Sprintf("the external paths that rules name are not known: %v", err))
	}
	for _, m := range external {
		if m.State == "unapproved" || m.State == "retargeted" || m.State == "broken" {
			rows = append(rows, approved{RulePath: m.Path, CanonicalTarget: m.Target, State: m.State})
		}
	}
	return list(a.out, rows, "", func(m approved) {
		note := m.ApprovedAt
		switch {
		case m.State == "broken":
			a.out.printf("%s leads nowhere\n", show.Visible(m.RulePath))
			return
		case m.State != "":
			note = m.State + "; approve it with: jphost approvals approve " + show.Word(m.RulePath)
		case len(m.Unknown) > 0:
			note = "approves nothing: it has keys that this version does not know"
		}
		a.out.printf("%s → %s  %s\n", show.Visible(m.RulePath), show.Visible(m.CanonicalTarget), note)
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
		_, err = store.Record(a.ctx, b)
		return c.done(a, b, exit.With(exit.Host, err))
	}
	res, err := store.Resolve(a.ctx, a.ask(), consent.Request{Binding: b, Grants: a.grants(req.Rules, entry), Caution: req.Caution(target)})
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
	return a.out.result(approved{RulePath: b.RulePath, CanonicalTarget: b.Target},
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
	removed, err := p.approvals(a).Revoke(a.ctx, c.Names...)
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
	return list(a.out, rows, "", func(m approved) {
		a.out.printf("revoked %s → %s\n", show.Visible(m.RulePath), show.Visible(m.CanonicalTarget))
	})
}
