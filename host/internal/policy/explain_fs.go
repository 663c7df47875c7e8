package policy

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// ExplainFS answers a question by the declared policy alone.
func (d *Declared) ExplainFS(capability, path string) (Explanation, error) {
	return d.ExplainHeld(nil, capability, path, 0)
}

// ExplainHeld says whether a capability is granted on a workspace-relative path, and why: by the declared policy
// and, with h, by the part of it that is enforced. It returns an error only if the question names no capability or
// no usable path, or the workspace cannot be opened. It reads the file system to resolve links and, with h, to
// find directories that would have to be created first; it does not say whether the path exists. The capability is one
// of the five, or write for create, update and delete; also are further ones that the tool needs to do it.
func (d *Declared) ExplainHeld(h *Held, capability, path string, also jptool.Caps) (Explanation, error) {
	e := Explanation{Type: "fs", Target: path, Capability: capability}
	need, ok := jptool.ParseCapability(capability)
	if !ok {
		hint := ""
		if near := nearest.Word(capability, append(jptool.AllCaps.Names(), "write")); near != "" {
			hint = "did you mean " + near + "? "
		}
		return e, jptool.Errorf(jptool.CodeInvalidArguments, "%q is not a capability\n%swrite read, create, update, delete, execute, or write for create, update and delete", capability, hint)
	}
	need |= also
	ws, err := d.open(d.Access)
	if err != nil {
		return e, err
	}
	defer ws.Close()
	var enforced *jptool.Workspace // by the effective policy
	if h != nil && h.Access != nil {
		if enforced, err = d.open(h.Access); err != nil {
			return e, err
		}
		defer enforced.Close()
	}
	rel, err := wspath.Parse(path)
	if err != nil {
		err = &jptool.PathError{Path: path, Err: err}
		if errors.Is(err, wspath.ErrInvalid) {
			return e, err
		}
		e.deny(jptool.CodeOf(err), err.Error(), "mount the place: jphost mount NAME=PATH") // as a tool says it
		return e, nil
	}
	// Creating and deleting are about the entry, all else about what it leads to.
	const entry = jptool.Create | jptool.Delete
	parts := slices.DeleteFunc([]part{{need: need &^ entry}, {need: need & entry}}, func(p part) bool { return p.need == 0 })
	for i := range parts {
		part := parts[i].need
		target, err := check(ws, path, part)
		if err != nil {
			d.unreachable(&e, rel, err)
			return e, nil
		}
		if d.decide(&e, target, part, need); !e.Allowed {
			if e.Rule == nil && e.Reason == unmatched {
				e.Reason += d.noDefault()
			}
			if enforced != nil {
				// Less may be enforced of the other rights there.
				var granted []string
				if target, err := check(enforced, path, part); err == nil {
					granted = target.Granted().Names()
				}
				if !slices.Equal(granted, e.Granted) {
					e.Granted, e.Declared = granted, e.Granted
				}
			}
			return e, nil
		}
		parts[i].rule = e.Rule
		if h == nil {
			continue
		}
		if part.Has(jptool.Create) && slices.Contains(h.Made, target.Path()) {
			e.deny(jptool.CodeWrongType,
				fmt.Sprintf("the directory %q is made there for the call, because the rule on it is written with a slash at its end, or an argument names something below it", target.Path()),
				"name something in it; for a file, write the rule without the slash, and create the file before the call")
			return e, nil
		}
		if dir := missingParent(target, part, h.Made); dir != nil {
			parent := target.Parent()
			e.deny(jptool.CodeAccessDenied, fmt.Sprintf("its directory %q is missing, and no rule lets it be made", dir.Path()),
				fmt.Sprintf("add %s to %s", Suggestion(parent.Path(), parent.Explain(jptool.Create).Granted|jptool.Create), d.list("fs")))
			return e, nil
		}
	}
	if enforced == nil {
		return e, nil
	}
	if to, err := d.rules.Resolve(rel, need&^entry == 0); err == nil {
		for _, link := range to.Hops {
			if h.Hidden(link.Entry) {
				e.lose(0, jptool.CodeNotFound,
					fmt.Sprintf("the path leads through the symlink %q, which lies in what is hidden from the tool", d.rules.Name(d.rules.PlaceOf(link.Entry))),
					"name the place that it leads to, or grant read where the link lies")
				return e, nil
			}
		}
	}
	if h.Access != d.Access {
		d.less(&e, h, enforced, path, parts)
	}
	if e.Allowed && h.Refused != "" {
		e.lose(0, jptool.CodeAccessDenied, h.Refused, h.Remedy)
	}
	return e, nil
}

func (e *Explanation) deny(code jptool.Code, reason, remedy string) {
	e.Allowed, e.Code, e.Reason, e.Remedy = false, code, reason, remedy
}

