package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/conversation"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/mount"
	"github.com/jptools/jptools/host/internal/policy"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/host/internal/trust"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

type mountCmd struct {
	Specs []string `arg:"" name:"spec" help:"[TOOL:]NAME=PATH[:ro|:rw]"`
}

func (c *mountCmd) Run(a *app) error {
	plan, err := a.mount("mount", c.Specs)
	if err != nil {
		return err
	}
	type link struct {
		Path   string `json:"path"`
		Target string `json:"target"`
		New    bool   `json:"new_link"`
	}
	var links []link
	for _, l := range plan.Links() {
		links = append(links, link{l.Path.String(), l.Target, !l.Exists})
	}
	err = list(a.Out, links, "", func(l link) { a.Out.Printf("%s → %s\n", show.Visible(l.Path), show.Visible(l.Target)) })
	for _, l := range links {
		if l.New && !a.Out.JSON && a.inGit() {
			a.Out.Note(fmt.Sprintf("git shows the new link as untracked; to have it ignored: echo %s >> .git/info/exclude", show.Word("/"+l.Path)))
		}
	}
	return err
}

// inGit reports whether the workspace is the top of a git repository of its own.
func (a *app) inGit() bool {
	fi, err := os.Stat(filepath.Join(a.place.root, ".git", "info"))
	return err == nil && fi.IsDir()
}

type unmountCmd struct {
	Names []string `arg:"" name:"name" optional:"" help:"The mounts, relative to the working directory; without any: all."`
}

func (c *unmountCmd) Run(a *app) error {
	done, err := a.unmount("unmount", c.Names)
	if err != nil && a.Out.JSON {
		return err
	}
	none := "there are no mounts"
	if err != nil {
		none = ""
	}
	lost := list(a.Out, done, none, func(r mount.Removed) {
		note := ""
		if r.Note != "" {
			note = " (" + r.Note + ")"
		}
		a.Out.Printf("unmounted %s%s\n", show.Visible(r.Path), note)
	})
	if !a.Out.JSON {
		a.frozen(done)
	}
	return errors.Join(err, lost)
}

// frozen warns of rules in files that this conversation no longer reads because of an unmount.
func (a *app) frozen(done []mount.Removed) {
	for _, d := range done {
		for _, tool := range d.Frozen {
			a.Out.Warn(fmt.Sprintf("the rule of %s for %s is in a file, so this conversation now has a copy of the other rules in place of those of the files\nlater changes of the files do not reach %s here; look at them with: jphost config show conversation.tools.%s.access.fs",
				show.Visible(d.Path), show.Visible(tool), show.Visible(tool), show.Visible(tool)))
		}
	}
}

// mounts unmounts for --no-mount of a call, and then mounts for --mount.
func (a *app) mounts(specs []string, remove names) error {
	if remove.set() {
		list := remove.List
		if remove.All {
			list = nil
		}
		done, err := a.unmount("--no-mount", list)
		a.frozen(done)
		if err != nil {
			return err
		}
	}
	if len(specs) == 0 {
		return nil
	}
	_, err := a.mount("--mount", specs)
	return err
}

// typed names the command or flag that an error is about.
func typed(what string, err error) error {
	return exit.Errorf(exit.Usage, "%s: %w", what, err)
}

// mount plans and applies a batch of specs. typedAs is the command or flag that has them.
func (a *app) mount(typedAs string, specs []string) (*mount.Plan, error) {
	var parsed []mount.Spec
	for _, s := range specs {
		spec, err := mount.ParseSpec(s)
		if err != nil {
			return nil, typed(typedAs, err)
		}
		parsed = append(parsed, spec)
	}
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	if err := p.narrow(); err != nil {
		return nil, err
	}
	// The lock is free while a person thinks. Under the lock the plan is then compared with what they agreed to.
	var shown *mount.Plan
	for range mountRounds {
		var plan *mount.Plan
		done := false
		err := p.talk.Locked(a.Ctx, "lock", func() error {
			var store *consent.Store
			var err error
			if plan, store, err = a.mountPlan(p, typedAs, parsed); err != nil {
				return err
			}
			if done = plan.Empty() || plan.Confirmed(shown); !done || plan.Empty() {
				return nil
			}
			return exit.With(exit.Host, plan.Apply(a.Ctx, mount.Env{Store: store, Persist: conversation.Persist(p.talk)}))
		})
		if err != nil || done {
			return plan, err
		}
		err = plan.Confirm(a.Ctx, a.ask(), shown)
		if errors.Is(err, mount.ErrDeclined) || errors.Is(err, term.ErrCancelled) {
			return plan, exit.With(exit.Refused, err)
		}
		if err != nil {
			return plan, exit.With(exit.Host, err)
		}
		shown = plan
	}
	return shown, exit.Errorf(exit.Refused, "not mounted: what is to be mounted changed each time while you were asked about it\ntry again when nothing else changes it")
}

