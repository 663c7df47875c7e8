package mount

import (
	"fmt"
	"slices"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// rule is the rule of a mount.
func (m Mode) rule(path string) jptool.FsRule {
	yes := true
	r := jptool.FsRule{Path: path, External: true, Read: &yes}
	if m == ReadWrite {
		r.Write = &yes
	}
	return r
}

// rules decides which rules each tool gains. A rule that the tool already has is not added twice. A rule with
// another mode is added, and wins: of two rules on one path the later counts.
func (pl *planner) rules() error {
	for _, w := range pl.want {
		have := pl.req.Rules[w.tool]
		added := pl.p.delta.Tools[w.tool].FS
		r := w.mode.rule(w.path)
		if last := pl.req.last(have, w.path); last != nil && last.External && last.Caps() == r.Caps() {
			continue
		}
		if len(have)+len(added) == 0 {
			added = append(added, Preserved())
		}
		added = append(added, r)
		if err := pl.overlap(w.tool, have, added); err != nil {
			return err
		}
		if pl.p.delta.Tools == nil {
			pl.p.delta.Tools = map[string]ToolDelta{}
		}
		pl.p.delta.Tools[w.tool] = ToolDelta{FS: added}
		pl.gains[w.path] = append(pl.gains[w.path], w)
	}
	return nil
}

// last returns the rule that counts for exactly this path, or nil.
func (r Request) last(rules []jptool.FsRule, path string) *jptool.FsRule {
	for i := range slices.Backward(rules) {
		if r.rulePath(rules[i]) == path {
			return &rules[i]
		}
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
