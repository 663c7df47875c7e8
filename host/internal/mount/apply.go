package mount

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Env is what applying needs.
type Env struct {
	Store *consent.Store
	// Persist stores the delta in the conversation, as the last step; nil stores nothing.
	Persist func(context.Context, Delta) error
}

// ErrDeclined: the person said no to a confirmation, or there was nobody to ask.
var ErrDeclined = errors.New("not mounted")

// Confirm asks a person to agree to the plan. shown is an earlier plan of the same batch that they agreed to, or nil:
// what it asked, for the same links, is not asked twice. The caller must not hold a lock meanwhile,
// since a person takes their time. It makes the plan anew before it applies it (see [Plan.Confirmed]).
func (p *Plan) Confirm(ctx context.Context, prompter term.Prompter, shown *Plan) error {
	for _, c := range p.confirm {
		if p.showed(shown, c) {
			continue
		}
		answer, err := prompter.Bool(ctx, c.Question())
		switch {
		case errors.Is(err, term.ErrNoTerminal):
			return fmt.Errorf("%w: %s needs a confirmation (%s), and %w\n%s", ErrDeclined, visibleList(c.Paths), c.Reason, err, c.Remedy)
		case err != nil:
			return fmt.Errorf("%w: %w", ErrDeclined, err)
		case !answer.Yes:
			return fmt.Errorf("%w: the %s of %s was declined", ErrDeclined, c.Reason, visibleList(c.Paths))
		}
	}
	return nil
}

// Confirmed reports whether nothing is left to ask once a person agreed to the plan shown, nil for none.
func (p *Plan) Confirmed(shown *Plan) bool {
	return shown == nil && len(p.confirm) == 0 || p.sameLinks(shown) &&
		!slices.ContainsFunc(p.confirm, func(c Confirmation) bool { return !p.showed(shown, c) })
}

func (p *Plan) showed(shown *Plan, c Confirmation) bool {
	return p.sameLinks(shown) && slices.ContainsFunc(shown.confirm, func(o Confirmation) bool {
		return o.Reason == c.Reason && o.Body == c.Body && slices.Equal(o.Paths, c.Paths)
	})
}

// sameLinks compares where the links lead; one may have been made meanwhile.
func (p *Plan) sameLinks(o *Plan) bool {
	return o != nil && slices.EqualFunc(p.links, o.links, func(a, b Link) bool {
		return a.Path == b.Path && a.Target == b.Target && a.Dir == b.Dir
	})
}

