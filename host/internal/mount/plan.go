package mount

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Request is what a plan is made from. Paths are canonical and absolute, with slashes.
type Request struct {
	// Root is the workspace, Cwd the current directory.
	Root, Cwd string
	// Home is the home directory, State the directory of the host's own state, Config that of
	// its user-global config; "" when there is none.
	Home, State, Config string
	// Tools are the enabled local tools, in the order to show them.
	Tools []string
	// NotMountable says why other known tools cannot have mounts ("it is an
	// MCP tool", "it is disabled").
	NotMountable map[string]string
	// Rules are the effective rules of access.fs per tool, after all layers; a tool without
	// rules is unrestricted inside the workspace.
	Rules map[string][]jptool.FsRule
	// Below are the rules of the layers below the conversation's, Stored what the conversation's layer
	// has. Only removals need them.
	Below  map[string][]jptool.FsRule
	Stored Delta
	// Approved looks a binding up; [consent.Store.Snapshot] gives one.
	Approved func(consent.Binding) consent.Decision
	// Follow resolves an absolute path, and is an error if it leads through a symlink that others than the
	// person may have made. Nil follows every link.
	Follow func(path string) (abs string, err error)
}

// Link is a symlink that a plan makes or finds.
type Link struct {
	// Path is where it stands in the workspace, its directory resolved: also the path of
	// its rules and approval.
	Path wspath.Rel
	// Target is the canonical path that it leads to.
	Target string
	// Dir says that the target is a directory.
	Dir bool
	// Exists says that the link is there already.
	Exists bool
}

// Plan is a batch of mounts, decided but not done. Only NewPlan makes one.
type Plan struct {
	root string
	// look looks at the workspace again before anything is done. Tests change the tree there.
	look  looker
	links []Link // each once
	// bindings are the approvals to seed; those that are stored already are left out.
	bindings []consent.Binding
	// delta is what the conversation is to remember.
	delta Delta
	// confirm is what a person must agree to first, in order.
	confirm []Confirmation
}

// Links are the links of the batch, each once.
func (p *Plan) Links() []Link { return slices.Clone(p.links) }

// Empty reports whether there is nothing to do: all links, approvals and rules of the batch are there.
func (p *Plan) Empty() bool {
	return len(p.bindings) == 0 && p.delta.Empty() && !slices.ContainsFunc(p.links, func(l Link) bool { return !l.Exists })
}

// NewPlan decides what a batch of mounts does, or returns an error that names the first spec at fault.
// It changes nothing, and reads only the file system, and through Follow and Approved. A plan that was applied
// is empty when it is made again.
//
// In one batch a spec that names a tool beats one that does not, whatever their order.
func NewPlan(specs []Spec, req Request) (*Plan, error) {
	if len(specs) == 0 {
		return &Plan{root: req.Root, look: System{req.Root}}, nil
	}
	pl := &planner{req: req, p: &Plan{root: req.Root, look: System{req.Root}}, gains: map[string][]want{}, places: req.places()}
	ordered := slices.Clone(specs)
	slices.SortStableFunc(ordered, func(a, b Spec) int { return min(len(a.tool), 1) - min(len(b.tool), 1) })
	for _, s := range ordered {
		if err := pl.add(s); err != nil {
			return nil, fmt.Errorf("%s: %w", show.Visible(s.String()), err)
		}
	}
	if err := pl.nested(); err != nil {
		return nil, err
	}
	if err := pl.rules(); err != nil {
		return nil, err
	}
	pl.approvals()
	pl.confirmations()
	return pl.p, nil
}

type planner struct {
	req  Request
	p    *Plan
	want []want
	// places are what the targets are compared with.
	places consent.Places
	// gains are the wants that add a rule, by link, for the confirmations.
	gains map[string][]want
}

// want says that a tool is to use a link.
type want struct {
	tool, path string
	mode       Mode
	// scoped: the spec names the tool.
	scoped bool
}

// places are what a target is compared with.
func (r Request) places() consent.Places {
	return consent.Places{Root: r.Root, Home: r.Home, State: r.State, Config: r.Config}.Canonical()
}

// Caution says what is risky about a target that somebody else's configuration names.
// The request needs no tools and rules for it.
func (r Request) Caution(target string) string { return r.places().Caution(target) }

func (pl *planner) add(s Spec) error {
	tools, err := pl.req.scope(s)
	if err != nil {
		return err
	}
	link, err := pl.link(s)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(pl.p.links, func(l Link) bool { return l.Path == link.Path })
	switch {
	case at < 0:
		pl.p.links = append(pl.p.links, link)
	case pl.p.links[at].Target != link.Target:
		return fmt.Errorf("%s is mounted twice in one command, with different targets\nchoose another name for one of them", show.Visible(link.Path.String()))
	}
	for _, tool := range tools {
		w := want{tool, link.Path.Slash(), s.mode, s.tool != ""}
		pl.want = slices.DeleteFunc(pl.want, func(o want) bool { return o.tool == w.tool && o.path == w.path })
		pl.want = append(pl.want, w)
	}
	return nil
}

// scope returns the tools that a spec is for.
func (r Request) scope(s Spec) ([]string, error) {
	if s.tool == "" {
		if len(r.Tools) == 0 {
			return nil, errors.New("no local tool is enabled\nenable one in the config, then mount again")
		}
		return r.Tools, nil
	}
	if slices.Contains(r.Tools, s.tool) {
		return []string{s.tool}, nil
	}
	problem := "there is no tool " + show.Visible(s.tool)
	if why := r.NotMountable[s.tool]; why != "" {
		problem = show.Visible(s.tool) + " cannot have mounts: " + why
	}
	return nil, fmt.Errorf("%s\nthe enabled local tools are: %s", problem, strings.Join(r.Tools, ", "))
}

