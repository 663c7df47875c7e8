package policy

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Compile makes the policy of a tool. Errors in rules are a [settings.Errors] with every
// one that was found, each with file, line and remedy; then nothing may run. Any other
// error means that the workspace cannot be opened or that a person cancelled.
func Compile(ctx context.Context, r Request) (*Declared, error) {
	if r.Tool.Source.Kind != config.SourceLocal {
		return nil, fmt.Errorf("tool %q is not local, and only local tools have a policy", r.Tool.Name)
	}
	d := &Declared{Tool: r.Tool.Name, Root: r.Workspace.Root(), rules: jptool.NewRules(jptool.Site{Root: r.Workspace.Root()})}
	if r.Tool.Needs != nil {
		needs := *r.Tool.Needs
		d.Needs, d.needsOrigin = &needs, r.Tool.Origin("needs.fs").String()
	}
	a := r.Tool.Access
	if a == nil || a.FS == nil && a.Net == nil && a.Env == nil && a.Commands == nil {
		if a = nil; !r.OSSandbox {
			d.rules.Restricted = false
			r.OSSandbox = true
			var err error
			d.without, err = Compile(ctx, r)
			return d, err
		}
	}
	if a == nil || a.FS == nil {
		d.addDefault()
	} else {
		d.listOrigin = a.Origin.String()
		p := &placer{d: d, lookup: r.lookup(ctx), narrowed: map[int]string{}}
		for _, rule := range effectiveRules(r.Config, r.Tool) {
			origin := rule.At
			rule.FsRule.Origin = origin.String()
			p.add(rule.FsRule, source{
				Rule:  Rule{Origin: origin.String(), Layer: origin.Layer.String(), Key: origin.Key, Dir: rule.Dir},
				layer: origin.Layer, people: true,
			}, origin)
		}
		if err := p.place(d.Root); err != nil {
			return nil, err
		}
	}
	d.Access = &jptool.AccessPolicy{}
	d.materialize(a)
	look := d.rules.Frozen()
	if err := d.finish(r, &look); err != nil {
		return nil, err
	}
	d.Sensitive = findSensitive(d, r, &look)
	return d, nil
}

// finish protects what is the host's own and writes the policy down. What is guarded lies close together, and is
// looked at again and again: look sees one state of the tree.
func (d *Declared) finish(r Request, look *jptool.Site) error {
	if err := d.guard(r, look); err != nil {
		return err
	}
	d.write()
	return d.check()
}

// effectiveRules returns the fs rules of a tool. Where another layer than the conversation declares access.fs, it leaves
// out the rule that a mount stored to keep the access that the tool had then: a mount must not keep a conversation
// open that the workspace has since closed.
func effectiveRules(cfg *config.Config, t *config.Tool) []config.FsRule {
	if t.Access == nil {
		return nil
	}
	stored := func(r config.FsRule) bool { return r.At.Layer == settings.LayerConversation }
	declared := declaredEmpty(cfg, t.Name) ||
		slices.ContainsFunc(t.Access.FS, func(r config.FsRule) bool { return !stored(r) })
	if !declared {
		return t.Access.FS
	}
	return slices.DeleteFunc(slices.Clone(t.Access.FS), func(r config.FsRule) bool {
		return stored(r) && mount.Preserves(r.FsRule)
	})
}

// FsRules returns the fs rules of a tool as Compile reads them, for planning mounts: none if no layer declares
// any, and one that denies everything if they are declared and none is left.
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
		conversation := s.Origin.Layer == settings.LayerConversation
		switch {
		case s.Key == key && !conversation && s.Value.Kind == settings.List && len(s.Value.Items) == 0:
			empty = true
		case s.Key == key+".strategy" && conversation && s.Value.Any() == "replace":
			empty = false
		}
	}
	return empty
}

func toolKey(name string) string { return settings.JoinKey("conversation", "tools", name) }

