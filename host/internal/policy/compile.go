package policy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// Compile makes the policy of a tool. Errors in rules are a [settings.Errors] with every
// one that was found, each with file, line and remedy; then nothing may run. Any other
// error means that the workspace cannot be opened or that a person cancelled.
func Compile(ctx context.Context, r Request) (*Declared, error) {
	if r.Tool.Source.Kind != config.SourceLocal {
		return nil, fmt.Errorf("tool %q is not local, and only local tools have a policy", r.Tool.Name)
	}
	d := newDeclared(r.Tool.Name, r.Workspace.Root())
	if r.Tool.Needs != nil {
		d.needs, d.Needs, d.needsOrigin = r.Tool.Needs, r.Tool.Needs.Names(), r.Tool.Origin("needs.fs").String()
	}
	a := r.Tool.Access
	if a != nil && a.FS == nil && a.Net == nil && a.Env == nil && a.Commands == nil {
		a = nil
	}
	deny, secrets, err := d.patterns(r, nil, true)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	if len(secrets) > 0 {
		secrets = append(secrets, allowed(r.Allowed)...)
	}
	if a == nil && !r.OSSandbox {
		return d, d.unsandboxed(ctx, r, deny, secrets)
	}
	p := &placer{d: d, lookup: r.lookup(ctx), narrowed: map[int]string{}, deny: deny, secrets: secrets}
	if a == nil || a.FS == nil {
		p.add(fit.FsRule("", defaultCaps), source{Rule: Rule{Origin: BuiltIn}})
	} else {
		d.listOrigin = a.Origin.String()
		for _, rule := range effectiveRules(r.Config, r.Tool) {
			rule.FsRule.Origin = rule.At.String()
			p.add(rule.FsRule, source{
				Rule: Rule{Origin: rule.At.String(), Layer: rule.At.Layer.String(), Key: rule.At.Key, Dir: rule.Dir},
				at:   rule.At, people: true,
			})
		}
	}
	if err := p.place(d.Root); err != nil {
		return nil, err
	}
	d.Access = &jptool.AccessPolicy{Deny: texts(deny), Secrets: texts(secrets)}
	presetNet := slices.Clone(r.PresetNet)
	if len(presetNet) > 0 { // else the network is denied anyway
		for _, rule := range r.Tool.NetForAll {
			rule.NetRule.Origin = rule.At.String()
			presetNet = append(presetNet, rule.NetRule)
		}
	}
	d.materialize(a, r.PresetEnv, presetNet)
	look := d.rules.Frozen()
	if err := d.finish(r, &look); err != nil {
		return nil, err
	}
	d.Sensitive = d.findSensitive()
	return d, nil
}

// unsandboxed makes the policy of a tool that declares nothing where there is no sandbox: it is not restricted
// (RFD 075), but for what the patterns withhold.
func (d *Declared) unsandboxed(ctx context.Context, r Request, deny, secrets []Pattern) error {
	r.OSSandbox = true
	without, err := Compile(ctx, r)
	if err != nil {
		return err
	}
	p := &placer{d: d, deny: deny, secrets: secrets}
	d.Access = &jptool.AccessPolicy{Deny: texts(deny), Secrets: texts(secrets)}
	if err := p.place(d.Root); err != nil {
		return err
	}
	d.without, d.rules.Restricted = without, false
	d.writeRules()
	return d.check()
}

// finish protects what is the host's own and writes the policy down. What is protected lies close together, and is
// looked at again and again: look sees one state of the tree.
func (d *Declared) finish(r Request, look *jptool.Site) error {
	if err := d.findProtected(r, look); err != nil {
		return err
	}
	d.writeRules()
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
	here := places.Here{Root: r.Workspace.Root(), Home: filepath.ToSlash(r.Home), State: filepath.ToSlash(r.StateDir)}
	if r.ConfigFile != "" {
		here.Config = filepath.ToSlash(filepath.Dir(r.ConfigFile))
	}
	return here.Canonical().Caution(target)
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
	d, err := fromAccess(a, root, Request{}, false)
	if err != nil || a == nil {
		return d, err
	}
	d.describe(nil)
	d.writeRules()
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
	if a == nil {
		a = &jptool.AccessPolicy{}
	}
	d, err := fromAccess(a, root, r, true)
	if err != nil {
		return nil, err
	}
	for i := range d.sources {
		if d.sources[i].Origin != BuiltIn {
			d.sources[i].people, d.sources[i].at.Layer = true, settings.LayerFlag
		}
	}
	d.materialize(nil, nil, nil)
	look := d.rules.Frozen()
	return d, d.finish(r, &look)
}