func (pl *planner) link(s Spec) (Link, error) {
	req := &pl.req
	name, err := ResolveName(s.name, req.Cwd, req.Root)
	if err != nil {
		return Link{}, err
	}
	target, err := pl.target(s)
	if err != nil {
		return Link{}, err
	}
	e, err := System{req.Root}.Entry(name)
	if err != nil {
		return Link{}, fmt.Errorf("the link cannot be made at %s: %w\nchoose a place in a directory of the workspace itself", show.Visible(name.String()), err)
	}
	if err := pl.place(e.Path); err != nil {
		return Link{}, err
	}
	l := Link{Path: e.Path, Target: target.Abs, Dir: target.Dir}
	shown := show.Visible(e.Path.String())
	switch {
	case e.Kind == Other:
		return Link{}, fmt.Errorf("%s exists and is no symlink\nmove it away, or choose another name", shown)
	case e.Kind == Symlink && e.Target != target.Abs:
		where := "nowhere"
		if e.Target != "" {
			where = show.Visible(e.Target)
		}
		return Link{}, fmt.Errorf("%s is a symlink already and leads to %s\ntake it away with: jphost unmount %s (or rm), or choose another name", shown, where, show.Word(e.Path.String()))
	case e.Kind == Symlink:
		l.Exists = true
	}
	return l, nil
}

// place refuses links among the host's own files. The path has its directories resolved, so a symlink does not help.
func (pl *planner) place(at wspath.Rel) error {
	if at.IsRoot() {
		return errors.New("its name is the workspace root itself\nchoose a name below it, such as fork")
	}
	if err := notReserved(at); err != nil {
		return fmt.Errorf("%s is not a place for a mount: %w\nchoose another place, such as fork", show.Visible(at.String()), err)
	}
	if pl.req.State != "" {
		abs := wspath.JoinSlash(strings.TrimSuffix(pl.req.Root, "/"), at.Slash())
		if _, ok := wspath.WithinAbs(pl.req.State, abs); ok {
			return fmt.Errorf("%s holds the host's own state\nchoose another place, such as fork", show.Visible(at.String()))
		}
	}
	return nil
}

// target resolves PATH. `~` and `~/…` mean the home directory; a relative path starts in the
// current directory.
func (pl *planner) target(s Spec) (Target, error) {
	req, p := &pl.req, filepath.ToSlash(s.path)
	shown := show.Visible(s.path)
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		if pl.places.Home == "" {
			return Target{}, errors.New("the home directory is unknown\nwrite the target as an absolute path")
		}
		p = pl.places.Home + p[1:]
	case strings.HasPrefix(p, "~"):
		return Target{}, fmt.Errorf("%s names another user's home directory, which is not looked up\nwrite the target as an absolute path", shown)
	case !filepath.IsAbs(filepath.FromSlash(p)):
		p = strings.TrimSuffix(req.Cwd, "/") + "/" + p
	}
	if req.Follow != nil {
		abs, err := req.Follow(p)
		if err != nil {
			return Target{}, err
		}
		p = abs
	}
	t, err := System{req.Root}.Target(p)
	if err == nil && req.Follow != nil && t.Abs != p {
		return Target{}, fmt.Errorf("the target %s was replaced by a symlink while it was looked at\ntry again when nothing else changes it", shown)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		help := "create it first, or correct the path"
		if i := strings.LastIndexByte(p, ':'); i > 0 && !strings.Contains(p[i:], "/") {
			help += "; the modes are :ro and :rw, not " + show.Visible(p[i:])
		}
		return Target{}, fmt.Errorf("the target %s does not exist\n%s", shown, help)
	case err != nil:
		return Target{}, fmt.Errorf("the target %s cannot be resolved: %w", shown, err)
	case !t.Dir && !t.File:
		return Target{}, fmt.Errorf("the target %s is neither a directory nor a regular file\nmount the directory or file that is meant", shown)
	}
	if rest, ok := wspath.WithinAbs(req.Root, t.Abs); ok {
		rest = path.Join(".", rest)
		return Target{}, fmt.Errorf("the target %s is inside the workspace, at %s\nno mount is needed: grant it with a rule on that path in access.fs", shown, show.Visible(rest))
	}
	if req.State != "" {
		if _, ok := wspath.WithinAbs(req.State, t.Abs); ok {
			return Target{}, fmt.Errorf("the target %s is the host's own state, with its approvals\nno tool may reach it", shown)
		}
	}
	return t, nil
}

// nested refuses a link below another link of the batch: its directory would be outside the workspace.
func (pl *planner) nested() error {
	for _, a := range pl.p.links {
		for _, b := range pl.p.links {
			if _, ok := wspath.Within(a.Path.Slash(), b.Path.Slash()); ok && a.Path != b.Path {
				return fmt.Errorf("%s lies below %s, which becomes a link out of the workspace\nchoose names side by side", show.Visible(b.Path.String()), show.Visible(a.Path.String()))
			}
		}
	}
	return nil
}

func (pl *planner) approvals() {
	for _, l := range pl.p.links {
		b := consent.Binding{RulePath: l.Path.Slash(), Target: l.Target}
		if pl.req.Approved(b).Verdict != consent.Approved {
			pl.p.bindings = append(pl.p.bindings, b)
		}
	}
}
