package fit

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Policy is a declared policy in the form that fitting needs: which place each rule is about, and what
// holds there. It is not changed here.
type Policy struct {
	// Site is the workspace, with its approved external rules, also those that grant nothing now.
	Site jptool.Site
	// Access is the declared policy; nil, which cannot be fitted, if there is none.
	Access *jptool.AccessPolicy
	// Unsent says that the tool is sent no policy although Access, which protects the workspace, is enforced.
	Unsent bool
	// Needs is the most that the tool says it uses, nil if it does not say.
	Needs *jptool.Caps
	// Rules describe the rules of Access in its order: fs, net, env, then commands by name.
	Rules []Rule
	// Places are where fs rules hold, each path once, ordered by path. Without fs rules it is empty.
	Places []Place
	// Mounts are the external rules that grant something, in the order of their rules.
	Mounts []Mount
	// Pins are the absolute paths of the entries that must stay in place.
	Pins []string
}

// Rule is one rule, for reports.
type Rule struct {
	// Type is fs, net, env or command; Index counts within the type.
	Type  string
	Index int
	// Text is the rule as an inline table of TOML, Origin where it was written.
	Text, Origin string
}

// Place is a path on which fs rules are, and what the deciding one grants.
type Place struct {
	// Abs is the canonical absolute path, with slashes. Nothing need be there.
	Abs string
	// Outside: it lies outside of the workspace, where other rules count than inside.
	Outside bool
	Caps    jptool.Caps
	// Index is that of the deciding rule in Access.FS, the last of All; -1 if no rule is on the path.
	Index int
	All   []int
	// SelfProtection: the deciding rule was made to protect the workspace. Dir: its path was written with a
	// slash at its end.
	SelfProtection, Dir bool
	// Unnamed: no path of the wire names the place. It is protected against what is granted outside of
	// the workspace besides the rules. Index is -1.
	Unnamed bool
	// Guarded: the place is protected, or lies below one that is.
	Guarded bool
}

// Mount is an external rule that grants something: the absolute path of its link, which is in the
// workspace or below another mount, and the target that it leads to.
type Mount struct {
	Link, Target string
	// Index is that of the rule in Access.FS.
	Index int
}

// WirePath returns the path that the wire has for a canonical absolute path in the workspace or in
// the target of an external rule. It is false for any other.
func (p *Policy) WirePath(abs string) (string, bool) {
	place := p.Site.PlaceOf(abs)
	if !p.Site.Known(place) {
		return "", false
	}
	return p.Site.Name(place), true
}

// named returns the canonical absolute paths that texts name, as the tool would resolve them. Texts
// that are no workspace-relative path, or lead to where the tool can reach nothing, are left out.
func (p *Policy) named(texts []string) (list []string) {
	for _, text := range texts {
		rel, err := wspath.Parse(text)
		if err != nil {
			continue
		}
		if to, err := p.Site.Resolve(rel, false); err == nil && p.Site.Known(to.Place) {
			list = append(list, p.Site.Abs(to.Place))
		}
	}
	return list
}

// builtIn is the origin of a rule that nobody wrote.
const builtIn = "built-in default"

// FsRule returns a rule of the wire that grants exactly caps, without the alias `write`.
func FsRule(path string, caps jptool.Caps) jptool.FsRule {
	on := func(c jptool.Caps) *bool {
		if !caps.Has(c) {
			return nil
		}
		yes := true
		return &yes
	}
	return jptool.FsRule{
		Path: path,
		Read: on(jptool.Read), Create: on(jptool.Create), Update: on(jptool.Update),
		Delete: on(jptool.Delete), Execute: on(jptool.Execute),
	}
}

// FsText writes a rule as an inline table of TOML.
func FsText(r *jptool.FsRule) string {
	path := r.Path
	if path == "" {
		path = "."
	}
	var b strings.Builder
	fmt.Fprintf(&b, "{ path = %q", path)
	if r.External {
		b.WriteString(", external = true")
	}
	if text := GrantText(r.Caps()); text != "" {
		b.WriteString(", " + text)
	}
	return b.String() + " }"
}

// GrantText writes capabilities as keys of a rule, `write` for create, update and delete.
func GrantText(caps jptool.Caps) string {
	var keys []string
	if caps.Has(jptool.Write) {
		caps &^= jptool.Write
		if caps.Has(jptool.Read) {
			keys = append(keys, "read = true")
			caps &^= jptool.Read
		}
		keys = append(keys, "write = true")
	}
	for _, name := range caps.Names() {
		keys = append(keys, name+" = true")
	}
	return strings.Join(keys, ", ")
}
