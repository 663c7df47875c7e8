package policy

import (
	"cmp"
	"slices"
)

// Places returns the places of all fs rules, each once, sorted by path. It is empty if file access is not
// restricted.
func (d *Declared) Places() []Place {
	if d.Access == nil {
		return nil
	}
	byPath := map[string]*Place{}
	for i := range d.rules.Placed {
		r, s := &d.rules.Placed[i], &d.sources[i]
		if r.Gone {
			continue
		}
		abs := d.rules.Abs(r.Place)
		p := byPath[abs]
		if p == nil {
			p = &Place{Abs: abs, Outside: r.Place.Outside}
			p.Guarded = slices.ContainsFunc(d.guards, func(g guard) bool { return g.place.Contains(r.Place) })
			byPath[abs] = p
		}
		p.All = append(p.All, s.Index)
		p.Caps, p.Index, p.Dir = r.Caps, s.Index, s.Dir
		p.SelfProtection = s.Origin == SelfProtection
	}
	list := make([]Place, 0, len(byPath))
	for _, p := range byPath {
		list = append(list, *p)
	}
	for _, p := range d.beyond {
		if byPath[p.Abs] == nil {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Place) int { return cmp.Compare(a.Abs, b.Abs) })
	return list
}

// Mounts returns the mounts that grant something, in the order of their rules.
func (d *Declared) Mounts() []Mount {
	var list []Mount
	for _, m := range d.rules.Mounts {
		if r := &d.rules.Placed[m.Rule]; r.Caps != 0 {
			list = append(list, Mount{Link: d.rules.Abs(m.Link), Target: m.Target, Index: d.sources[m.Rule].Index})
		}
	}
	slices.SortFunc(list, func(a, b Mount) int { return cmp.Compare(a.Index, b.Index) })
	return list
}

// Pins returns the absolute paths of the entries that Access pins, and of the links that lead to protected places.
func (d *Declared) Pins() []string {
	if d.Access == nil {
		return nil
	}
	list := make([]string, len(d.Access.Pinned))
	for i, path := range d.Access.Pinned {
		list[i] = d.rules.Abs(d.rules.Lexical(path))
	}
	return append(list, d.beyondLinks...)
}

// WirePath returns the path of the wire for a canonical absolute path in the workspace or in a mount, and false
// for any other path.
func (d *Declared) WirePath(abs string) (string, bool) {
	place := d.rules.PlaceOf(abs)
	if !d.rules.Known(place) {
		return "", false
	}
	return d.rules.Name(place), true
}
