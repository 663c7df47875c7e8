package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// Held is what of a declared policy holds for one call, here and now.
type Held struct {
	// Access is the effective policy.
	Access *jptool.AccessPolicy
	// Less says why a rule grants less here than it says, and what to do: by its index in the declared
	// list, -1 for the default of the workspace.
	Less func(rule int) (why, remedy string)
	// Hidden reports whether a symlink is not there for the tool; nil for none. It is asked by the canonical
	// absolute path.
	Hidden func(string) bool
	// Made are directories that are missing and that are made for the call, as the tool names them.
	Made []string
	// Refused says why the call would not be made at all, "" for one that would; Remedy what to do.
	Refused, Remedy string
}

// Question is a question about a path.
type Question struct {
	// Capability is read, create, update, delete, execute, or write for create, update and delete.
	Capability string
	// Path is workspace-relative.
	Path string
	// Also is what the tool needs besides to do it.
	Also jptool.Caps
}

// ExplainFS answers a question by the declared policy alone.
func (d *Declared) ExplainFS(capability, path string) (Explanation, error) {
	return d.ExplainHeld(nil, Question{Capability: capability, Path: path})
}

// ExplainHeld says whether a capability is granted on a workspace-relative path, and why: by the declared
// policy and, with h, by what of it holds. The error is for input that is no capability or no
// usable path, or for a workspace that cannot be opened; everything else is an answer. It reads
// the file system for where links lead and, with h, for directories that would have to be made first; it
// says nothing about whether the path exists.
func (d *Declared) ExplainHeld(h *Held, q Question) (Explanation, error) {
	e := Explanation{Type: "fs", Target: q.Path, Capability: q.Capability}
	need, ok := jptool.ParseCapability(q.Capability)
	if !ok {
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "%q is not a capability\nwrite read, create, update, delete, execute, or write for create, update and delete", q.Capability)
	}
	need |= q.Also
	ws, err := d.workspace()
	if err != nil {
		return e, err
	}
	rel, err := wspath.Parse(q.Path)
	if err != nil {
		return e, &jptool.PathError{Path: q.Path, Err: err}
	}
	// Creating and deleting are about the entry, all else about what it leads to.
	parts := slices.DeleteFunc([]jptool.Caps{need &^ (jptool.Create | jptool.Delete), need & (jptool.Create | jptool.Delete)}, func(c jptool.Caps) bool { return c == 0 })
	for _, part := range parts {
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

// hiddenLink is the first symlink on the way to a path that is not there for the tool.
func (d *Declared) hiddenLink(h *Held, rel wspath.Rel, need jptool.Caps) (string, bool) {
	if h.Hidden == nil {
		return "", false
	}
	to, err := d.rules.Resolve(rel, need&^(jptool.Create|jptool.Delete) == 0)
	if err != nil {
		return "", false
	}
	for _, link := range to.Hops {
		if h.Hidden(link.Entry) {
			return d.rules.Name(d.rules.PlaceOf(link.Entry)), true
		}
	}
	return "", false
}

// checkFor is how capabilities are judged: on the content of a path, or on its entry.
func checkFor(need jptool.Caps) func(*jptool.Workspace, string, jptool.Caps) (*jptool.Target, error) {
	if need&(jptool.Create|jptool.Delete) != 0 {
		return (*jptool.Workspace).CheckEntry
	}
	return (*jptool.Workspace).CheckContent
}

// isDirectory reports whether a directory is at the target: who asks about creating one that is there means
// what is in it.
func isDirectory(t *jptool.Target) bool {
	fi, err := t.Lstat()
	return err == nil && fi.IsDir()
}

// missingParent is the directory that would have to be made first, and may not be, before something
// can be created at a target; nil if there is none. Those in made are there by then.
func missingParent(t *jptool.Target, need jptool.Caps, made []string) *jptool.Target {
	if !need.Has(jptool.Create) || t.IsRoot() {
		return nil
	}
	for dir := t.Parent(); !dir.IsRoot() && !slices.Contains(made, dir.Path()); dir = dir.Parent() {
		if _, err := dir.Lstat(); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !dir.Granted().Has(jptool.Create) {
			return dir
		}
	}
	return nil
}

// orphaned answers for what cannot be created because its directory is missing, and may not be made.
func (d *Declared) orphaned(e *Explanation, t, dir *jptool.Target) {
	e.Allowed, e.Code = false, jptool.CodeAccessDenied
	e.Reason = fmt.Sprintf("its directory %q is missing, and no rule lets it be made", dir.Path())
	e.Remedy = fmt.Sprintf("add %s to %s", suggestion(t.Parent().Path(), t.Parent().Explain(jptool.Create).Granted|jptool.Create), d.list("fs"))
}

// weaker says what else of the rules does not hold where something is denied by them already.
func (d *Declared) weaker(e *Explanation, h *Held, path string, part jptool.Caps) error {
	if h == nil || h.Access == nil {
		return nil
	}
	ws, err := d.opened(h)
	if err != nil {
		return err
	}
	defer ws.Close()
	var granted []string
	if target, err := checkFor(part)(ws, path, 0); err == nil {
		granted = target.Granted().Names()
	}
	if !slices.Equal(granted, e.Granted) {
		e.Granted, e.Declared = granted, e.Granted
	}
	return nil
}

// opened is the workspace with the effective policy.
func (d *Declared) opened(h *Held) (*jptool.Workspace, error) {
	c := jptool.Context{Root: d.Root, Action: jptool.Run, Access: h.Access}
	ws, err := c.Open()
	if err != nil {
		return nil, fmt.Errorf("the effective policy cannot be opened: %w", err)
	}
	return ws, nil
}

// less takes back what is declared and does not hold.
func (d *Declared) less(e *Explanation, h *Held, path string, parts []jptool.Caps) error {
	ws, err := d.opened(h)
	if err != nil {
		return err
	}
	defer ws.Close()
	declared := e.Granted
	refuse := func(granted jptool.Caps, code jptool.Code, reason, remedy string) {
		e.Allowed, e.Code, e.Granted, e.Declared, e.Reason, e.Remedy = false, code, granted.Names(), declared, reason, remedy
	}
	for _, part := range parts {
		target, err := checkFor(part)(ws, path, 0)
		if err != nil {
			if caps := h.below(path); caps.Has(part) {
				e.Granted = caps.Names()
				continue
			}
			why, remedy := d.why(e.Rule, h)
			refuse(0, jptool.CodeOf(err), why, remedy)
			return nil
		}
		x := target.Explain(part)
		dir := missingParent(target, part, h.Made)
		if x.Allowed && dir == nil {
			e.Granted = x.Granted.Names()
			continue
		}
		// The rule that decides by what is declared may be another one than decides what holds.
		by := d.declaredRule(path, part)
		why, remedy := d.why(by, h)
		if x.Pinned && target.GrantedInside().Has(part) {
			why, remedy = d.whyPinned(x.Path), "act on what is in it, or move what the rule is on yourself"
		} else if dir != nil && x.Allowed {
			why = fmt.Sprintf("its directory %q is missing, and is not made for the call", dir.Path())
			remedy = "create the directory before the call"
		}
		refuse(x.Granted, jptool.CodeAccessDenied, why, remedy)
		e.decidedBy(by)
		return nil
	}
	return nil
}

// below is what holds in a directory that is made for the call. Below a mount that grants nothing else it is a mount of
// its own, and its target is not there yet, so that the library cannot say.
func (h *Held) below(name string) (caps jptool.Caps) {
	deepest := 0
	for i := range h.Access.FS {
		r := &h.Access.FS[i]
		if rest, ok := wspath.Within(r.Path, name); ok && rest != "" && r.External && slices.Contains(h.Made, r.Path) && len(r.Path) > deepest {
			deepest, caps = len(r.Path), r.Caps()
		}
	}
	return caps
}

// declaredRule is the rule that decides at a path by the declared policy.
func (d *Declared) declaredRule(path string, need jptool.Caps) *Rule {
	ws, err := d.workspace()
	if err != nil {
		return nil
	}
	target, err := checkFor(need)(ws, path, 0)
	if err != nil {
		return nil
	}
	x := target.Explain(need)
	if !x.Matched {
		return nil
	}
	return d.rule("fs", x.Index)
}

// why says why a rule grants less here than it says.
func (d *Declared) why(r *Rule, h *Held) (why, remedy string) {
	index, text := -1, "file access is not restricted"
	if r != nil {
		index, text = r.Index, fmt.Sprintf("the rule on %q grants %s", r.Name, r.Caps)
	}
	if h.Less != nil {
		why, remedy = h.Less(index)
	}
	if why == "" {
		why, remedy = "not all that the rules grant can be enforced together", "see what was narrowed: jphost policy "+shellWord(d.Tool)
	}
	return text + ", but not here: " + why, remedy
}

// whyPinned says which rule depends on an entry.
func (d *Declared) whyPinned(path string) string {
	const pinned = "the entry is pinned: it may be neither created, removed, renamed nor replaced, because "
	r, ok := d.Keeper(path)
	if !ok {
		return pinned + "a rule leads through it"
	}
	return pinned + fmt.Sprintf("the rule on %q depends on it (%s)", r.Name, r.Origin)
}

// Keeper is the rule that an entry has to stay in its place for: the one on it, or the first on what is in it.
func (d *Declared) Keeper(path string) (keeper Rule, ok bool) {
	for i := range d.Rules {
		r := &d.Rules[i]
		if r.Type != "fs" {
			continue
		}
		below, in := wspath.Within(path, r.Name)
		if in && below == "" {
			return *r, true
		}
		if in && !ok {
			keeper, ok = *r, true
		}
	}
	return keeper, ok
}

// unreachable answers for a path that resolves to nothing that a rule could grant.
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

// advice is what a remedy is written for: a path, and what is granted there.
type advice struct {
	path    string
	granted jptool.Caps
}

// decide judges the capabilities in need; asked are all that the question is about. To create and to delete
// are rights on the directory for the kernel, so that a remedy is for that; of the target itself otherwise.
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
		e.Reason = fmt.Sprintf("the rule on %q decides, and grants %s", e.Rule.Name, onlyCaps(e.Rule.Caps))
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