// mountRounds bounds how often a person is asked because the plan changed meanwhile.
const mountRounds = 4

// mountPlan plans a batch from the configuration and the links as they are now.
func (a *app) mountPlan(p *place, typedAs string, specs []mount.Spec) (*mount.Plan, *consent.Store, error) {
	cfg, req, store, err := a.mountRequest(p)
	if err != nil {
		return nil, nil, err
	}
	plan, err := mount.NewPlan(specs, req)
	if err != nil {
		return nil, nil, typed(typedAs, err)
	}
	if !plan.Empty() {
		a.warnOfRules(p, cfg, plan)
	}
	return plan, store, nil
}

// warnOfRules shows which rules the repository itself has on the places of a batch, before anything is mounted there.
func (a *app) warnOfRules(p *place, cfg *config.Config, plan *mount.Plan) {
	var links []string
	for _, l := range plan.Links() {
		links = append(links, l.Path.Slash())
	}
	if rules := trust.RepositoryRules(cfg, p.root, links); len(rules) > 0 {
		a.Out.Warn("the repository has rules of its own on what is mounted here:\n  " + strings.Join(rules, "\n  ") + "\nwhat they grant beyond your mounts holds only after: jphost trust accept")
	}
}

func (a *app) unmount(typedAs string, names []string) ([]mount.Removed, error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	var done []mount.Removed
	err = p.talk.Locked(a.Ctx, "lock", func() error {
		req, store, err := a.removalRequest(p)
		if err != nil {
			return err
		}
		removal, err := mount.NewRemoval(names, req)
		if err != nil {
			return typed(typedAs, err)
		}
		done, err = removal.Apply(a.Ctx, mount.Env{Store: store, Persist: conversation.Persist(p.talk)})
		return exit.With(exit.Host, err)
	})
	return done, err
}

// mountRequest gathers what mounts are planned from.
func (a *app) mountRequest(p *place) (*config.Config, mount.Request, *consent.Store, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, mount.Request{}, nil, err
	}
	store := p.approvals(a)
	decide, err := store.Snapshot(a.Ctx)
	if err != nil {
		return nil, mount.Request{}, nil, exit.With(exit.Host, err)
	}
	req := mount.Request{
		Root: filepath.ToSlash(p.root), Cwd: filepath.ToSlash(p.cwd), Home: filepath.ToSlash(a.Getenv("HOME")), State: filepath.ToSlash(p.dir.Base()),
		Config:       filepath.ToSlash(filepath.Dir(config.UserGlobalPath(a.Environ))),
		NotMountable: map[string]string{}, Rules: map[string][]jptool.FsRule{},
		Approved: decide,
		Follow: func(path string) (string, error) {
			to, _, err := a.Follow("the target", path, []string{filepath.ToSlash(p.root)})
			return to.Abs, err
		},
	}
	for _, t := range cfg.Tools() {
		switch {
		case t.Source.Kind != config.SourceLocal:
			req.NotMountable[t.Name] = "its source is " + string(t.Source.Kind)
		case !t.Enable.On:
			req.NotMountable[t.Name] = "it is off"
		default:
			req.Tools = append(req.Tools, t.Name)
		}
		if t.Source.Kind == config.SourceLocal {
			req.Rules[t.Name] = policy.FsRules(cfg, t)
		}
	}
	return cfg, req, store, nil
}

// removalRequest gathers what removals are planned from: that of mounts, and the rules without the conversation and
// --cfg.
func (a *app) removalRequest(p *place) (mount.Request, *consent.Store, error) {
	_, req, store, err := a.mountRequest(p)
	if err != nil {
		return req, nil, err
	}
	if req.Stored, err = conversation.Load(p.talk); err != nil {
		return req, nil, exit.With(exit.Host, err)
	}
	o := a.layers(p)
	o.Conversation, o.Args = "", nil
	cfg, err := config.Load(o)
	if err != nil {
		return req, nil, exit.With(exit.Usage, err)
	}
	req.Below = map[string][]jptool.FsRule{}
	for _, t := range cfg.Tools() {
		if rules := policy.FsRules(cfg, t); t.Source.Kind == config.SourceLocal && rules != nil {
			req.Below[t.Name] = rules
		}
	}
	return req, store, nil
}

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
