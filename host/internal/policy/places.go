package policy

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/wspath"
)

// Places are the places of all fs rules, each once, by path. It is empty where the type is not
// restricted.
func (d *Declared) Places() []Place {
	if d.Access == nil {
		return nil
	}
	byPath := map[string]*Place{}
	add := func(at place, r *Rule) {
		abs := d.model.abs(at)
		p := byPath[abs]
		if p == nil {
			p = &Place{Abs: abs, Outside: at.outside}
			p.Guarded = slices.ContainsFunc(d.model.guards, func(g guard) bool { return g.at.holds(at) })
			byPath[abs] = p
		}
		p.All = append(p.All, r.Index)
		p.Caps, p.Index, p.Dir = r.Caps, r.Index, r.Dir
		p.SelfProtection = r.Origin == SelfProtection
	}
	any := false
	for i := range d.fs {
		if r := &d.fs[i]; !r.gone {
			any = true
			add(r.at, &r.rule)
		}
	}
	if !any && len(d.Access.FS) > 0 {
		add(place{}, &d.Rules[0]) // the rule that denies all
	}
	list := make([]Place, 0, len(byPath))
	for _, p := range byPath {
		list = append(list, *p)
	}
	for _, p := range d.model.beyond {
		if byPath[p.Abs] == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Place) int { return cmp.Compare(a.Abs, b.Abs) })
	return list
}

// Mounts are the mounts of the policy, by the order of their rules.
func (d *Declared) Mounts() []Mount {
	var list []Mount
	for _, m := range d.model.mounts {
		if m.rule >= len(d.fs) {
			continue
		}
		if r := &d.fs[m.rule]; !r.gone && r.rule.Caps != 0 && r.target != nil {
			list = append(list, Mount{Link: d.model.absOf(m.path), Target: m.target, Index: r.rule.Index})
		}
	}
	slices.SortFunc(list, func(a, b Mount) int { return cmp.Compare(a.Index, b.Index) })
	return list
}

// Pins are the absolute paths of the entries that Access pins, and of links that lead to what is protected.
func (d *Declared) Pins() []string {
	if d.Access == nil {
		return nil
	}
	list := make([]string, len(d.Access.Pinned))
	for i, path := range d.Access.Pinned {
		list[i] = d.model.absOf(path)
	}
	return append(list, d.model.beyondLinks...)
}

// WirePath is the path of the wire for a canonical absolute path in the workspace or in
// a mount. It is false for any other.
func (d *Declared) WirePath(abs string) (string, bool) {
	at := d.model.placeOf(abs)
	if !d.model.known(at) {
		return "", false
	}
	return d.model.wire(at), true
}

// absOf is the absolute path of a canonical path of the wire, as [site.wire] makes it: the
// last link on it may only be that of a mount.
func (s *site) absOf(path string) string {
	var best *mounted
	rest := ""
	for i := range s.mounts {
		m := &s.mounts[i]
		if below, ok := wspath.Within(m.path, path); ok && below != "" && (best == nil || len(m.path) > len(best.path)) {
			best, rest = m, below
		}
	}
	if best == nil {
		return joinAbs(s.root, path)
	}
	return joinAbs(best.target, rest)
}

func joinAbs(dir, rest string) string {
	if rest == "" {
		return dir
	}
	return strings.TrimSuffix(dir, "/") + "/" + rest
}
