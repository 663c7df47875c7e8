// Package mount makes and removes external mounts (RFD D43, "--mount and --no-mount"): a symlink in
// the workspace, an approval of its target, and rules for the tools that may use it.
//
// Planning changes nothing: [NewPlan] reads the facts and decides everything,
// including what a person must confirm. [Plan.Confirm] asks, [Plan.Apply] does all of it or nothing.
//
// It does not stop somebody who can write in the workspace from replacing a link afterwards:
// that is what approvals and the check at compile time are for.
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
	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
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
	look interface {
		Target(abs string) (Target, error)
		Entry(rel wspath.Rel) (Entry, error)
	}
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
	p := &Plan{root: req.Root, look: System{req.Root}, delta: Delta{Tools: map[string]ToolDelta{}}}
	pl := &planner{req: req, p: p, gains: map[string][]want{}, here: req.here()}
	ordered := slices.Clone(specs)
	slices.SortStableFunc(ordered, func(a, b Spec) int { return min(len(a.tool), 1) - min(len(b.tool), 1) })
	for _, s := range ordered {
		if err := pl.add(s); err != nil {
			return nil, fmt.Errorf("%s: %w", show.Visible(s.String()), err)
		}
	}
	for _, a := range p.links {
		for _, b := range p.links {
			if _, ok := wspath.Within(a.Path.Slash(), b.Path.Slash()); ok && a.Path != b.Path { // its directory would be outside
				return nil, fmt.Errorf("%s lies below %s, which becomes a link out of the workspace\nchoose names side by side", show.Visible(b.Path.String()), show.Visible(a.Path.String()))
			}
		}
	}
	if err := pl.rules(); err != nil {
		return nil, err
	}
	pl.confirmations()
	return p, nil
}

type planner struct {
	req  Request
	p    *Plan
	want []want
	// here is what the targets are compared with.
	here places.Here
	// gains are the wants that add a rule, by link, for the confirmations.
	gains map[string][]want
}

// want says that a tool is to use a link.
type want struct {
	tool, path string
	write      bool
	// scoped: the spec names the tool.
	scoped bool
}

// here is what a target is compared with.
func (r Request) here() places.Here {
	return places.Here{Root: r.Root, Home: r.Home, State: r.State, Config: r.Config}.Canonical()
}

// Caution says what is risky about a target that somebody else's configuration names.
// The request needs no tools and rules for it.
func (r Request) Caution(target string) string { return r.here().Caution(target) }

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
		w := want{tool, link.Path.Slash(), s.write, s.tool != ""}
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
		if pl.here.Home == "" {
			return Target{}, errors.New("the home directory is unknown\nwrite the target as an absolute path")
		}
		p = pl.here.Home + p[1:]
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

// rules decides which rules each tool gains. A rule that the tool already has is not added twice. A rule with
// another mode is added, and wins: of two rules on one path the later counts.
func (pl *planner) rules() error {
	for _, w := range pl.want {
		have := pl.req.Rules[w.tool]
		added := pl.p.delta.Tools[w.tool].FS
		r := jptool.FsRule{Path: w.path, External: true, Read: new(true)}
		if w.write {
			r.Write = new(true)
		}
		counts := jptool.FsRule{} // of the rules on exactly this path
		for _, h := range have {
			if pl.req.rulePath(h) == w.path {
				counts = h
			}
		}
		if counts.External && counts.Caps() == r.Caps() {
			continue
		}
		if len(have)+len(added) == 0 {
			added = append(added, Preserved())
		}
		added = append(added, r)
		if err := pl.overlap(w.tool, have, added); err != nil {
			return err
		}
		pl.p.delta.Tools[w.tool] = ToolDelta{FS: added}
		pl.gains[w.path] = append(pl.gains[w.path], w)
	}
	return nil
}

// rulePath returns a rule's path in the form that links have, so that different spellings of a path
// are equal. A path that cannot be resolved stays as it is written; "" is returned for what is no path.
func (r Request) rulePath(rule jptool.FsRule) string {
	rel, err := jptool.RulePath(rule.Path, r.Root)
	if err != nil {
		return ""
	}
	if rule.External && !rel.IsRoot() {
		if e, err := (System{r.Root}).Entry(rel); err == nil {
			return e.Path.Slash()
		}
	}
	return rel.Slash()
}

