package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
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
	git, noGit := os.Stat(filepath.Join(a.place.root, ".git", "info"))
	for _, l := range links {
		if l.New && !a.Out.JSON && noGit == nil && git.IsDir() { // the workspace is the top of a repository
			a.Out.Note(fmt.Sprintf("git shows the new link as untracked\nto have it ignored: echo %s >> .git/info/exclude", show.Word("/"+l.Path)))
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
			return exit.With(exit.Host, plan.Apply(a.Ctx, mount.Env{Store: store, Persist: mount.Persist(p.talk)}))
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
		if req.Stored, err = mount.LoadDelta(p.talk); err != nil {
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
		done, err = removal.Apply(a.Ctx, mount.Env{Store: store, Persist: mount.Persist(p.talk)})
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

type mountsCmd struct{}

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
