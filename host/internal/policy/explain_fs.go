package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// ExplainFS says whether the capability (read, create, update, delete, execute, or write
// for all three) is granted on a workspace-relative path, and why. The error is for
// input that is no capability or no usable path, or for a workspace that cannot be opened;
// everything else is an answer. It reads the file system for where links lead, and says
// nothing about whether the path exists.
func (d *Declared) ExplainFS(capability, path string) (Explanation, error) {
	e := Explanation{Type: "fs", Target: path, Capability: capability}
	need, ok := jptool.ParseCapability(capability)
	if !ok {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "%q is not a capability\nwrite read, create, update, delete, execute, or write for create, update and delete", capability)
	}
	ws, err := d.workspace()
	if err != nil {
		return e, err
	}
	rel, err := wspath.Parse(path)
	if err != nil {
		return e, &jptool.PathError{Path: path, Err: err}
	}
	// Creating and deleting are about the entry, all else about what it leads to.
	for _, part := range []jptool.Caps{need &^ (jptool.Create | jptool.Delete), need & (jptool.Create | jptool.Delete)} {
		if part == 0 {
			continue
		}
		check := ws.CheckContent
		if part&(jptool.Create|jptool.Delete) != 0 {
			check = ws.CheckEntry
		}
		target, err := check(path, 0)
		if err != nil {
			d.unreachable(&e, rel, err)
			return e, nil
		}
		if d.decide(&e, target, part, need, ""); !e.Allowed {
			if e.Rule == nil && e.Reason == unmatched {
				e.Reason += d.noDefault()
			}
			return e, nil
		}
	}
	return e, nil
}

// unreachable answers for a path that resolves to nothing that a rule could grant.
func (d *Declared) unreachable(e *Explanation, rel wspath.Rel, err error) {
	e.Allowed, e.Code, e.Reason = false, jptool.CodeOf(err), err.Error()
	if i, lost := d.lostAt(rel); lost != nil {
		e.decidedBy(d.fsRuleOf(i))
		e.Reason = fmt.Sprintf("the rule on %q grants nothing: %s", lost.Path, lost.Reason)
		e.Remedy = "make the link lead somewhere, or remove the rule"
		if lost.Command != "" {
			e.Remedy = "approve its target: " + lost.Command
		}
		return
	}
	switch {
	case e.Code == jptool.CodePathEscape:
		e.Remedy = "add a rule with external = true on the link itself to " + d.list("fs") + ", or mount the place: jphost mount NAME=PATH"
	case errors.Is(err, wspath.ErrDangling):
		e.Remedy = "repair the link"
	default:
		e.Remedy = "look at the path"
	}
}

// lostAt finds the dropped external rule whose link a path goes through.
func (d *Declared) lostAt(rel wspath.Rel) (int, *Dropped) {
	for i := range d.fs {
		r := &d.fs[i]
		if r.lost == 0 {
			continue
		}
		written, err := wspath.Parse(d.Dropped[r.lost-1].Path)
		if err != nil {
			continue
		}
		_, a := wspath.Within(fold(written.Slash()), fold(rel.Slash()))
		_, b := wspath.Within(fold(r.path), fold(rel.Slash()))
		if a || b {
			return i, &d.Dropped[r.lost-1]
		}
	}
	return -1, nil
}

// fsRuleOf is the rule of Access that the i-th rule became.
func (d *Declared) fsRuleOf(i int) *Rule {
	if d.fs[i].gone {
		r := d.fs[i].rule
		return &r
	}
	index := 0
	for j := range i {
		if !d.fs[j].gone {
			index++
		}
	}
	return d.rule("fs", index)
}

