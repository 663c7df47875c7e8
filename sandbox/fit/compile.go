package fit

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Compile places the rules of an access policy in the workspace at root. Nothing is added to them: types without rules
// are not restricted. The error is for what a tool would refuse, and carries jptool.CodeInvalidPolicy then.
func Compile(access *jptool.AccessPolicy, root string) (*Policy, error) {
	canonical, err := filepath.Abs(root)
	if err == nil {
		canonical, err = wspath.CanonicalRoot(canonical)
	}
	if err != nil {
		return nil, fmt.Errorf("the workspace %q cannot be opened: %w\nname an existing directory", root, wspath.Bare(err))
	}
	c := jptool.Compiler{Site: jptool.Site{Root: canonical}, Written: root}
	if access == nil {
		return &Policy{Site: c.Site}, nil
	}
	rules, err := c.FS(access.FS)
	if err != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidPolicy, "%w", err)
	}
	if err := rules.PinPaths(access.Pinned, root); err != nil {
		return nil, err
	}
	p := &Policy{Site: rules.Site, Access: &jptool.AccessPolicy{Net: access.Net, Env: access.Env, Commands: access.Commands, Staged: access.Staged}}
	if rules.Restricted && !slices.ContainsFunc(rules.Placed, func(r jptool.Placed) bool { return !r.Gone }) {
		rules.Add(jptool.Placed{Index: -1}) // an empty list would open everything
	}
	for i := range rules.Placed {
		if r := &rules.Placed[i]; !r.Gone {
			w := Written(r)
			p.Rules = append(p.Rules, Rule{Type: "fs", Index: len(p.Access.FS), Text: FsText(&w), Origin: w.Origin})
			p.place(rules.Abs(r.Place), r, len(p.Access.FS))
			p.Access.FS = append(p.Access.FS, w)
		}
	}
	slices.SortFunc(p.Places, func(a, b Place) int { return cmp.Compare(a.Abs, b.Abs) })
	for _, m := range rules.Mounts {
		if rules.Placed[m.Rule].Caps != 0 {
			p.Mounts = append(p.Mounts, Mount{Link: rules.Abs(m.Link), Target: m.Target})
		}
	}
	for _, place := range rules.Pins {
		if name := rules.Name(place); name != "" {
			p.Access.Pinned = append(p.Access.Pinned, name)
			p.Pins = append(p.Pins, rules.Abs(place))
		}
	}
	slices.Sort(p.Access.Pinned)
	p.Access.Pinned = slices.Compact(p.Access.Pinned)
	p.describe()
	return p, nil
}

// place notes a rule at its place, where it decides over those before it.
func (p *Policy) place(abs string, r *jptool.Placed, index int) {
	i := slices.IndexFunc(p.Places, func(q Place) bool { return q.Abs == abs })
	if i < 0 {
		i = len(p.Places)
		p.Places = append(p.Places, Place{Abs: abs, Outside: r.Place.Outside})
	}
	q := &p.Places[i]
	q.All = append(q.All, index)
	q.Caps, q.Index, q.Dir = r.Caps, index, len(r.Rule.Path) > 1 && r.Rule.Path[len(r.Rule.Path)-1] == '/'
}

// Written returns a placed rule as it is written on the wire.
func Written(r *jptool.Placed) jptool.FsRule {
	w := FsRule(r.Name, r.Caps)
	w.Origin = r.Rule.Origin
	if r.Lost == "" && r.Rule.External {
		w.External = true
		if r.Target != "" {
			target := filepath.FromSlash(r.Target)
			w.ApprovedTarget = &target
		}
	}
	return w
}

// describe adds the rules of other types to those for reports.
func (p *Policy) describe() {
	for i := range p.Access.Net {
		r := &p.Access.Net[i]
		p.Rules = append(p.Rules, Rule{Type: "net", Index: i, Text: fmt.Sprintf("{ host = %q, allow = %t }", r.Host, r.Allow), Origin: r.Origin})
	}
	for i := range p.Access.Env {
		r := &p.Access.Env[i]
		p.Rules = append(p.Rules, Rule{Type: "env", Index: i, Text: fmt.Sprintf("{ name = %q, read = %t }", r.Name, r.Read), Origin: r.Origin})
	}
	var names []string
	for name := range p.Access.Commands {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		p.Rules = append(p.Rules, Rule{Type: "command", Index: i, Text: name})
	}
}
