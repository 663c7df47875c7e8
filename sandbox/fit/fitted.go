package fit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// fitted writes down what was worked out.
func (h *fitting) fitted(tier Tier) *Fitted {
	f := &Fitted{
		Narrowed: []Narrowing{}, Rules: []Enforced{}, After: append([]Check{}, h.after...), Make: h.make, Want: h.want,
		Plan: h.plan(tier), Access: h.access(tier),
	}
	h.stage(f)
	h.net(f.Plan)
	h.world(f)
	h.machineLacks(f.Plan)
	h.rules(f, tier)
	slices.SortStableFunc(f.After, func(a, b Check) int { return strings.Compare(a.Path, b.Path) })
	f.After = slices.Compact(f.After)
	f.NotEnforced = append([]NotEnforced{}, h.not...)
	return f
}

func (h *fitting) plan(tier Tier) *Plan {
	p := &Plan{
		Tier: tier, ABI: h.machine.Landlock, Devices: h.options.Devices, Temp: h.options.Temp, Limits: h.options.Limits,
		Grants: []Grant{}, Frozen: tier == TierLandlock && !h.writes(),
	}
	for _, t := range h.tops {
		if n := h.facts.node(t); n.Kind != Missing {
			p.Trees = append(p.Trees, n)
		}
	}
	// What lies in a tree is there anyway; what it needs there is among the grants.
	inTree := func(g Grant) bool { return topOf(h.tops, g.Path) != "" }
	p.Runtime = slices.DeleteFunc(append([]Grant{}, h.options.Runtime...), inTree)
	if tier == TierNone {
		p.ABI = 0
		return p
	}
	p.NoFilter = !h.machine.Seccomp
	if tier == TierNamespace {
		p.Temp = h.privateTemp()
		if h.scratch {
			p.Scratch = tmp
		}
	}
	for _, s := range h.zones {
		if c := h.grants[s.Abs]; c != 0 {
			p.Grants = append(p.Grants, Grant{s.node, c})
		}
	}
	for _, x := range sorted(h.covers) {
		p.Covers = append(p.Covers, *h.covers[x])
	}
	for _, x := range sorted(h.pins) {
		p.Pins = append(p.Pins, h.facts.node(x))
	}
	return p
}

// privateTemp is where the private temporary directory is: rights on it would add to those
// of a tree below it, and a tree above would hide it.
func (h *fitting) privateTemp() string {
	for _, dir := range []string{"/tmp", "/var/tmp", "/run/jphost"} {
		if !slices.ContainsFunc(h.tops, func(t string) bool { return Holds(dir, t) || Holds(t, dir) }) {
			return dir
		}
	}
	return "/.jphost"
}

// rewritten is a rule of the wire that grants other capabilities.
func rewritten(r jptool.FsRule, caps jptool.Caps) jptool.FsRule {
	n := FsRule(r.Path, caps)
	n.Origin, n.External, n.ApprovedTarget = r.Origin, r.External, r.ApprovedTarget
	return n
}

// access is the effective policy.
func (h *fitting) access(tier Tier) *jptool.AccessPolicy {
	a := *h.d.Access
	a.FS, a.Staged = slices.Clone(a.FS), nil
	if tier == TierNone {
		return &a
	}
	// An ordinary rule outside of the workspace lies below one that grants something.
	alive := func(s *zone) bool {
		return slices.ContainsFunc(h.zones, func(o *zone) bool {
			return o != s && !o.bare && !o.Unnamed && o.Outside && o.e != 0 && Holds(o.Abs, s.Abs)
		})
	}
	wire := func(s *zone, r jptool.FsRule) jptool.FsRule {
		n := rewritten(r, s.e)
		if s.e != 0 && s.Outside && !n.External && (s.from != nil || !alive(s)) {
			// The mount above grants nothing any more, so that no ordinary rule can
			// lie below it; this is a part of what was approved.
			n.External, n.ApprovedTarget = true, new(s.Abs)
		}
		return n
	}
	for _, s := range h.zones {
		switch {
		case s.bare || s.Unnamed:
		case s.Index >= 0:
			for _, i := range s.All {
				old := a.FS[i]
				if a.FS[i] = wire(s, old); i != s.Index && !old.External {
					// Another rule decides there. An external one goes with it, or
					// its link would be no mount for the one that decides.
					a.FS[i] = rewritten(old, old.Caps()&s.e)
				}
			}
		case s.Withheld && s.e == 0: // its pattern says so, and a rule would name the place
		case s.e != 0 || len(h.d.Access.FS) == 0:
			r := jptool.FsRule{Path: h.wire(s.Abs)}
			if s.from != nil {
				_, r.Origin = h.rule(s.from)
			}
			a.FS = append(a.FS, wire(s, r))
		}
	}
	a.FS = separateMounts(a.FS)
	a.Pinned = slices.Clone(a.Pinned)
	for x := range h.kept {
		if p := h.wire(x); p != "" {
			a.Pinned = append(a.Pinned, p)
		}
	}
	slices.Sort(a.Pinned)
	a.Pinned = slices.Compact(a.Pinned)
	return &a
}