// overlap refuses two mounts of one tool that reach the same files with different rights. Compiling
// the policy would refuse them at every call; here a person can still choose.
func (pl *planner) overlap(tool string, have, added []jptool.FsRule) error {
	type placed struct {
		path, target string
		caps         jptool.Caps
	}
	var all []placed
	for _, r := range have {
		if !r.External || r.Caps() == 0 {
			continue
		}
		path := pl.req.rulePath(r)
		rel, err := wspath.Parse(path)
		if err != nil {
			continue
		}
		e, err := System{pl.req.Root}.Entry(rel)
		if err != nil || e.Target == "" || pl.req.Approved(consent.Binding{RulePath: path, Target: e.Target}).Verdict != consent.Approved {
			continue
		}
		all = append(all, placed{path, e.Target, r.Caps()})
	}
	for _, r := range added {
		for _, l := range pl.p.links {
			if r.External && l.Path.Slash() == r.Path {
				all = append(all, placed{r.Path, l.Target, r.Caps()})
			}
		}
	}
	for _, outer := range all {
		for _, inner := range all {
			below, ok := wspath.WithinAbs(outer.target, inner.target)
			if !ok || outer.caps == inner.caps || wspath.JoinSlash(outer.path, below) == inner.path {
				continue
			}
			return fmt.Errorf("for %s the mounts %s and %s reach the same files with different rights\ngive both the same mode, or take one away first",
				show.Visible(tool), show.Visible(outer.path), show.Visible(inner.path))
		}
	}
	return nil
}

// Reason says what a confirmation is about.
type Reason string

// The reasons for which a mount is confirmed. Who names the tool in the command has confirmed the
// scope; the others always need an answer.
const (
	// ToolScope: a mount for every enabled local tool (RFD D43, "Mode rules").
	ToolScope Reason = "tool scope"
	// Retarget: the name was approved for another target before.
	Retarget Reason = "retarget"
	// Broad: the target is the whole system, the home directory, or holds the
	// workspace or the home directory.
	Broad Reason = "broad target"
	// Sensitive: the target is or holds a place of secrets, or of settings that programs obey.
	Sensitive Reason = "sensitive target"
)

// Confirmation is one thing a person must agree to before a plan is applied.
type Confirmation struct {
	Reason Reason
	// Paths are the links concerned.
	Paths []string
	// Body and Prompt are the question; values in it are made visible.
	Body, Prompt string
	// Remedy says what to do where nobody can be asked.
	Remedy string
}

// Question is the confirmation as a prompt; an empty answer is no.
func (c Confirmation) Question() term.BoolQuestion {
	return term.BoolQuestion{Message: term.Message{Body: c.Body}, Prompt: c.Prompt, Default: term.No()}
}

// confirm adds what a person must agree to about the links at paths.
func (pl *planner) confirm(why Reason, body, prompt, remedy string, paths ...string) {
	pl.p.confirm = append(pl.p.confirm, Confirmation{Reason: why, Paths: paths, Body: body, Prompt: prompt, Remedy: remedy})
}

// confirmations finds out what is not approved yet, and what a person must agree to.
func (pl *planner) confirmations() {
	pl.confirmScope()
	for _, l := range pl.p.links {
		path := l.Path.Slash()
		b := consent.Binding{RulePath: path, Target: l.Target}
		was := pl.req.Approved(b)
		if was.Verdict != consent.Approved {
			pl.p.bindings = append(pl.p.bindings, b)
		}
		if was.Verdict == consent.Retargeted {
			q := consent.Question(consent.Request{Binding: b}, was)
			pl.confirm(Retarget, q.Body, q.Prompt, "revoke the old target first: jphost approvals revoke "+show.Word(path), path)
		}
		if l.Exists && was.Verdict == consent.Approved && len(pl.gains[path]) == 0 {
			continue // nothing new about it
		}
		pl.confirmTarget(l)
	}
}

func (pl *planner) confirmScope() {
	var b strings.Builder
	var paths []string
	for _, l := range pl.p.links {
		var tools []string
		for _, g := range pl.gains[l.Path.Slash()] {
			if !g.scoped {
				tools = append(tools, show.Visible(g.tool))
			}
		}
		if len(tools) == 0 {
			continue
		}
		paths = append(paths, l.Path.Slash())
		fmt.Fprintf(&b, "  %s → %s\n    read: %s\n", show.Visible(l.Path.String()), show.Visible(l.Target), strings.Join(tools, ", "))
	}
	if len(paths) == 0 {
		return
	}
	granted := show.Name(paths[0])
	if more := len(paths) - 1; more > 0 {
		granted += fmt.Sprintf(" and %d more", more)
	}
	pl.confirm(ToolScope, "This mounts for every enabled local tool:\n\n"+b.String()+"\n", "Grant "+granted+" to all of them?",
		"name the tool instead, once for each: TOOL:NAME=PATH", paths...)
}

func (pl *planner) confirmTarget(l Link) {
	path := l.Path.Slash()
	remedy := "mount the one directory that is needed instead"
	mode := "read"
	for _, g := range pl.gains[path] {
		if g.write {
			mode = "read and change"
		}
	}
	head := fmt.Sprintf("  %s → %s\n\n", show.Visible(l.Path.String()), show.Visible(l.Target))
	if what := pl.here.Broad(l.Target); what != "" {
		pl.confirm(Broad, head+"The target is "+what+". Tools could "+mode+" everything in it.\n\n",
			"Mount all of "+show.Name(l.Target)+"?", remedy, path)
	}
	if found := pl.here.Sensitive(l.Target); len(found) > 0 {
		pl.confirm(Sensitive, head+"Tools could "+mode+":\n"+strings.Join(found, "")+"\n",
			"Mount "+show.Name(l.Target)+" all the same?", remedy, path)
	}
}
