package fit

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Policy is a declared policy in the form that fitting needs: which place each rule is about, and what
// holds there. It is not changed here.
type Policy struct {
	// Site is the workspace, with its approved external rules, also those that grant nothing now.
	Site jptool.Site
	// Evaluator has the rules of Access at their places, to find what its patterns withhold; nil if it has none.
	Evaluator *jptool.Rules
	// Access is the declared policy; nil, which cannot be fitted, if there is none.
	Access *jptool.AccessPolicy
	// Unsent says that the tool is sent another policy, Sent, or none, although Access, which protects the workspace, is
	// enforced.
	Unsent bool
	Sent   *jptool.AccessPolicy
	// Needs is the most that the tool says it uses, nil if it does not say.
	Needs *jptool.Caps
	// Rules describe the rules of Access in its order: fs, net, env, then commands by name.
	Rules []Rule
	// Places are where fs rules hold, each path once, ordered by path. Without fs rules it is empty.
	Places []Place
	// Mounts are the external rules that grant something, in the order of their rules.
	Mounts []Mount
	// Pins are the absolute paths of the entries that must stay in place.
	Pins []string
	// Ways are the symlinks that rules lead through, with what the rules grant.
	Ways []Way
}

// Way is a symlink as it was when the places of rules were found. Another one would lead its rule elsewhere.
type Way struct {
	wspath.Hop
	Caps jptool.Caps
}

// Ways returns the Ways of a Policy.
func Ways(rules *jptool.Rules) (list []Way) {
	for i := range rules.Placed {
		for _, hop := range rules.Placed[i].Hops {
			list = append(list, Way{hop, rules.Placed[i].Caps})
		}
	}
	return list
}

// Rule is one rule, for reports.
type Rule struct {
	// Type is fs, net, env or command; Index counts within the type.
	Type  string
	Index int
	// Text is the rule as an inline table of TOML, Origin where it was written.
	Text, Origin string
}

// Place is a path on which fs rules are, and what the deciding one grants.
type Place struct {
	// Abs is the canonical absolute path, with slashes. Nothing need be there.
	Abs string
	// Outside: it lies outside of the workspace, where other rules count than inside.
	Outside bool
	Caps    jptool.Caps
	// Index is that of the deciding rule in Access.FS, the last of All; -1 if no rule is on the path.
	Index int
	All   []int
	// SelfProtection: the deciding rule was made to protect the workspace. Dir: its path was written with a
	// slash at its end.
	SelfProtection, Dir bool
	// Unnamed: no path of the wire names the place. It is protected against what is granted outside of
	// the workspace besides the rules. Index is -1.
	Unnamed bool
	// Withheld: a pattern of the policy covers it, and nothing is started that could use it.
	Withheld bool
	// Guarded: the place is protected, or lies below one that is.
	Guarded bool
}

// Mount is an external rule that grants something: the absolute path of its link, which is in the
// workspace or below another mount, and the target that it leads to.
type Mount struct {
	Link, Target string
	// Index is that of the rule in Access.FS.
	Index int
}

// named returns the canonical absolute paths that texts name, as the tool would resolve them. Texts
// that are no workspace-relative path, or lead to where the tool can reach nothing, are left out.
func (p *Policy) named(texts []string) (list []string) {
	for _, text := range texts {
		rel, err := wspath.Parse(text)
		if err != nil {
			continue
		}
		if to, err := p.Site.Resolve(rel, false); err == nil && p.Site.Known(to.Place) {
			list = append(list, p.Site.Abs(to.Place))
		}
	}
	return list
}

// builtIn is the origin of a rule that nobody wrote.
const builtIn = "built-in default"

// FsRule returns a rule of the wire that grants exactly caps, without the alias `write`.
func FsRule(path string, caps jptool.Caps) jptool.FsRule {
	on := func(c jptool.Caps) *bool {
		if !caps.Has(c) {
			return nil
		}
		return new(true)
	}
	return jptool.FsRule{
		Path: path,
		Read: on(jptool.Read), Create: on(jptool.Create), Update: on(jptool.Update),
		Delete: on(jptool.Delete), Execute: on(jptool.Execute),
	}
}

// FsText writes a rule as an inline table of TOML.
func FsText(r *jptool.FsRule) string {
	text := fmt.Sprintf("{ path = %q", cmp.Or(r.Path, "."))
	if r.External {
		text += ", external = true"
	}
	if caps := GrantText(r.Caps()); caps != "" {
		text += ", " + caps
	}
	return text + " }"
}

// GrantText writes capabilities as keys of a rule, `write` for create, update and delete.
func GrantText(caps jptool.Caps) string {
	var keys []string
	for _, name := range caps.Names() {
		keys = append(keys, name+" = true")
	}
	return strings.Replace(strings.Join(keys, ", "), "create = true, update = true, delete = true", "write = true", 1)
}

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
	c.Deny, c.Secrets = access.Deny, access.Secrets
	rules, err := c.FS(access.FS)
	if err != nil {
		return nil, jptool.Errorf(jptool.CodeInvalidPolicy, "%w", err)
	}
	if err := rules.PinPaths(access.Pinned, root); err != nil {
		return nil, err
	}
	p := &Policy{Site: rules.Site, Ways: Ways(rules), Evaluator: rules}
	p.Access = &jptool.AccessPolicy{
		Net: access.Net, Env: access.Env, Commands: access.Commands, Staged: access.Staged, Deny: access.Deny, Secrets: access.Secrets,
	}
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
	q.Caps, q.Index, q.Dir = r.Caps, index, r.Rule.Path != "/" && strings.HasSuffix(r.Rule.Path, "/")
}

// Written returns a placed rule as it is written on the wire.
func Written(r *jptool.Placed) jptool.FsRule {
	w := FsRule(r.Name, r.Caps)
	w.Origin = r.Rule.Origin
	if r.Lost == "" && r.Rule.External {
		w.External = true
		if r.Target != "" {
			w.ApprovedTarget = new(filepath.FromSlash(r.Target))
		}
	}
	return w
}

// describe adds the rules of other types to those for reports.
func (p *Policy) describe() {
	add := func(kind string, index int, origin, format string, values ...any) {
		p.Rules = append(p.Rules, Rule{Type: kind, Index: index, Text: fmt.Sprintf(format, values...), Origin: origin})
	}
	for i := range p.Access.Net {
		r := &p.Access.Net[i]
		add("net", i, r.Origin, "{ host = %q, allow = %t }", r.Host, r.Allow)
	}
	for i := range p.Access.Env {
		r := &p.Access.Env[i]
		add("env", i, r.Origin, "{ name = %q, read = %t }", r.Name, r.Read)
	}
	for i, name := range slices.Sorted(maps.Keys(p.Access.Commands)) {
		add("command", i, "", "%s", name)
	}
}