// lose denies what the rules grant and what is not enforced; granted is what is.
func (e *Explanation) lose(granted jptool.Caps, code jptool.Code, reason, remedy string) {
	e.Granted, e.Declared = granted.Names(), e.Granted
	e.deny(code, reason, remedy)
}

// part are capabilities of one question that are judged together, and the rule that grants them.
type part struct {
	need jptool.Caps
	rule *Rule
}

// check checks the content of a path or its entry, as the capabilities need it.
func check(ws *jptool.Workspace, path string, need jptool.Caps) (*jptool.Target, error) {
	if need&(jptool.Create|jptool.Delete) != 0 {
		return ws.CheckEntry(path, 0)
	}
	return ws.CheckContent(path, 0)
}

// unreachable explains a path that resolves to nothing that a rule could grant.
func (d *Declared) unreachable(e *Explanation, rel wspath.Rel, err error) {
	code := jptool.CodeOf(err)
	for i := range d.sources {
		s, r := &d.sources[i], &d.rules.Placed[i]
		_, written := wspath.Within(jptool.Fold(r.Written()), jptool.Fold(rel.Slash()))
		_, named := wspath.Within(jptool.Fold(r.Name), jptool.Fold(rel.Slash()))
		if s.dropped == 0 || !written && !named {
			continue
		}
		// The path goes through the link of an external rule that grants nothing.
		lost, remedy := &d.Dropped[s.dropped-1], "make the link lead somewhere, or remove the rule"
		if lost.Command != "" {
			remedy = "approve its target: " + lost.Command
		}
		e.decidedBy(&s.Rule)
		e.deny(code, fmt.Sprintf("the rule on %q grants nothing: %s", lost.Path, lost.Reason), remedy)
		return
	}
	remedy := "look at the path"
	if code == jptool.CodePathEscape {
		remedy = "add a rule with external = true on the link itself to " + d.list("fs") + ", or mount the place: jphost mount NAME=PATH"
	} else if errors.Is(err, wspath.ErrDangling) {
		remedy = "repair the link"
	}
	e.deny(code, err.Error(), remedy)
}

