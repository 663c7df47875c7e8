package cli

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/show"
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
	return list(a.out, mounts, "there are no mounts\nmake one with: jphost mount TOOL:NAME=PATH", func(m mounted) {
		to, state := "nowhere", m.State
		if m.Target != "" {
			to = show.Visible(m.Target)
		}
		if m.State == "retargeted" {
			state += ", approved was " + show.Visible(m.Approved)
		}
		a.out.printf("%s → %s (%s)\n", show.Visible(m.Path), to, state)
		for _, tool := range sortedKeys(m.Tools) {
			a.out.printf("  %s: %s\n", show.Visible(tool), strings.Join(m.Tools[tool], ", "))
		}
	})
}

// external lists the external paths of all local tools.
func (a *app) external() ([]mounted, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	_, req, _, err := a.mountRequest(p)
	if err != nil {
		return nil, err
	}
	found := map[string]*mounted{}
	for _, tool := range sortedKeys(req.Rules) {
		for _, r := range req.Rules[tool] {
			if !r.External || r.Caps() == 0 {
				continue
			}
			entry, target, ok := a.linked(req, r.Path)
			if !ok {
				continue
			}
			m := found[entry]
			if m == nil {
				m = &mounted{Path: entry, Target: target, Tools: map[string][]string{}}
				m.judge(req)
				found[entry] = m
			}
			m.Tools[tool] = r.Caps().Names()
		}
	}
	list := []mounted{}
	for _, path := range sortedKeys(found) {
		list = append(list, *found[path])
	}
	return list, nil
}

func (m *mounted) judge(req mount.Request) {
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
	default:
		m.State = "unapproved"
	}
}

// linked is the link that a rule path names, and the canonical path that it leads to, or "". ok is false if the path is
// none in the workspace.
func (a *app) linked(req mount.Request, rulePath string) (entry, target string, ok bool) {
	name, err := mount.ResolveName(filepath.FromSlash(rulePath), req.Root, req.Root)
	if err != nil {
		return "", "", false
	}
	entry = name.Slash()
	look := mount.System{Root: req.Root}
	if e, err := look.Entry(name); err == nil {
		entry = e.Path.Slash()
	}
	if t, err := look.Target(strings.TrimSuffix(req.Root, "/") + "/" + entry); err == nil {
		target = t.Abs
	}
	return entry, target, true
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