// separateMounts lets mounts that overlap be left different rights. Tools refuse such mounts (wire.md, step R4),
// as what people write of them would depend on the name; so all mounts say the same, and
// after them a rule on each target, which decides alone, says what is left there.
func separateMounts(rules []jptool.FsRule) []jptool.FsRule {
	var mounts []int
	var all jptool.Caps
	for i := range rules {
		if r := &rules[i]; r.External && r.ApprovedTarget != nil && r.Caps() != 0 {
			mounts, all = append(mounts, i), all|r.Caps()
		}
	}
	differ := func(i, j int) bool {
		outer, inner := &rules[i], &rules[j]
		below, ok := wspath.WithinAbs(*outer.ApprovedTarget, *inner.ApprovedTarget)
		return ok && outer.Caps() != inner.Caps() && wspath.JoinSlash(outer.Path, below) != inner.Path
	}
	if !slices.ContainsFunc(mounts, func(i int) bool {
		return slices.ContainsFunc(mounts, func(j int) bool { return differ(i, j) })
	}) {
		return rules
	}
	for _, i := range mounts {
		left := FsRule(rules[i].Path, rules[i].Caps())
		left.Origin = rules[i].Origin
		rules[i] = rewritten(rules[i], all)
		rules = append(rules, left)
	}
	return rules
}

func (h *fitting) wire(abs string) string {
	p, _ := h.d.Site.WirePath(abs)
	return p
}

// stage plans an unnamed file for each directory where new files may be made but not written:
// one per rule and per mount, as a file cannot be linked across mounts.
func (h *fitting) stage(f *Fitted) {
	if f.Plan.Tier == TierNone {
		return
	}
	var at []Node
	for _, s := range h.zones {
		if !s.bare && s.top != "" {
			at = append(at, s.node)
		}
	}
	at = append(at, f.Plan.Pins...)
	slices.SortFunc(at, func(a, b Node) int { return OuterFirst(a.Path, b.Path) })
	for i, n := range at {
		s := h.governing(n.Path)
		if n.Kind != Dir || s == nil || s.e&(jptool.Create|jptool.Update) != jptool.Create || i > 0 && at[i-1].Path == n.Path {
			continue
		}
		fd := max(h.options.FirstFD, 3) + len(f.Plan.Staged)
		f.Plan.Staged = append(f.Plan.Staged, Staged{Node: n, FD: fd})
		f.Access.Staged = append(f.Access.Staged, jptool.StagedFile{Path: h.wire(n.Path), FD: fd})
	}
}

// rules says what became of each rule, and what holds it.
func (h *fitting) rules(f *Fitted, tier Tier) {
	zones := map[int]*zone{}
	for _, s := range h.zones {
		for _, i := range s.All {
			zones[i] = s
		}
	}
	nets := h.netBy(f.Plan)
	for i := range h.d.Rules {
		r := &h.d.Rules[i]
		e := Enforced{Rule: r.Text, Origin: r.Origin}
		switch s := zones[r.Index]; {
		case r.Type == "net":
			e.EnforcedBy = nets
		case r.Type == "env":
			e.EnforcedBy = "environment"
		case r.Type == "command" || tier == TierNone || s == nil:
			e.EnforcedBy = OwnCheck
			if r.Type == "fs" && s != nil && len(s.by) > 0 {
				e.EnforcedBy += " + " + strings.Join(s.by, " + ")
			}
		case s.Index != r.Index:
			e.EnforcedBy = "another rule on the same path decides"
		default:
			e.EnforcedBy = cmp.Or(strings.Join(s.by, " + "), "landlock")
			if h.pins[s.Abs] {
				e.EnforcedBy += " + kept in place"
			}
			if (s.e != s.most || s.unread) && !(s.SelfProtection && s.missing()) {
				f.Narrowed = append(f.Narrowed, h.narrowing(s, r.Text, r.Origin, r.Index))
			}
		}
		f.Rules = append(f.Rules, e)
	}
	if s := h.at[h.d.Site.Root]; s.Index < 0 && s.e != s.most && tier != TierNone {
		f.Narrowed = append(f.Narrowed, h.narrowing(s, h.text(s, s.most), builtIn, -1))
	}
}

func (h *fitting) narrowing(s *zone, rule, origin string, index int) Narrowing {
	return Narrowing{
		Rule: rule, Origin: origin, Became: h.text(s, s.e), Why: s.why, Remedy: s.remedy, Index: index, Missing: s.missing(),
	}
}
