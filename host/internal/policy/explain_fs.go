package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// Question asks about capabilities on a path.
type Question struct {
	// Capability is read, create, update, delete, execute, or write for create, update and delete.
	Capability string
	// Path is workspace-relative.
	Path string
	// Also are further capabilities that the tool needs to do it.
	Also jptool.Caps
}

// ExplainFS answers a question by the declared policy alone.
func (d *Declared) ExplainFS(capability, path string) (Explanation, error) {
	return d.ExplainHeld(nil, Question{Capability: capability, Path: path})
}

// ExplainHeld says whether a capability is granted on a workspace-relative path, and why: by the declared policy
// and, with h, by the part of it that is enforced. It returns an error only if the question names no capability or
// no usable path, or the workspace cannot be opened. It reads the file system to resolve links and, with h, to
// find directories that would have to be created first; it does not say whether the path exists.
func (d *Declared) ExplainHeld(h *Held, q Question) (Explanation, error) {
	e := Explanation{Type: "fs", Target: q.Path, Capability: q.Capability}
	need, ok := jptool.ParseCapability(q.Capability)
	if !ok {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "%q is not a capability\nwrite read, create, update, delete, execute, or write for create, update and delete", q.Capability)
	}
	need |= q.Also
	ws, err := d.Open()
	if err != nil {
		return e, err
	}
	defer ws.Close()
	rel, err := wspath.Parse(q.Path)
	if err != nil {
		return e, &jptool.PathError{Path: q.Path, Err: err}
	}
	// Creating and deleting are about the entry, all else about what it leads to.
	const entry = jptool.Create | jptool.Delete
	parts := slices.DeleteFunc([]part{{need: need &^ entry}, {need: need & entry}}, func(p part) bool { return p.need == 0 })
	for i := range parts {
		part := parts[i].need
		target, err := checkFor(part)(ws, q.Path, 0)
		if err != nil {
			d.unreachable(&e, rel, err)
			return e, nil
		}
		if d.decide(&e, target, part, need); !e.Allowed {
			if e.Rule == nil && e.Reason == unmatched {
				e.Reason += d.noDefault()
			}
			return e, d.weaker(&e, h, q.Path, part)
		}
		parts[i].rule = e.Rule
		if h == nil {
			continue
		}
		if part.Has(jptool.Create) && slices.Contains(h.Made, target.Path()) {
			e.Allowed, e.Code = false, jptool.CodeWrongType
			e.Reason = fmt.Sprintf("the directory %q is made there for the call, because the rule on it is written with a slash at its end, or an argument names something below it", target.Path())
			e.Remedy = "name something in it; for a file, write the rule without the slash, and create the file before the call"
			return e, nil
		}
		if dir := missingParent(target, part, h.Made); dir != nil {
			d.orphaned(&e, target, dir)
			return e, nil
		}
	}
	if h == nil {
		return e, nil
	}
	if link, hidden := d.hiddenLink(h, rel, need); hidden {
		e.Allowed, e.Code, e.Declared, e.Granted = false, jptool.CodeNotFound, e.Granted, nil
		e.Reason = fmt.Sprintf("the path leads through the symlink %q, which lies in what is hidden from the tool", link)
		e.Remedy = "name the place that it leads to, or grant read where the link lies"
		return e, nil
	}
	if h.Access != nil && h.Access != d.Access {
		if err := d.less(&e, h, q.Path, parts); err != nil {
			return e, err
		}
	}
	if e.Allowed && h.Refused != "" {
		e.Allowed, e.Code, e.Declared, e.Reason, e.Remedy = false, jptool.CodeAccessDenied, e.Granted, h.Refused, h.Remedy
		e.Granted = nil
	}
	return e, nil
}

// part are capabilities of one question that are judged together, and the rule that grants them.
type part struct {
	need jptool.Caps
	rule *Rule
}

// checkFor returns the check for capabilities: on the content of a path, or on its entry.
func checkFor(need jptool.Caps) func(*jptool.Workspace, string, jptool.Caps) (*jptool.Target, error) {
	if need&(jptool.Create|jptool.Delete) != 0 {
		return (*jptool.Workspace).CheckEntry
	}
	return (*jptool.Workspace).CheckContent
}

// isDirectory reports whether the target is a directory. A question about creating a directory that exists means
// creating something in it.
func isDirectory(t *jptool.Target) bool {
	fi, err := t.Lstat()
	return err == nil && fi.IsDir()
}