// lookup returns a function that asks about each path and target once.
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
	places := consent.Places{Root: root, Home: filepath.ToSlash(r.Home), State: filepath.ToSlash(r.StateDir)}
	if r.Config != nil {
		for _, l := range r.Config.Layers() {
			if l.Layer == settings.LayerUserGlobal && l.Source != "" {
				places.Config = filepath.ToSlash(filepath.Dir(l.Source))
			}
		}
	}
	return places.Canonical().Caution(target)
}

// grants lists every enabled local tool by name, with what it may do at or below an external path.
func (r Request) grants(path string) []consent.Grant {
	if r.Config == nil {
		return nil
	}
	s := jptool.Site{Root: r.Workspace.Root()}
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
			_, below := wspath.Within(path, s.Entry(rel))
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

// FromWire reads the access object of the wire, or null, for the workspace at root: the policy as a tool would
// apply it, without defaults and self-protection. It returns an error for what a tool would refuse.
func FromWire(access []byte, root string) (*Declared, error) {
	a, err := Decode(access)
	if err != nil {
		return nil, err
	}
	d, err := fromAccess(a, root, false)
	if err != nil || a == nil {
		return d, err
	}
	d.Access = &jptool.AccessPolicy{Net: a.Net, Env: a.Env, Commands: a.Commands, Staged: a.Staged}
	d.describe(nil)
	d.write()
	return d, d.check()
}

// Decode reads the access object of the wire; null is nil.
func Decode(access []byte) (*jptool.AccessPolicy, error) {
	if strings.TrimSpace(string(access)) == "null" {
		return nil, nil
	}
	return jptool.DecodeAccess(access)
}

// Given compiles the policy for a program that a person starts, from a, which may be nil. Types without rules get
// their defaults, and the same places are protected as in Compile. The rules count as the user's own. Of r it uses
// Config, Home, StateDir, ConfigFile, Programs, Reach and RefuseLinks.
func Given(a *jptool.AccessPolicy, root string, r Request) (*Declared, error) {
	d, err := fromAccess(a, root, r.RefuseLinks)
	if err != nil {
		return nil, err
	}
	if a == nil {
		a = &jptool.AccessPolicy{}
	}
	for i := range d.sources {
		d.sources[i].people, d.sources[i].layer = true, settings.LayerFlag
	}
	if !d.rules.Restricted {
		d.rules.Restricted = true
		d.addDefault()
	}
	d.Access = &jptool.AccessPolicy{Net: a.Net, Env: a.Env, Commands: a.Commands, Staged: a.Staged}
	d.materialize(nil)
	look := d.rules.Frozen()
	return d, d.finish(r, &look)
}

// fromAccess places the rules of a policy on the wire; nil is null.
func fromAccess(a *jptool.AccessPolicy, root string, refuseLinks bool) (*Declared, error) {
	canonical, err := wspath.CanonicalRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %q cannot be opened: %w\nname an existing directory", root, wspath.Bare(err))
	}
	d := &Declared{Root: canonical, rules: jptool.NewRules(jptool.Site{Root: canonical}), listOrigin: Wire}
	d.rules.Restricted = false
	if a == nil {
		return d, nil
	}
	if len(a.FS) > 0 {
		p := &placer{d: d, refuseLinks: refuseLinks}
		for i, r := range a.FS {
			key := fmt.Sprintf("access.fs[%d]", i)
			dir := len(r.Path) > 1 && strings.HasSuffix(r.Path, "/")
			p.add(r, source{Rule: Rule{Origin: Wire, Key: key, Dir: dir}}, settings.Origin{Key: key})
		}
		if err := p.place(root); err != nil {
			return nil, err
		}
	}
	for i, s := range a.Staged {
		rel, err := jptool.RulePath(s.Path, canonical, root)
		if err == nil {
			_, err = d.rules.Resolve(rel, false)
		}
		if err != nil {
			return nil, jptool.Errorf(jptool.CodeInvalidPolicy, "access.staged[%d]: path %q: %w", i, s.Path, err)
		}
	}
	return d, d.rules.PinPaths(a.Pinned, root)
}
