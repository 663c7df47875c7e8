package policy

import (
	"maps"
	"slices"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
)

// model is a policy before it is narrowed: facts and rules, from which it is built without
// looking at the file system again.
type model struct {
	site
	tool     string
	access   bool // false: unrestricted inside the workspace
	declared bool // fs is restricted
	listAt   string
	fs       []fsRule
	pins     []place
	guards   []guard
	guarded  []place // links that lead to what is guarded
	staged   []jptool.StagedFile
	// beyond and beyondLinks are what guards protect outside of all that rules name.
	beyond      []Place
	beyondLinks []string

	net      []jptool.NetRule
	env      []jptool.EnvRule
	commands map[string]jptool.CommandRule
	// others describes the rules of net, env and commands, in order.
	others []Rule

	warnings    []Warning
	dropped     []Dropped
	needs       *jptool.Caps
	needsOrigin string
}

// fsRule is a rule on a path whose place is known.
type fsRule struct {
	rule     Rule // Caps and Stated are set here, Index and Text when built
	layer    config.Layer
	people   bool // a person wrote it, in layer
	at       place
	path     string // on the wire
	external bool
	target   *string
	// linked: a symlink that is no mount leads from the path as written to the place.
	linked bool
	// lost counts from 1 in dropped; 0 is a rule that was not dropped itself.
	lost int
	// gone: the rule grants nothing and has no place; only default-deny remains of it.
	gone bool
}

// mine reports whether the rule comes from the user's own configuration.
func (r *fsRule) mine() bool { return r.people && !r.layer.Repository() }

// lifts reports whether the rule may lift self-protection: it is the user's own, and no link leads
// from its path as written to its place. Whoever can make a link in the workspace could otherwise
// turn a rule on `build` into one on `.git/hooks`.
func (r *fsRule) lifts() bool { return r.mine() && !r.linked }

// governing is the index of the rule that decides at a place, or -1: the deepest, of
// equals the last.
func governing(rules []fsRule, at place) int {
	best := -1
	for i := range rules {
		r := &rules[i]
		if !r.gone && r.at.holds(at) && (best < 0 || len(fold(r.at.path)) >= len(fold(rules[best].at.path))) {
			best = i
		}
	}
	return best
}

// build makes the policy: narrow to needs, protect, write down. It is pure.
func (m *model) build() *Declared {
	d := &Declared{
		Tool: m.tool, Root: m.root, Needs: m.needs, model: m,
		Warnings: slices.Clone(m.warnings), Dropped: slices.Clone(m.dropped),
	}
	if !m.access {
		return d
	}
	rules := slices.Clone(m.fs)
	pins := slices.Clone(m.pins)
	var union jptool.Caps
	for i := range rules {
		r := &rules[i]
		if m.needs != nil && r.rule.Caps&^*m.needs != 0 {
			r.rule.Caps &= *m.needs
			r.note("narrowed to what the tool needs")
		}
		union |= r.rule.Caps
	}
	m.strand(rules)
	if union&jptool.Write != 0 {
		pins = append(pins, m.guarded...)
		rules = protect(&m.site, rules, m.guards)
	}

	a := &jptool.AccessPolicy{Net: slices.Clone(m.net), Env: slices.Clone(m.env), Commands: maps.Clone(m.commands), Staged: m.staged}
	for i := range rules {
		r := &rules[i]
		if r.gone {
			continue
		}
		w := FsRule(r.path, r.rule.Caps)
		w.External, w.ApprovedTarget, w.Origin = r.external, r.target, r.rule.Origin
		r.rule.Type, r.rule.Index, r.rule.Name, r.rule.Text = "fs", len(a.FS), dotted(r.path), FsText(&w)
		if r.rule.Written == r.rule.Name {
			r.rule.Written = ""
		}
		a.FS = append(a.FS, w)
		d.Rules = append(d.Rules, r.rule)
	}
	if m.declared && len(a.FS) == 0 {
		// An empty list would open everything.
		w := jptool.FsRule{Origin: m.listAt}
		a.FS = append(a.FS, w)
		d.Rules = append(d.Rules, Rule{Type: "fs", Name: ".", Text: FsText(&w), Origin: m.listAt, Note: "no rule of this type grants anything"})
	}
	a.Pinned = m.pinned(pins)
	d.Rules = append(d.Rules, m.others...)
	d.Access, d.fs = a, rules
	return d
}

// strand takes what is left from ordinary rules that lie below a mount which grants
// nothing any more: the library knows no mount there, and would refuse the rule.
func (m *model) strand(rules []fsRule) {
	for i := range rules {
		r := &rules[i]
		if r.rule.Caps == 0 || !r.at.outside || r.target != nil {
			continue
		}
		alive := false
		for _, mt := range m.mounts {
			alive = alive || rules[mt.rule].rule.Caps != 0 && place{true, mt.target}.holds(r.at)
		}
		if !alive {
			r.rule.Caps = 0
			r.note("lies below a mount that grants nothing")
		}
	}
}

func (r *fsRule) note(text string) {
	if r.rule.Note != "" {
		text = r.rule.Note + "; " + text
	}
	r.rule.Note = text
}

// pinned are the pins in the form of the wire.
func (m *model) pinned(pins []place) []string {
	var list []string
	for _, at := range pins {
		if m.known(at) {
			if path := m.wire(at); path != "" {
				list = append(list, path)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