// unreachable explains a path that resolves to nothing that a rule could grant.
func (d *Declared) unreachable(e *Explanation, rel wspath.Rel, err error) {
	e.Allowed, e.Code, e.Reason = false, jptool.CodeOf(err), err.Error()
	if r, lost := d.lostAt(rel); lost != nil {
		e.decidedBy(r)
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
func (d *Declared) lostAt(rel wspath.Rel) (*Rule, *Dropped) {
	for i := range d.sources {
		if d.sources[i].dropped == 0 {
			continue
		}
		r := &d.rules.Placed[i]
		_, a := wspath.Within(jptool.Fold(r.Written()), jptool.Fold(rel.Slash()))
		_, b := wspath.Within(jptool.Fold(r.Name), jptool.Fold(rel.Slash()))
		if a || b {
			return &d.sources[i].Rule, &d.Dropped[d.sources[i].dropped-1]
		}
	}
	return nil, nil
}

// advice is the path that a remedy proposes a rule for, and what is granted there now.
type advice struct {
	path    string
	granted jptool.Caps
}

// decide judges the capabilities in need; asked are all capabilities of the question. For the kernel, creating and
// deleting are rights on the directory, so that the remedy for them names the directory; otherwise it names the
// target.
func (d *Declared) decide(e *Explanation, t *jptool.Target, need, asked jptool.Caps) {
	x := t.Explain(need)
	e.Canonical, e.Granted = x.Path, x.Granted.Names()
	on := advice{x.Path, x.Granted}
	if entry := asked & (jptool.Create | jptool.Delete); entry != 0 && !t.IsRoot() && !(entry.Has(jptool.Create) && isDirectory(t)) {
		dir := t.Parent()
		on = advice{dir.Path(), dir.GrantedInside()}
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
	missing := asked
	if asked.Has(jptool.Update) && (d.Needs == nil || d.Needs.Has(jptool.Read)) {
		missing |= jptool.Read
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
		e.Remedy = fmt.Sprintf("add %s to %s", suggestion(on.path, on.granted|missing), d.list("fs"))
	default:
		e.Reason = fmt.Sprintf("the rule on %q decides, and grants %s", e.Rule.Name, e.Rule.Caps.Only())
		e.Remedy = d.remedy(e, x, on, missing)
	}
	if needs := d.Needs; needs != nil && !needs.Has(lacking) && !x.Pinned && !root {
		e.Reason += fmt.Sprintf("; besides, the tool states that it needs only %s (needs.fs, %s)", *needs, d.needsOrigin)
		add := fmt.Sprintf("add %s to needs.fs of the tool", quoted((asked &^ *needs).Names()))
		if e.Rule != nil && e.Rule.Stated.Has(need) && e.Rule.Origin != SelfProtection {
			e.Reason = fmt.Sprintf("the rule on %q would grant it, but the tool states that it needs only %s (needs.fs, %s)", e.Rule.Name, *needs, d.needsOrigin)
			e.Remedy = add
		} else {
			e.Remedy += "; and " + add
		}
	}
}

// remedy says what would have to change in or beside the rule that decided.
func (d *Declared) remedy(e *Explanation, x jptool.Explanation, on advice, missing jptool.Caps) string {
	for i := range d.sources {
		s := &d.sources[i]
		if s.dropped > 0 && !d.rules.Placed[i].Gone && s.Index == e.Rule.Index && d.Dropped[s.dropped-1].Command != "" {
			return "approve its target: " + d.Dropped[s.dropped-1].Command
		}
	}
	add := suggestion(on.path, on.granted|missing)
	switch here := e.Rule.Name == x.Path; {
	case e.Rule.Origin == SelfProtection || strings.Contains(e.Rule.Note, "self-protection"):
		return fmt.Sprintf("add %s to %s in your own configuration (the user's file, or the one for this workspace); a rule of the repository does not count here", suggestion(x.Path, x.Granted|missing), d.list("fs"))
	case e.Rule.Origin == BuiltIn:
		return fmt.Sprintf("add %s to %s; the default then no longer applies", add, d.list("fs"))
	case here && on.path != x.Path && !on.granted.Has(missing):
		return fmt.Sprintf("change that rule: add %s, and add %s to %s", fit.GrantText(missing&^x.Granted), add, d.list("fs"))
	case here:
		return "change that rule: add " + fit.GrantText(missing&^x.Granted)
	case e.Rule.Name == on.path:
		return "change that rule: add " + fit.GrantText(missing&^on.granted)
	}
	return fmt.Sprintf("change that rule, or add a more specific one to %s: %s", d.list("fs"), add)
}

const unmatched = "no rule matches it"

// noDefault says why the default for the workspace does not hold, for a tool that has rules.
func (d *Declared) noDefault() string {
	for i := range d.sources {
		if s := &d.sources[i]; s.people {
			return fmt.Sprintf("; the built-in default for \".\" was dropped, because there are rules (the first at %s)", s.Origin)
		}
	}
	return ""
}

func suggestion(path string, caps jptool.Caps) string {
	r := fit.FsRule(path, caps)
	return fit.FsText(&r)
}

// misses adds the rules that would grant it: less specific ones above the path, or ones for other paths.
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
