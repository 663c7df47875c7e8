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
	git, noGit := os.Stat(filepath.Join(a.place.root, ".git", "info"))
	for _, l := range links {
		if l.New && !a.Out.JSON && noGit == nil && git.IsDir() { // the workspace is the top of a repository
			a.Out.Note(fmt.Sprintf("git shows the new link as untracked; to have it ignored: echo %s >> .git/info/exclude", show.Word("/"+l.Path)))
		}
	}
	return err
}

type unmountCmd struct {
	Names []string `arg:"" name:"name" optional:"" help:"The mounts, relative to the working directory; without any: all."`
}

func (c *unmountCmd) Run(a *app) error {
	done, err := a.unmount("unmount", c.Names)
	if err != nil && a.Out.JSON {
		return err
	}
	lost := list(a.Out, done, cond(err == nil, "there are no mounts", ""), func(r mount.Removed) {
		a.Out.Printf("unmounted %s%s\n", show.Visible(r.Path), cond(r.Note == "", "", " ("+r.Note+")"))
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
		if remove.All {
			remove.List = nil
		}
		done, err := a.unmount("--no-mount", remove.List)
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

// mount plans and applies a batch of specs. typedAs is the command or flag that has them; errors name it.
func (a *app) mount(typedAs string, specs []string) (*mount.Plan, error) {
	var parsed []mount.Spec
	for _, s := range specs {
		spec, err := mount.ParseSpec(s)
		if err != nil {
			return nil, exit.Errorf(exit.Usage, "%s: %w", typedAs, err)
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
			cfg, req, store, err := a.mountRequest()
			if err != nil {
				return err
			}
			if plan, err = mount.NewPlan(parsed, req); err != nil {
				return exit.Errorf(exit.Usage, "%s: %w", typedAs, err)
			}
			if done = plan.Empty(); done {
				return nil
			}
			a.warnOfRules(cfg, plan)
			if done = plan.Confirmed(shown); !done {
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

// warnOfRules shows which rules the repository itself has on the places of a batch, before anything is mounted there.
func (a *app) warnOfRules(cfg *config.Config, plan *mount.Plan) {
	var links []string
	for _, l := range plan.Links() {
		links = append(links, l.Path.Slash())
	}
	if rules := trust.RepositoryRules(cfg, a.place.root, links); len(rules) > 0 {
		a.Out.Warn("the repository has rules of its own on what is mounted here:\n  " + strings.Join(rules, "\n  ") + "\nwhat they grant beyond your mounts holds only after: jphost trust accept")
	}
}

// unmount removes mounts by their names, or all of them.
func (a *app) unmount(typedAs string, names []string) (done []mount.Removed, err error) {
	p, err := a.open()
	if err != nil {
		return nil, err
	}
	err = p.talk.Locked(a.Ctx, "lock", func() error {
		_, req, store, err := a.mountRequest()
		if err != nil {
			return err
		}
		if req.Stored, err = conversation.Load(p.talk); err != nil {
			return exit.With(exit.Host, err)
		}
		// The rules that stay: those of the layers without the conversation and --cfg.
		layers := a.layers(p)
		layers.Conversation, layers.Args = "", nil
		cfg, err := config.Load(layers)
		if err != nil {
			return exit.With(exit.Usage, err)
		}
		req.Below = map[string][]jptool.FsRule{}
		for _, t := range cfg.Tools() {
			if rules := policy.FsRules(cfg, t); t.Source.Kind == config.SourceLocal && rules != nil {
				req.Below[t.Name] = rules
			}
		}
		removal, err := mount.NewRemoval(names, req)
		if err != nil {
			return exit.Errorf(exit.Usage, "%s: %w", typedAs, err)
		}
		done, err = removal.Apply(a.Ctx, mount.Env{Store: store, Persist: conversation.Persist(p.talk)})
		return exit.With(exit.Host, err)
	})
	return done, err
}

// mountRequest gathers what mounts are planned from.
func (a *app) mountRequest() (*config.Config, mount.Request, *consent.Store, error) {
	cfg, err := a.config()
	if err != nil {
		return nil, mount.Request{}, nil, err
	}
	p := a.place
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
		if t.Source.Kind != config.SourceLocal {
			req.NotMountable[t.Name] = "its source is " + string(t.Source.Kind)
			continue
		}
		req.Rules[t.Name] = policy.FsRules(cfg, t)
		if t.Enable.On {
			req.Tools = append(req.Tools, t.Name)
		} else {
			req.NotMountable[t.Name] = "it is off"
		}
	}
	return cfg, req, store, nil
}
