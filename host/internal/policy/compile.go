package policy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/conversation"
	"github.com/jptools/jptools/host/internal/risk"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Compile makes the policy of a tool. Errors in rules are a [config.Errors] with every
// one that was found, each with file, line and remedy; then nothing may run. Any other
// error means that the workspace cannot be opened or that a person cancelled.
func Compile(ctx context.Context, r Request) (*Declared, error) {
	if r.Tool.Source.Kind != config.SourceLocal {
		return nil, fmt.Errorf("tool %q is not local, and only local tools have a policy", r.Tool.Name)
	}
	m := &model{site: site{root: r.Workspace.Root()}, tool: r.Tool.Name, access: true}
	a := r.Tool.Access
	if a == nil || a.FS == nil && a.Net == nil && a.Env == nil && a.Commands == nil {
		a = nil
		m.access = r.OSSandbox
	}
	if r.Tool.Needs != nil {
		needs := *r.Tool.Needs
		m.needs, m.needsOrigin = &needs, r.Tool.Origin("needs.fs").String()
	}
	if m.access {
		if a != nil && a.FS != nil {
			m.declared, m.listAt = true, a.Origin.String()
			c := &fsCompiler{model: m, lookup: r.lookup(ctx)}
			for _, rule := range effectiveRules(r.Config, r.Tool) {
				c.add(rule.At, rule.FsRule, rule.Dir)
			}
			if err := c.compile(); err != nil {
				return nil, err
			}
		} else {
			m.fs = []fsRule{defaultFS()}
		}
		m.materialize(a)
		defer m.once()()
		if err := m.guard(r); err != nil {
			return nil, err
		}
	}
	d := m.build()
	if d.Access != nil {
		if err := d.verify(); err != nil {
			return nil, err
		}
		d.Sensitive = findSensitive(d, r)
		return d, nil
	}
	r.OSSandbox = true
	var err error
	d.without, err = Compile(ctx, r)
	return d, err
}

// verify opens the policy as the tools will: what they would refuse is refused here, and
// what the library says of the rules is a warning.
func (d *Declared) verify() error {
	ws, err := d.Open()
	if err != nil {
		return err
	}
	for _, w := range ws.Policy().Warnings() {
		d.Warnings = append(d.Warnings, Warning{Message: w})
	}
	return ws.Close()
}

// effectiveRules are the fs rules of a tool without the row that a mount added to keep
// the access of the time (see [conversation.Tightened]).
func effectiveRules(cfg *config.Config, t *config.Tool) []config.FsRule {
	if t.Access == nil {
		return nil
	}
	all := t.Access.FS
	marked := make([]jptool.FsRule, len(all))
	for i := range all {
		marked[i] = all[i].FsRule
		marked[i].Origin = strconv.Itoa(i)
	}
	if declaredEmpty(cfg, t.Name) {
		// A list without rules declares the type too: it is shown to Tightened as a rule.
		marked = append(marked, jptool.FsRule{Origin: "-1"})
	}
	kept := conversation.Tightened(marked, func(i int) bool { return i < len(all) && all[i].At.Layer == config.LayerConversation })
	var out []config.FsRule
	for _, r := range kept {
		if i, err := strconv.Atoi(r.Origin); err == nil && i >= 0 {
			out = append(out, all[i])
		}
	}
	return out
}

// FsRules are the fs rules of a tool as Compile reads them, for planning mounts: none where no
// layer declares them, and a rule that denies all where they are declared and none is left.
func FsRules(cfg *config.Config, t *config.Tool) []jptool.FsRule {
	if t.Access == nil || t.Access.FS == nil {
		return nil
	}
	var rules []jptool.FsRule
	for _, r := range effectiveRules(cfg, t) {
		rules = append(rules, r.FsRule)
	}
	if len(rules) == 0 {
		return []jptool.FsRule{{Path: "."}}
	}
	return rules
}

// declaredEmpty reports whether a layer other than the conversation's holds a list of fs
// rules without any rule, which the conversation did not replace.
func declaredEmpty(cfg *config.Config, tool string) bool {
	if cfg == nil {
		return false
	}
	key := toolKey(tool) + ".access.fs"
	history, err := cfg.History(key)
	if err != nil {
		return false
	}
	empty := false
	for _, s := range history {
		conversation := s.Origin.Layer == config.LayerConversation
		switch {
		case s.Key == key && !conversation && s.Value.Kind == config.List && len(s.Value.Items()) == 0:
			empty = true
		case s.Key == key+".strategy" && conversation && s.Value.Any() == "replace":
			empty = false
		}
	}
	return empty
}

func toolKey(name string) string { return config.JoinKey("conversation", "tools", name) }

// lookup asks about each path and target once.
func (r Request) lookup(ctx context.Context) func(consent.Binding) (consent.Result, error) {
	asked := map[consent.Binding]consent.Result{}
	return func(b consent.Binding) (consent.Result, error) {
		if res, ok := asked[b]; ok {
			return res, nil
		}
		if err := ctx.Err(); err != nil {
			return consent.Result{}, err
		}
		res := consent.Result{Reason: fmt.Sprintf("the external path %s is not approved", show.Visible(b.RulePath))}
		if r.Approve != nil {
			var err error
			if res, err = r.Approve(ctx, consent.Request{Binding: b, Grants: r.grants(b.RulePath), Caution: r.caution(b.Target)}); err != nil {
				return consent.Result{}, err
			}
		}
		asked[b] = res
		return res, nil
	}
}

