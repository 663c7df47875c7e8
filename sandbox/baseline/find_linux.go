package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
)

func find(program string, argv []string, o Options) (*Baseline, error) {
	return tree{}.find(program, argv, &o)
}

func (t tree) find(program string, argv []string, o *Options) (*Baseline, error) {
	if !path.IsAbs(program) {
		return nil, fmt.Errorf("the program %q is not absolute", program)
	}
	c := chain{tree: t, o: o}
	img, err := c.add(program, "", argv[min(1, len(argv)):])
	if err != nil {
		return nil, &ProgramError{program, err}
	}
	b := &Baseline{Devices: devices, Static: img.format == static && len(c.places) == 1, Outside: c.outside}
	g := gathered{workspace: o.Workspace}
	store := ""
	for _, p := range c.places {
		b.Chain = append(b.Chain, p.Path)
		for _, dir := range stores {
			if under(p.Path, dir) {
				store = dir
			}
		}
		g.add(p, run)
	}
	for _, p := range t.system(b.Static, o.Network) {
		g.add(p, run)
	}
	if store != "" && !b.Static {
		t.store(&g, store, o.Path)
	}
	writable := t.writable(o)
	for _, e := range o.Extra {
		if err := e.Check(); err != nil {
			return nil, &ExtraError{err}
		}
		p, err := t.way(e.Path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			b.Missing = append(b.Missing, e)
			continue
		case err != nil:
			return nil, &ExtraError{fmt.Errorf("%s: sandbox.paths: %s: %w", e.Origin, e.Path, reason(err))}
		}
		for _, l := range p.links {
			if Planted(l.Path, o.Home, writable) {
				return nil, &ExtraError{fmt.Errorf("%s: sandbox.paths: %s leads to %s through %s, a symlink that a repository or a program may have made\nif that place is meant, write it", e.Origin, e.Path, p.Path, l.Path)}
			}
		}
		// A link may lead to what may not be written.
		if err := (Extra{p.Path, e.Caps, e.Origin}).Check(); err != nil {
			return nil, &ExtraError{err}
		}
		g.add(p, e.Caps)
	}
	for _, name := range o.Names {
		if !path.IsAbs(name) {
			continue
		}
		if p, err := t.way(name); err == nil {
			g.linked = append(g.linked, p.links...)
		}
	}
	b.Grants, b.Links = g.grants(), g.links()
	return b, nil
}

// writable are the directories in which a program that is confined may have made links.
func (t tree) writable(o *Options) []string {
	list := slices.Clone(o.Writable)
	if o.Workspace != "" {
		list = append(list, o.Workspace)
	}
	for _, e := range o.Extra {
		if p, err := t.way(e.Path); err == nil && e.Caps&jptool.Write != 0 {
			list = append(list, p.Path)
		}
	}
	return list
}

// store adds a package manager's store, and the links by which PATH leads into it.
func (t tree) store(g *gathered, dir, search string) {
	if p, err := t.way(dir); err == nil && p.Kind == fit.Dir {
		g.add(p, run)
	}
	for entry := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(entry) {
			continue
		}
		if p, err := t.way(entry); err == nil && under(p.Path, dir) {
			g.linked = append(g.linked, p.links...)
		}
	}
}

// gathered is what was found so far.
type gathered struct {
	workspace string
	list      []fit.Grant
	linked    []Link
	kept      []fit.Grant
}

func (g *gathered) add(p *place, caps jptool.Caps) {
	g.list = append(g.list, fit.Grant{Node: p.Node, Caps: caps})
	g.linked = append(g.linked, p.links...)
}

// grants orders them, joins those of one path, and drops what another grants already.
func (g *gathered) grants() []fit.Grant {
	slices.SortStableFunc(g.list, func(a, b fit.Grant) int { return comparePaths(a.Path, b.Path) })
	g.kept = make([]fit.Grant, 0, len(g.list))
	for _, add := range g.list {
		if n := len(g.kept); n > 0 && g.kept[n-1].Path == add.Path {
			g.kept[n-1].Caps |= add.Caps
		} else if !g.covered(add.Path, add.Caps) {
			g.kept = append(g.kept, add)
		}
	}
	return g.kept
}

// covered: the grants on the ancestors of a path add up to caps.
func (g *gathered) covered(path string, caps jptool.Caps) bool {
	var have jptool.Caps
	for _, k := range g.kept {
		if k.Kind == fit.Dir && under(path, k.Path) {
			have |= k.Caps
		}
	}
	return have.Has(caps)
}

// links are those that lie in nothing that is granted, nor in the workspace, where they are
// seen as they are.
func (g *gathered) links() []Link {
	slices.SortFunc(g.linked, func(a, b Link) int {
		return cmp.Or(comparePaths(a.Path, b.Path), strings.Compare(a.Target, b.Target))
	})
	var list []Link
	for _, l := range slices.Compact(g.linked) {
		if !g.inside(l.Path) {
			list = append(list, l)
		}
	}
	return list
}

func (g *gathered) inside(path string) bool {
	if g.workspace != "" && under(path, g.workspace) {
		return true
	}
	return slices.ContainsFunc(g.kept, func(k fit.Grant) bool { return k.Kind == fit.Dir && under(path, k.Path) })
}

// comparePaths orders so that what lies in a directory follows it at once.
func comparePaths(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			switch {
			case a[i] == '/':
				return -1
			case b[i] == '/':
				return 1
			}
			return cmp.Compare(a[i], b[i])
		}
	}
	return cmp.Compare(len(a), len(b))
}
