package mount

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Removal is a --no-mount, decided but not done. Only NewRemoval makes one.
type Removal struct {
	root  string
	paths []wspath.Rel
	// delta removes what the conversation added for the mounts. If the rule of a mount
	// comes from another layer, it replaces the tool's rules by a snapshot without the mounts.
	delta Delta
	// frozen are, by path, the tools whose rules become a snapshot.
	frozen map[string][]string
}

// Paths are the mounts to remove, sorted.
func (r *Removal) Paths() []string {
	var list []string
	for _, p := range r.paths {
		list = append(list, p.Slash())
	}
	return list
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
	rm := &Removal{root: req.Root, delta: Delta{Tools: map[string]ToolDelta{}}, frozen: map[string][]string{}}
	for _, path := range slices.Sorted(maps.Keys(remove)) {
		rel, err := wspath.Parse(path)
		if err != nil {
			return nil, err
		}
		rm.paths = append(rm.paths, rel)
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
	if _, err := env.Store.Revoke(ctx, r.Paths()...); err != nil {
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
		res := Removed{Path: path.Slash(), Frozen: r.frozen[path.Slash()]}
		res.Note = r.unlink(root, path)
		if res.Unlinked = res.Note == ""; !res.Unlinked && res.Note != gone {
			failed = append(failed, show.Visible(path.String())+": "+res.Note)
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
func (r *Removal) unlink(root *wspath.Dir, path wspath.Rel) string {
	e, err := System{r.root}.Entry(path)
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