// caution says what is risky about the target of an external path.
func (r Request) caution(target string) string {
	root := r.Workspace.Root()
	places := risk.Places{Root: root, Home: filepath.ToSlash(r.Home), State: filepath.ToSlash(r.StateDir)}
	if home, err := wspath.CanonicalizeAbs(places.Home, nil); err == nil && places.Home != "" {
		places.Home = home.Abs
	}
	if r.Config != nil {
		for _, l := range r.Config.Layers() {
			if l.Layer == config.LayerUserGlobal && l.Source != "" {
				places.Config = filepath.ToSlash(filepath.Dir(l.Source))
			}
		}
	}
	return places.Caution(target)
}

// grants lists every enabled local tool with what it may do at or below an external path,
// by name.
func (r Request) grants(path string) []consent.Grant {
	if r.Config == nil {
		return nil
	}
	s := site{root: r.Workspace.Root()}
	var list []consent.Grant
	for _, t := range r.Config.Tools() {
		if t.Source.Kind != config.SourceLocal || !t.Enable.On && t.Name != r.Tool.Name {
			continue
		}
		var caps jptool.Caps
		concerned := false
		for _, rule := range effectiveRules(r.Config, t) {
			rel, err := wspath.Parse(rule.Path)
			if err != nil {
				continue
			}
			_, at := s.entry(rel)
			_, below := wspath.Within(path, at)
			_, lexical := wspath.Within(path, rel.Slash())
			if below || lexical {
				concerned = concerned || rule.External
				caps |= rule.Caps()
			}
		}
		if t.Needs != nil {
			caps &= *t.Needs
		}
		if concerned && caps != 0 {
			list = append(list, consent.Grant{Tool: t.Name, Caps: caps})
		}
	}
	return list
}

// FromWire reads the access object of the wire, or null, for the workspace at root: the
// policy as a tool would hold it, without defaults or self-protection. The error is for
// what a tool would refuse.
func FromWire(access []byte, root string) (*Declared, error) {
	a, err := Decode(access)
	if err != nil {
		return nil, err
	}
	m, err := fromAccess(a, root, false)
	if err != nil {
		return nil, err
	}
	if a == nil {
		return m.build(), nil
	}
	m.net, m.env, m.commands = a.Net, a.Env, a.Commands
	m.describe(nil)
	d := m.build()
	return d, d.verify()
}

// Decode reads the access object of the wire; null is nil.
func Decode(access []byte) (*jptool.AccessPolicy, error) {
	if strings.TrimSpace(string(access)) == "null" {
		return nil, nil
	}
	return jptool.DecodeAccess(access)
}

// Given is the policy for a program that a person starts, from access (nil is one that declares
// nothing): types without rules get their defaults, and what is to be protected is, as in Compile.
// The rules count as the user's own. Of r it uses Config, Home, StateDir, ConfigFile, Programs, Reach and RefuseLinks.
func Given(a *jptool.AccessPolicy, root string, r Request) (*Declared, error) {
	m, err := fromAccess(a, root, r.RefuseLinks)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = &jptool.AccessPolicy{}
	}
	m.access = true
	if !m.declared {
		m.fs = []fsRule{defaultFS()}
	}
	for i := range m.fs {
		m.fs[i].people, m.fs[i].layer = m.fs[i].rule.Origin != BuiltIn, config.LayerFlag
	}
	m.net, m.env, m.commands = a.Net, a.Env, a.Commands
	m.materialize(nil)
	defer m.once()()
	if err := m.guard(r); err != nil {
		return nil, err
	}
	d := m.build()
	return d, d.verify()
}

// fromAccess makes the model of a policy on the wire; nil is null.
func fromAccess(a *jptool.AccessPolicy, root string, refuseLinks bool) (*model, error) {
	canonical, err := wspath.CanonicalRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %q cannot be opened: %w\nname an existing directory", root, wspath.Bare(err))
	}
	m := &model{site: site{root: canonical}}
	if a == nil {
		return m, nil
	}
	m.access, m.declared, m.staged, m.listAt = true, len(a.FS) > 0, a.Staged, Wire
	if m.declared {
		c := &fsCompiler{model: m, given: root, refuseLinks: refuseLinks}
		for i, r := range a.FS {
			c.addWire(i, r)
		}
		if err := c.compile(); err != nil {
			return nil, err
		}
	}
	for _, path := range a.Pinned {
		rel, err := parseRule(path, canonical, root)
		if err != nil {
			return nil, jptool.Errorf(jptool.CodeInvalidPolicy, "access.pinned: path %q: %w", path, err)
		}
		at, _ := m.entry(rel)
		m.pins = append(m.pins, at)
	}
	return m, nil
}

// parseRule takes the path of a rule; an absolute one below the root is relative to it.
func parseRule(path string, roots ...string) (wspath.Rel, error) {
	rel, err := wspath.Parse(path)
	if !errors.Is(err, wspath.ErrAbsolute) {
		return rel, err
	}
	for _, root := range roots {
		if rest, ok := wspath.WithinAbs(slashed(root), slashed(path)); ok {
			return wspath.Parse(rest)
		}
	}
	return rel, err
}