// Apply does all of the batch, or nothing. It checks that the facts are still the same, makes the links, stores
// the approvals and then the rules; if a step fails, the earlier ones are undone. It
// asks nothing: Confirm did. A crash can leave links behind, which grant nothing,
// and directories that were made for them. The caller must have the conversation's lock.
func (p *Plan) Apply(ctx context.Context, env Env) (err error) {
	if err := p.verify(false); err != nil {
		return err
	}
	root, err := wspath.OpenDir(p.root)
	if err != nil {
		return fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	var undo []undoStep
	defer func() {
		if err == nil {
			return
		}
		for _, step := range slices.Backward(undo) {
			if e := step.undo(); e != nil {
				err = fmt.Errorf("%w\nand %s could not be taken back: %w", err, step.what, e)
			}
		}
	}()
	for _, l := range p.links {
		if l.Exists {
			continue
		}
		steps, err := p.make(root, l)
		undo = append(undo, steps...)
		if err != nil {
			return fmt.Errorf("mounting %s: %w", show.Visible(l.Path.String()), err)
		}
	}
	// A link that somebody replaced meanwhile would get the approval of another target.
	if err := p.verify(true); err != nil {
		return err
	}
	if len(p.bindings) > 0 {
		revert, err := env.Store.Record(ctx, p.bindings...)
		if err != nil {
			return fmt.Errorf("storing the approval: %w", err)
		}
		undo = append(undo, undoStep{"the approval", func() error { return revert(context.WithoutCancel(ctx)) }})
	}
	if env.Persist != nil && !p.delta.Empty() {
		if err := env.Persist(ctx, p.delta); err != nil {
			return fmt.Errorf("storing the mount in the conversation: %w", err)
		}
	}
	return nil
}

func visibleList(paths []string) string {
	shown := make([]string, len(paths))
	for i, p := range paths {
		shown[i] = show.Visible(p)
	}
	return strings.Join(shown, ", ")
}

// verify compares the facts with those the plan was made from, or if the links are made with what they must be then.
func (p *Plan) verify(made bool) error {
	for _, l := range p.links {
		want := Entry{Path: l.Path}
		if made || l.Exists {
			want.Kind, want.Target = Symlink, l.Target
		}
		e, err := p.look.Entry(l.Path)
		good := err == nil && e.Path == want.Path && e.Kind == want.Kind && e.Target == want.Target
		if good && !made {
			t, err := p.look.Target(l.Target)
			good = err == nil && t.Abs == l.Target && t.Dir == l.Dir
		}
		if !good {
			return fmt.Errorf("mounting %s: the workspace or the target changed in the meantime\nlook at it and try again", show.Visible(l.Path.String()))
		}
	}
	return nil
}

// make makes the link and the directories above it. It follows no symlink, so that
// nothing is made outside the workspace while others change the tree.
func (p *Plan) make(root *wspath.Dir, l Link) (undo []undoStep, err error) {
	path := l.Path.Slash()
	for i, c := range path {
		if c != '/' {
			continue
		}
		dir := path[:i]
		err := root.Mkdir(dir, 0o777)
		if err == nil {
			undo = append(undo, undoStep{show.Visible(dir), func() error { return root.RemoveDir(dir) }})
		} else if !errors.Is(err, fs.ErrExist) {
			return undo, err
		}
	}
	text := filepath.FromSlash(l.Target)
	if err := makeLink(root, p.root, text, l); err != nil {
		return undo, err
	}
	unlink := func() error { return removeLink(root, p.root, path, text) }
	return append(undo, undoStep{show.Visible(l.Path.String()), unlink}), nil
}

// undoStep takes one step back.
type undoStep struct {
	what string
	undo func() error
}

// Removal is a --no-mount, decided but not done. Only NewRemoval makes one.
type Removal struct {
	root string
	// paths are the mounts to remove, sorted.
	paths []string
	// delta removes what the conversation added for the mounts. If the rule of a mount
	// comes from another layer, it replaces the tool's rules by a snapshot without the mounts.
	delta Delta
	// frozen are, by path, the tools whose rules become a snapshot.
	frozen map[string][]string
}

// NewRemoval decides what --no-mount does with these names, or with every mount when there
// are none (RFD D43, "--no-mount"). A mount is a path with a rule of some tool that
// is external and grants something; an external rule that only denies is no mount and
// stays. A name that is no mount is an error that lists those there are.
func NewRemoval(names []string, req Request) (*Removal, error) {
	mounts := map[string]bool{}
	for _, rules := range req.Rules {
		for _, r := range rules {
			if isMount(r) {
				mounts[req.rulePath(r)] = true
			}
		}
	}
	delete(mounts, "")
	remove := mounts
	if len(names) > 0 {
		remove = map[string]bool{}
		for _, name := range names {
			path, err := req.mounted(name, mounts)
			if err != nil {
				return nil, err
			}
			remove[path] = true
		}
	}
	rm := &Removal{
		root: req.Root, paths: slices.Sorted(maps.Keys(remove)),
		delta: Delta{Tools: map[string]ToolDelta{}}, frozen: map[string][]string{},
	}
	tools := slices.Collect(maps.Keys(req.Below))
	tools = slices.AppendSeq(tools, maps.Keys(req.Stored.Tools))
	slices.Sort(tools)
	for _, tool := range slices.Compact(tools) {
		rm.tool(tool, req, remove)
	}
	return rm, nil
}

// tool decides what becomes of one tool's rules.
func (r *Removal) tool(tool string, req Request, remove map[string]bool) {
	gone := func(rule jptool.FsRule) bool { return isMount(rule) && remove[req.rulePath(rule)] }
	without := func(rules []jptool.FsRule, drop func(jptool.FsRule) bool) []jptool.FsRule {
		return slices.DeleteFunc(slices.Clone(rules), drop)
	}
	own, below := req.Stored.Tools[tool], req.Below[tool]
	kept := without(own.FS, gone)
	switch {
	case !own.Replace && slices.ContainsFunc(below, gone):
		// The rule that preserved the tool's access does not count where another layer has rules.
		kept = append(without(below, gone), without(kept, Preserves)...)
		for _, rule := range below {
			if path := req.rulePath(rule); gone(rule) && !slices.Contains(r.frozen[path], tool) {
				r.frozen[path] = append(r.frozen[path], tool)
			}
		}
		r.delta.Tools[tool] = ToolDelta{Replace: true, FS: closed(kept)}
	case len(kept) == len(own.FS):
	case own.Replace:
		r.delta.Tools[tool] = ToolDelta{Replace: true, FS: closed(kept)}
	default:
		if !slices.ContainsFunc(kept, func(rule jptool.FsRule) bool { return rule.External }) {
			kept = without(kept, Preserves)
		}
		r.delta.Tools[tool] = ToolDelta{Instead: true, FS: kept}
	}
}

// closed returns the rules for a list that replaces others. An empty list would mean unrestricted, and removing
// a mount must not open the workspace.
func closed(rules []jptool.FsRule) []jptool.FsRule {
	if len(rules) == 0 {
		return []jptool.FsRule{{Path: "."}}
	}
	return rules
}

func isMount(r jptool.FsRule) bool { return r.External && r.Caps() != 0 }

// mounted finds the mount that a name typed in the current directory means.
func (r Request) mounted(name string, mounts map[string]bool) (string, error) {
	rel, err := ResolveName(name, r.Cwd, r.Root)
	if err != nil {
		return "", err
	}
	path := r.rulePath(jptool.FsRule{Path: rel.Slash(), External: true})
	if mounts[path] {
		return path, nil
	}
	if mounts[rel.Slash()] {
		return rel.Slash(), nil
	}
	there := "there are no mounts"
	if list := visibleList(slices.Sorted(maps.Keys(mounts))); list != "" {
		there = "the mounts are: " + list
	}
	return "", fmt.Errorf("%s: no external rule names it\n%s", show.Visible(name), there)
}

// Removed is what became of one mount's link.
type Removed struct {
	Path string `json:"path"`
	// Unlinked says that the link is gone; Note says why it was not there or was left.
	Unlinked bool   `json:"unlinked"`
	Note     string `json:"note,omitempty"`
	// Frozen are the tools whose rules the conversation now replaces by a snapshot, because
	// the rule of the mount comes from another layer.
	Frozen []string `json:"frozen,omitempty"`
}

// Apply removes the rules from the conversation first, then the approvals, and the links last, so that a failure
// half-way leaves less access, never more. It removes only symlinks (junctions on Windows)
// that lead outside the workspace or nowhere. It asks nothing.
func (r *Removal) Apply(ctx context.Context, env Env) ([]Removed, error) {
	if len(r.paths) == 0 {
		return nil, nil
	}
	if env.Persist != nil && !r.delta.Empty() {
		if err := env.Persist(ctx, r.delta); err != nil {
			return nil, fmt.Errorf("storing the removal in the conversation: %w", err)
		}
	}
	if _, err := env.Store.Revoke(ctx, r.paths...); err != nil {
		return nil, fmt.Errorf("revoking the approvals: %w", err)
	}
	root, err := wspath.OpenDir(r.root)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	defer root.Close()
	var done []Removed
	var failed []string
	for _, path := range r.paths {
		res := Removed{Path: path, Frozen: r.frozen[path]}
		res.Note = r.unlink(root, path)
		if res.Unlinked = res.Note == ""; !res.Unlinked && res.Note != gone {
			failed = append(failed, show.Visible(path)+": "+res.Note)
		}
		done = append(done, res)
	}
	if len(failed) > 0 {
		return done, fmt.Errorf("nothing is granted any more, but some links were left:\n  %s\nremove them yourself if they are not wanted", strings.Join(failed, "\n  "))
	}
	return done, nil
}

const gone = "there was no link"

// unlink removes a link, or returns why it was left.
func (r *Removal) unlink(root *wspath.Dir, path string) string {
	var e Entry
	rel, err := wspath.Parse(path)
	if err == nil {
		e, err = System{r.root}.Entry(rel)
	}
	switch {
	case err != nil:
		return err.Error()
	case e.Kind == Missing:
		return gone
	case e.Kind == Other:
		return "it is no symlink"
	}
	if _, inside := wspath.WithinAbs(r.root, e.Target); inside && e.Target != "" {
		return "it leads to a place inside the workspace"
	}
	if err := removeLink(root, r.root, e.Path.Slash(), e.Text); err != nil {
		return err.Error()
	}
	return ""
}