// decide judges the capabilities in need; asked are all that the question is about. A remedy is
// for the path at, or for the target itself.
func (d *Declared) decide(e *Explanation, t *jptool.Target, need, asked jptool.Caps, at string) {
	x := t.Explain(need)
	e.Canonical, e.Granted = x.Path, x.Granted.Names()
	if at != "" {
		x.Path = at
	}
	e.Rule, e.Origin, e.NearMisses = nil, "", nil
	if x.Matched {
		e.decidedBy(d.rule("fs", x.Index))
	}
	root := need&(jptool.Create|jptool.Delete) != 0 && t.IsRoot()
	e.Allowed = x.Allowed && !root
	switch {
	case e.Allowed && e.Rule == nil:
		e.Reason = "file access is not restricted in the workspace"
		return
	case e.Allowed:
		e.Reason = fmt.Sprintf("the rule on %q grants %s", e.Rule.Name, e.Rule.Caps)
		return
	}
	e.Code = jptool.CodeAccessDenied
	d.misses(e, x)
	lacking := need &^ x.Granted
	// The remedy is for all that was asked, and changing a file needs reading it too.
	missing := asked &^ x.Granted
	if asked.Has(jptool.Update) && (d.Needs == nil || d.Needs.Has(jptool.Read)) {
		missing |= jptool.Read &^ x.Granted
	}
	switch {
	case root:
		e.Reason = "it is the root of the workspace or of a mount, which is neither created nor removed"
		e.Remedy = "name something in it"
	case x.Pinned && (e.Rule == nil || e.Rule.Caps.Has(need)):
		e.Reason = "the entry is pinned: it may be neither created, removed, renamed nor replaced, because a rule depends on it"
		e.Remedy = "remove the rule that leads through it, or act on what it leads to"
	case e.Rule == nil:
		e.Reason = unmatched
		e.Remedy = fmt.Sprintf("add %s to %s", suggestion(x.Path, missing), d.list("fs"))
	default:
		e.Reason = fmt.Sprintf("the rule on %q decides, and grants %s", e.Rule.Name, onlyCaps(e.Rule.Caps))
		e.Remedy = d.remedy(e, x, missing)
	}
	if needs := d.Needs; needs != nil && !needs.Has(lacking) && !x.Pinned && !root {
		e.Reason += fmt.Sprintf("; besides, the tool states that it needs only %s (needs.fs, %s)", *needs, d.model.needsOrigin)
		add := fmt.Sprintf("add %s to needs.fs of the tool", quoted((asked &^ *needs).Names()))
		if e.Rule != nil && e.Rule.Stated.Has(need) && e.Rule.Origin != SelfProtection {
			e.Reason = fmt.Sprintf("the rule on %q would grant it, but the tool states that it needs only %s (needs.fs, %s)", e.Rule.Name, *needs, d.model.needsOrigin)
			e.Remedy = add
		} else {
			e.Remedy += "; and " + add
		}
	}
}

// remedy says what would have to change in or beside the rule that decided.
func (d *Declared) remedy(e *Explanation, x jptool.Explanation, missing jptool.Caps) string {
	for i := range d.fs {
		if d.fs[i].lost > 0 && d.fsRuleOf(i) == e.Rule && d.Dropped[d.fs[i].lost-1].Command != "" {
			return "approve its target: " + d.Dropped[d.fs[i].lost-1].Command
		}
	}
	add := suggestion(x.Path, x.Granted|missing)
	switch {
	case e.Rule.Origin == SelfProtection || strings.Contains(e.Rule.Note, "self-protection"):
		return fmt.Sprintf("add %s to %s in your own configuration (the user's file, or the one for this workspace); a rule of the repository does not count here", add, d.list("fs"))
	case e.Rule.Origin == BuiltIn:
		return fmt.Sprintf("add %s to %s; the default then no longer applies", add, d.list("fs"))
	case e.Rule.Name == x.Path:
		return "change that rule: add " + grantText(missing)
	}
	return fmt.Sprintf("change that rule, or add a more specific one to %s: %s", d.list("fs"), add)
}

const unmatched = "no rule matches it"

// noDefault says why the default for the workspace does not hold, for a tool that has rules.
func (d *Declared) noDefault() string {
	for i := range d.fs {
		if r := &d.fs[i]; r.people {
			return fmt.Sprintf("; the built-in default for \".\" was dropped, because there are rules (the first at %s)", r.rule.Origin)
		}
	}
	return ""
}

func suggestion(path string, caps jptool.Caps) string {
	r := FsRule(path, caps)
	return FsText(&r)
}

func onlyCaps(c jptool.Caps) string {
	if c == 0 {
		return "nothing"
	}
	return "only " + c.String()
}

// misses are the rules that would grant it: above the one that decided, or elsewhere.
func (d *Declared) misses(e *Explanation, x jptool.Explanation) {
	add := func(path, why string) {
		i := slices.IndexFunc(d.Rules, func(r Rule) bool { return r.Type == "fs" && r.Name == path && r.Caps.Has(x.Need) })
		if i >= 0 && len(e.NearMisses) < maxMisses {
			e.NearMisses = append(e.NearMisses, NearMiss{d.Rules[i].Text, d.Rules[i].Origin, why})
		}
	}
	for _, path := range x.Shadowed {
		add(path, "grants it, but a more specific rule decides here")
	}
	for _, path := range x.Elsewhere {
		add(path, "grants it, for another path")
	}
}
