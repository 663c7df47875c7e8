package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Held is the part of a declared policy that is enforced for one call, on this machine and this tree.
type Held struct {
	// Access is the effective policy.
	Access *jptool.AccessPolicy
	// Less returns why less of a rule is enforced than it says, and what to do. The rule is named by its index in
	// the declared list; -1 is the default of the workspace.
	Less func(rule int) (why, remedy string)
	// Hidden reports whether the tool cannot see the symlink at a canonical absolute path. Nil hides none.
	Hidden func(string) bool
	// Made are the missing directories that are created before the call, as the tool names them.
	Made []string
	// Refused says why the host would not make the call at all, and Remedy what to do; "" for a call that it makes.
	Refused, Remedy string
}

// hiddenLink returns the first symlink on the way to a path that the tool cannot see.
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

// orphaned explains why something cannot be created in dir, which is missing and may not be created.
func (d *Declared) orphaned(e *Explanation, t, dir *jptool.Target) {
	e.Allowed, e.Code = false, jptool.CodeAccessDenied
	e.Reason = fmt.Sprintf("its directory %q is missing, and no rule lets it be made", dir.Path())
	e.Remedy = fmt.Sprintf("add %s to %s", suggestion(t.Parent().Path(), t.Parent().Explain(jptool.Create).Granted|jptool.Create), d.list("fs"))
}

// weaker adds to a denial by the rules what is not enforced of the other rights there.
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

// opened returns the workspace with the effective policy.
func (d *Declared) opened(h *Held) (*jptool.Workspace, error) {
	c := jptool.Context{Root: d.Root, Action: jptool.Run, Access: h.Access}
	ws, err := c.Open()
	if err != nil {
		return nil, fmt.Errorf("the effective policy cannot be opened: %w", err)
	}
	return ws, nil
}

// less turns what the rules grant into a denial if it is not enforced.
func (d *Declared) less(e *Explanation, h *Held, path string, parts []part) error {
	ws, err := d.opened(h)
	if err != nil {
		return err
	}
	defer ws.Close()
	declared := e.Granted
	refuse := func(granted jptool.Caps, code jptool.Code, reason, remedy string) {
		e.Allowed, e.Code, e.Granted, e.Declared, e.Reason, e.Remedy = false, code, granted.Names(), declared, reason, remedy
	}
	for _, p := range parts {
		part := p.need
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
		why, remedy := d.why(p.rule, h)
		if x.Pinned && target.GrantedInside().Has(part) {
			why, remedy = d.whyPinned(x.Path), "act on what is in it, or move what the rule is on yourself"
		} else if dir != nil && x.Allowed {
			why = fmt.Sprintf("its directory %q is missing, and is not made for the call", dir.Path())
			remedy = "create the directory before the call"
		}
		refuse(x.Granted, jptool.CodeAccessDenied, why, remedy)
		e.decidedBy(p.rule)
		return nil
	}
	return nil
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

// why says why less of a rule is enforced than it says.
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