// fromAccess places the rules of a policy on the wire; nil is null. With defaults it adds what the policy does not say: a
// rule for the workspace, and the patterns of r and the built-in ones.
func fromAccess(a *jptool.AccessPolicy, root string, r Request, defaults bool) (*Declared, error) {
	canonical, err := wspath.CanonicalRoot(root)
	if err != nil {
		return nil, fmt.Errorf("the workspace %q cannot be opened: %w\nname an existing directory", root, wspath.Bare(err))
	}
	d := newDeclared("", canonical)
	d.listOrigin, d.rules.Restricted = Wire, false
	if a == nil {
		return d, nil
	}
	deny, secrets, err := d.patterns(r, a, defaults)
	if err != nil {
		return nil, exit.With(exit.Usage, err)
	}
	d.Access = &jptool.AccessPolicy{
		Net: a.Net, Env: a.Env, Commands: a.Commands, Staged: a.Staged, Deny: texts(deny), Secrets: texts(secrets),
	}
	p := &placer{d: d, refuseLinks: r.RefuseLinks, deny: deny, secrets: secrets}
	if len(a.FS) == 0 && defaults {
		p.add(fit.FsRule("", defaultCaps), source{Rule: Rule{Origin: BuiltIn}})
	}
	if len(a.FS)+len(p.list)+len(deny)+len(secrets) > 0 {
		for i, r := range a.FS {
			key := fmt.Sprintf("access.fs[%d]", i)
			dir := len(r.Path) > 1 && strings.HasSuffix(r.Path, "/")
			p.add(r, source{Rule: Rule{Origin: Wire, Key: key, Dir: dir}, at: settings.Origin{Key: key}})
		}
		if err := p.place(root); err != nil {
			return nil, err
		}
		d.rules.Restricted = len(p.list) > 0
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

// defaultCaps are the default of access.fs: all of the workspace, with execute, because scripts
// and built programs must keep working.
const defaultCaps = jptool.Read | jptool.Write | jptool.Execute

// materialize writes the rules of the other types: the declared ones, those of presets where nothing is declared, or the
// default. An empty list would open the type when a rule of another type is added.
func (d *Declared) materialize(a *config.Access, presetEnv []jptool.EnvRule, presetNet []jptool.NetRule) {
	if declared := a.Policy(); declared != nil {
		d.Access.Net, d.Access.Env, d.Access.Commands = declared.Net, declared.Env, declared.Commands
	}
	for _, r := range presetEnv {
		if !decided(d.Access.Env, r.Name, runtime.GOOS == "windows") {
			d.Access.Env = append(slices.Clip(d.Access.Env), r)
		}
	}
	if len(d.Access.Net) == 0 {
		d.Access.Net = presetNet
	}
	if len(d.Access.Net) == 0 {
		d.Access.Net = []jptool.NetRule{{Host: "*", Origin: BuiltIn}}
	}
	d.Access.Env = slices.Concat(d.Access.Env, minimal(d.Access.Env, runtime.GOOS == "windows"))
	d.describe(a)
}

// minimal returns the minimal set of variables as rules, without the names that a declared rule decides: a rule
// with read = false takes away a variable of the minimal set too.
func minimal(declared []jptool.EnvRule, windows bool) []jptool.EnvRule {
	var out []jptool.EnvRule
	for _, name := range sandbox.MinimalEnvironment(windows) {
		if !decided(declared, name, windows) {
			out = append(out, jptool.EnvRule{Name: name, Read: true, Origin: BuiltIn})
		}
	}
	return out
}

// decided reports whether a declared rule decides about a variable, or about all that begin with a name before *.
func decided(declared []jptool.EnvRule, name string, windows bool) bool {
	key := func(s string) string {
		if windows {
			return strings.ToUpper(s)
		}
		return s
	}
	literal := key(strings.TrimSuffix(name, "*"))
	return slices.ContainsFunc(declared, func(r jptool.EnvRule) bool {
		prefix, open := strings.CutSuffix(key(r.Name), "*")
		return open && strings.HasPrefix(literal, prefix) || !open && prefix == literal && name == literal
	})
}

// describe says of each rule of net, env and commands where it comes from.
func (d *Declared) describe(a *config.Access) {
	if a == nil {
		a = &config.Access{}
	}
	add := func(r Rule, origin settings.Origin, wire string) {
		r.Origin = cmp.Or(wire, Wire)
		if !origin.IsZero() {
			r.Origin, r.Layer, r.Key = origin.String(), origin.Layer.String(), origin.Key
		}
		d.others = append(d.others, r)
	}
	// Rules that nobody declared follow the others, and have no origin.
	nets := slices.Concat(a.Net, make([]config.NetRule, len(d.Access.Net)))
	for i := range d.Access.Net {
		n := &d.Access.Net[i]
		add(Rule{Type: "net", Index: i, Name: n.Host, Text: n.Text()}, nets[i].At, n.Origin)
	}
	envs := slices.Concat(a.Env, make([]config.EnvRule, len(d.Access.Env)))
	for i := range d.Access.Env {
		e := &d.Access.Env[i]
		add(Rule{Type: "env", Index: i, Name: e.Name, Text: e.Text()}, envs[i].At, e.Origin)
	}
	for i, name := range slices.Sorted(maps.Keys(d.Access.Commands)) {
		add(Rule{Type: "command", Index: i, Name: name, Text: commandText(d.Access.Commands[name])}, a.Commands[name].At, "")
	}
}

func commandText(r jptool.CommandRule) string {
	var parts []string
	if r.Args != nil {
		lists := make([]string, len(r.Args))
		for i, args := range r.Args {
			lists[i] = quoted(args)
		}
		parts = append(parts, "args = ["+strings.Join(lists, ", ")+"]")
	}
	if len(r.Envs) > 0 {
		parts = append(parts, "envs = "+quoted(r.Envs))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// SandboxPaths makes what [baseline.Options] takes of sandbox.paths; home replaces `~`. A path that says nothing of
// capabilities gets read and execute, any other exactly what it sets to true; nothing at all
// is an error.
func SandboxPaths(paths []config.SandboxPath, home string) ([]baseline.Extra, error) {
	var list []baseline.Extra
	for _, p := range paths {
		e := baseline.Extra{Path: filepath.ToSlash(p.Path), Origin: p.Origin.String()}
		if rest, ok := strings.CutPrefix(e.Path, "~"); ok && (rest == "" || rest[0] == '/') {
			if !filepath.IsAbs(home) {
				return nil, fmt.Errorf("%s: sandbox.paths: %q needs a home directory, and HOME is %q\nset HOME, or write the path in full", e.Origin, p.Path, home)
			}
			e.Path = filepath.ToSlash(home) + rest
		}
		e.Path = path.Clean(e.Path)
		written := false
		for _, c := range []struct {
			given *bool
			caps  jptool.Caps
		}{{p.Read, jptool.Read}, {p.Write, jptool.Write}, {p.Execute, jptool.Execute}} {
			written = written || c.given != nil
			if c.given != nil && *c.given {
				e.Caps |= c.caps
			}
		}
		switch {
		case !written:
			e.Caps = jptool.Read | jptool.Execute
		case e.Caps == 0:
			return nil, fmt.Errorf("%s: sandbox.paths: %q grants nothing\nset read, write or execute to true, or take it out", e.Origin, p.Path)
		}
		if err := e.Check(); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// ReachOf is what extras let be written, in the form that self-protection wants. What is not there is left out.
func ReachOf(extras []baseline.Extra) []Reach {
	var list []Reach
	for _, e := range extras {
		if to, err := wspath.CanonicalizeAbs(e.Path, nil); err == nil && !to.Missing && e.Caps&jptool.Write != 0 {
			list = append(list, Reach{Abs: to.Abs, Caps: e.Caps})
		}
	}
	return list
}