// decide judges the capabilities in need; asked are all capabilities of the question. For the kernel, creating and
// deleting are rights on the directory, so that the remedy for them names the directory; otherwise it names the
// target.
func (d *Declared) decide(e *Explanation, t *jptool.Target, need, asked jptool.Caps) {
	x := t.Explain(need)
	e.Canonical, e.Granted = x.Path, x.Granted.Names()
	on, granted := x.Path, x.Granted // what a remedy proposes a rule for, and what is granted there now
	// A question about creating a directory that exists means creating something in it.
	fi, err := t.Lstat()
	inside := err == nil && fi.IsDir() && asked.Has(jptool.Create)
	if asked&(jptool.Create|jptool.Delete) != 0 && !t.IsRoot() && !inside {
		dir := t.Parent()
		on, granted = dir.Path(), dir.GrantedInside()
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
	if x.Withheld.Pattern != "" {
		d.withheld(e, x)
		return
	}
	d.misses(e, x)
	lacking := need &^ x.Granted
	// The remedy is for all that was asked, and changing a file needs reading it too.
	missing := asked
	if asked.Has(jptool.Update) && (d.needs == nil || d.needs.Has(jptool.Read)) {
		missing |= jptool.Read
	}
	switch {
	case root:
		e.Reason = "it is the root of the workspace or of a mount, which is neither created nor removed"
		e.Remedy = "name something in it"
	case x.Pinned && (e.Rule == nil || e.Rule.Caps.Has(need)):
		e.Reason = pinned + "because a rule depends on it"
		e.Remedy = "remove the rule that leads through it, or act on what it leads to"
	case e.Rule == nil:
		e.Reason = unmatched
		e.Remedy = fmt.Sprintf("add %s to %s", Suggestion(on, granted|missing), d.list("fs"))
	default:
		e.Reason = fmt.Sprintf("the rule on %q decides, and grants %s", e.Rule.Name, e.Rule.Caps.Only())
		e.Remedy = d.remedy(e, x, on, granted, missing)
	}
	if needs := d.needs; needs != nil && !needs.Has(lacking) && !x.Pinned && !root {
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

// withheld explains a denial by a pattern, and names the line that has it.
func (d *Declared) withheld(e *Explanation, x jptool.Explanation) {
	p := d.pattern(x.Withheld)
	e.Rule, e.Origin, e.Withheld = nil, p.Origin, &p
	written := cmp.Or(p.Written, p.Pattern)
	if !x.Withheld.Secret {
		e.Reason = fmt.Sprintf("deny = [%q] withholds it, whatever the rules grant", written)
		e.Remedy = "take the pattern out there, or write one that covers less"
		return
	}
	e.Reason = fmt.Sprintf("it is a place of secrets (%q), and no rule names it", written)
	e.Remedy = fmt.Sprintf("to allow it for good, add %s to %s; the file tools ask when a call names it", Suggestion(x.Path, cmp.Or(x.Covered, x.Need)), d.list("fs"))
}

// remedy says what would have to change in or beside the rule that decided.
func (d *Declared) remedy(e *Explanation, x jptool.Explanation, on string, granted, missing jptool.Caps) string {
	for i := range d.sources {
		s := &d.sources[i]
		if s.dropped > 0 && !d.rules.Placed[i].Gone && s.Index == e.Rule.Index && d.Dropped[s.dropped-1].Command != "" {
			return "approve its target: " + d.Dropped[s.dropped-1].Command
		}
	}
	add := Suggestion(on, granted|missing)
	switch here := e.Rule.Name == x.Path; {
	case e.Rule.Origin == SelfProtection || strings.Contains(e.Rule.Note, "self-protection"):
		return fmt.Sprintf("add %s to %s in your own configuration (the user's file, or the one for this workspace); a rule of the repository does not count here", Suggestion(x.Path, x.Granted|missing), d.list("fs"))
	case e.Rule.Origin == BuiltIn:
		return fmt.Sprintf("add %s to %s; the default then no longer applies", add, d.list("fs"))
	case here && on != x.Path && !granted.Has(missing):
		return fmt.Sprintf("change that rule: add %s, and add %s to %s", fit.GrantText(missing&^x.Granted), add, d.list("fs"))
	case here:
		return "change that rule: add " + fit.GrantText(missing&^x.Granted)
	case e.Rule.Name == on:
		return "change that rule: add " + fit.GrantText(missing&^granted)
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

// Suggestion is the rule to write that grants capabilities on a path.
func Suggestion(path string, caps jptool.Caps) string {
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

// Held is the part of a declared policy that is enforced for one call, on this machine and this tree.
type Held struct {
	// Access is the effective policy; nil if none is enforced. Then only Made is set.
	Access *jptool.AccessPolicy
	// Less returns why less of a rule is enforced than it says, and what to do. The rule is named by its index in
	// the declared list; -1 is the default of the workspace.
	Less func(rule int) (why, remedy string)
	// Hidden reports whether the tool cannot see the symlink at a canonical absolute path.
	Hidden func(string) bool
	// Made are the missing directories that are created before the call, as the tool names them.
	Made []string
	// Refused says why the host would not make the call at all, and Remedy what to do; "" for a call that it makes.
	Refused, Remedy string
}

// missingParent returns the missing directory that no rule allows to be created, although something in it is to be
// created at the target; nil if there is none. The directories in made exist by then.
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

// less turns what the rules grant into a denial if it is not enforced.
func (d *Declared) less(e *Explanation, h *Held, enforced *jptool.Workspace, path string, parts []part) {
	var granted jptool.Caps
	for _, p := range parts {
		target, err := check(enforced, path, p.need)
		if err != nil {
			if granted = h.below(path); granted.Has(p.need) {
				continue
			}
			why, remedy := d.why(e.Rule, h)
			e.lose(0, jptool.CodeOf(err), why, remedy)
			return
		}
		x := target.Explain(p.need)
		dir := missingParent(target, p.need, h.Made)
		if granted = x.Granted; x.Allowed && dir == nil {
			continue
		}
		why, remedy := d.why(p.rule, h)
		if x.Pinned && target.GrantedInside().Has(p.need) {
			why, remedy = pinned+"because a rule leads through it", "act on what is in it, or move what the rule is on yourself"
			if r, ok := d.Keeper(x.Path); ok {
				why = fmt.Sprintf("%sbecause the rule on %q depends on it (%s)", pinned, r.Name, r.Origin)
			}
		} else if dir != nil && x.Allowed {
			why = fmt.Sprintf("its directory %q is missing, and is not made for the call", dir.Path())
			remedy = "create the directory before the call"
		}
		e.lose(x.Granted, jptool.CodeAccessDenied, why, remedy)
		e.decidedBy(p.rule)
		return
	}
	e.Granted = granted.Names()
}

// below returns what is enforced in a directory that is created for the call. Below a mount that grants nothing
// else it becomes a mount of its own. Its target does not exist yet, so that the library would call the path
// denied.
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

const pinned = "the entry is pinned: it may be neither created, removed, renamed nor replaced, "

// why says why less of a rule is enforced than it says.
func (d *Declared) why(r *Rule, h *Held) (why, remedy string) {
	index, text := -1, "file access is not restricted"
	if r != nil {
		index, text = r.Index, fmt.Sprintf("the rule on %q grants %s", r.Name, r.Caps)
	}
	if why, remedy = h.Less(index); why == "" {
		why, remedy = "not all that the rules grant can be enforced together", "see what was narrowed: jphost policy "+shellWord(d.Tool)
	}
	return text + ", but not here: " + why, remedy
}

// Keeper returns the rule because of which an entry is pinned: the one on it, or the first one below it.
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
