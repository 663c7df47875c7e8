package jptool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// DeniedError says that no rule grants a capability on a path. It is never transient.
type DeniedError struct {
	// Need is what was asked for; with Any, one of these capabilities would have been enough.
	Need Caps
	Any  bool
	// Path is workspace-relative.
	Path string
	// Pinned says that the entry must stay where it is, whatever the rules grant.
	Pinned bool
	// pinnedFor says in the message what depends on the pin; pinnedOnly says that the rules would grant Need.
	pinnedFor  string
	pinnedOnly bool
	// Link says that a symlink may not be moved there, because an access rule names the path or
	// one below it.
	Link bool
	// Root says that the path is the workspace root or the target of a mount.
	Root bool
	// Withheld is the pattern that withholds the path, if one does. At is then the outermost place that it withholds on the
	// way, as the model writes it, and Covered what the rules grant at the path otherwise. Inside: the pattern withholds
	// something in the directory, which therefore cannot be moved, and At is the directory.
	Withheld Withheld
	At       string
	Covered  Caps
	Inside   bool

	rule   *Placed // the rule that decided, or nil
	grants []grant
}

// grant describes an effective rule for messages and for `data`.
type grant struct {
	Path string   `json:"path"`
	Caps []string `json:"capabilities"`
}

// grants lists the effective rules that grant something, sorted by path. Rules that only take away from the one above,
// as those that protect .git and .jp do, lead nowhere and are left out.
func (r *Rules) grants() []grant {
	var list []grant
	for _, root := range []*node{r.inside, r.outside} {
		root.below("", func(_ string, n *node) {
			if n.rule < 0 || r.Placed[n.rule].Caps == 0 {
				return
			}
			p := &r.Placed[n.rule]
			if above, _ := root.find(wspath.ParentOf(p.Place.Path)); above < 0 || above == n.rule || !r.Placed[above].Caps.Has(p.Caps) {
				list = append(list, grant{p.rel.String(), p.Caps.Names()})
			}
		})
	}
	slices.SortStableFunc(list, func(a, b grant) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// maxGrants bounds the list in a message.
const maxGrants = 20

// denied builds the error for a target where need is not granted.
func (t *Target) denied(need Caps, any bool) *DeniedError {
	r := t.w.rules
	c := r.At(t.place)
	e := &DeniedError{Need: need, Any: any, Path: r.display(t.place), rule: c.placed(), grants: r.grants()}
	entry := need&(Create|Delete) != 0
	if e.Pinned = entry && c.Pinned(); e.Pinned {
		e.pinnedFor, e.pinnedOnly = r.dependsOn(c.n), t.GrantedInside().Has(need)
	}
	e.Root = entry && t.IsRoot()
	if e.Withheld = c.Withheld(); e.Withheld.Pattern != "" {
		e.Covered, e.At = c.Covered(), r.display(r.outermost(t.place))
	}
	return e
}

// outermost returns the outermost place above p, or p, from which on everything down to p is withheld.
func (r *Rules) outermost(p Place) Place {
	for {
		parent := Place{p.Outside, wspath.ParentOf(p.Path)}
		if p.Path == "" || !r.Known(parent) || !r.At(parent).held.any() {
			return p
		}
		p = parent
	}
}

// dependsOn says why an entry is pinned, as far as the rules show it.
func (r *Rules) dependsOn(n *node) string {
	switch {
	case n.mount >= 0:
		return "it is the link of a mount"
	case n.rule >= 0:
		return "it has an access rule of its own"
	}
	below := ""
	n.below("", func(_ string, n *node) {
		if below == "" && n.rule >= 0 {
			below = r.Placed[n.rule].Written()
		}
	})
	if below != "" {
		return "the access rule on " + Quote(below) + " lies below it"
	}
	return "an access rule or the host depends on it"
}

// Error names the capability, the path, the rule that decided and the grants that exist.
func (e *DeniedError) Error() string {
	var b strings.Builder
	need := strings.Join(e.Need.Names(), " or ")
	if !e.Any {
		need = strings.Join(e.Need.Names(), " and ")
	}
	fmt.Fprintf(&b, "access denied: cannot %s %s: ", need, Quote(e.Path))
	switch {
	case e.Link:
		b.WriteString("an access rule names this path or one below it, and a symlink here would lead its rights elsewhere.")
		return b.String()
	case e.Root:
		b.WriteString("it is the root of the workspace or of a mount, which stays.")
		return b.String()
	case e.Inside:
		fmt.Fprintf(&b, "something in it is withheld: %s.", e.Withheld)
		return b.String()
	case e.Withheld.Secret:
		fmt.Fprintf(&b, "%s. If this is needed, ask the user to allow it: a rule that names %s does.", e.Withheld, Quote(e.At))
		return b.String()
	case e.Withheld.Pattern != "":
		fmt.Fprintf(&b, "%s.", e.Withheld)
		return b.String()
	case e.rule == nil && e.pinnedOnly: // there are no rules at all
		b.WriteString("all is granted here.")
	case e.rule == nil:
		b.WriteString("no rule matches it.")
	default:
		fmt.Fprintf(&b, "the rule on %s grants %s.", Quote(e.rule.rel.String()), e.rule.Caps.Only())
	}
	if e.Pinned {
		fmt.Fprintf(&b, " The entry is pinned, because %s: it may be neither created, removed, renamed nor replaced.", e.pinnedFor)
	}
	if len(e.grants) == 0 && !e.pinnedOnly {
		b.WriteString(" No rule grants anything.")
	} else if len(e.grants) > 0 {
		b.WriteString(" Grants: ")
		for i, g := range e.grants {
			if i == maxGrants {
				fmt.Fprintf(&b, "; and %d more", len(e.grants)-i)
				break
			}
			if i > 0 {
				b.WriteString("; ")
			}
			fmt.Fprintf(&b, "%s (%s)", Quote(g.Path), strings.Join(g.Caps, ", "))
		}
		b.WriteString(".")
	}
	if !e.pinnedOnly { // else no grant helps
		b.WriteString(" If this is needed, ask the user to change the access rules of this tool.")
	}
	return b.String()
}

// ErrorCode returns CodeAccessDenied.
func (e *DeniedError) ErrorCode() Code { return CodeAccessDenied }

// ErrorData returns the refusal for machines, with as many grants as the message.
func (e *DeniedError) ErrorData() any {
	var rule *string
	if e.rule != nil {
		rule = new(e.rule.rel.String())
	}
	return struct {
		Capabilities []string `json:"capabilities"`
		Path         string   `json:"path"`
		Rule         *string  `json:"rule"`
		Pinned       bool     `json:"pinned,omitempty"`
		Grants       []grant  `json:"grants"`
		MoreGrants   int      `json:"more_grants,omitempty"`
		Withheld     any      `json:"withheld,omitempty"`
	}{
		e.Need.Names(), e.Path, rule, e.Pinned,
		append([]grant{}, e.grants[:min(len(e.grants), maxGrants)]...), max(0, len(e.grants)-maxGrants),
		e.withheld(),
	}
}

// withheld describes the pattern that withholds the path, for machines; nil if none does.
func (e *DeniedError) withheld() any {
	if e.Withheld.Pattern == "" {
		return nil
	}
	return struct {
		By      string `json:"by"`
		Pattern string `json:"pattern,omitempty"`
		Path    string `json:"path"`
	}{e.Withheld.List(), e.Withheld.shown(), e.At}
}

// Explanation says how a path is decided (docs/wire.md, "Steps of evaluation (fs)").
type Explanation struct {
	Path    string // canonical, workspace-relative
	Need    Caps
	Allowed bool
	Granted Caps
	// Index is that of the winning rule in the list; Matched is false when none matches.
	Matched bool
	Index   int
	Pinned  bool
	// Withheld is the pattern that withholds the path, if one does; Covered is what the rules grant otherwise.
	Withheld Withheld
	Covered  Caps
	// Shadowed are the less specific rules on the way that would have granted Need.
	Shadowed []string
	// Elsewhere are the other paths whose rules grant Need.
	Elsewhere []string
}

// Explain says which rule decides need on the target, and which other rules grant it.
func (t *Target) Explain(need Caps) Explanation {
	r, c := t.w.rules, t.Cursor()
	e := Explanation{Path: t.Path(), Need: need, Granted: c.Caps(), Pinned: c.Pinned(), Index: -1, Withheld: c.Withheld(), Covered: c.Covered()}
	e.Allowed = e.Granted.Has(need)
	if rule := c.placed(); rule != nil {
		e.Matched, e.Index = true, rule.Index
	}
	r.trie(t.place).below("", func(_ string, n *node) {
		if n.rule < 0 || n.rule == c.rule || !r.Placed[n.rule].Caps.Has(need) {
			return
		}
		if p := &r.Placed[n.rule]; p.Place.Contains(t.place) {
			e.Shadowed = append(e.Shadowed, p.rel.String())
		} else {
			e.Elsewhere = append(e.Elsewhere, p.rel.String())
		}
	})
	return e
}
