package baseline

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// run is all that the baseline grants of itself.
const run = jptool.Read | jptool.Execute

// tree is a file system; tests put one below another root. All paths that go in and come out
// are of the tree itself.
type tree struct{ root string }

func (t tree) find(program string, argv []string, o *Options) (*Baseline, error) {
	if !path.IsAbs(program) {
		return nil, fmt.Errorf("the program %q is not absolute", program)
	}
	c := chain{tree: t, o: o}
	img, err := c.add(program, "", argv[min(1, len(argv)):])
	if err != nil {
		return nil, &ProgramError{program, err}
	}
	b := &Baseline{Devices: system["devices"], Static: img.format == static && len(c.places) == 1, Outside: c.outside}
	var g gathered
	store := ""
	for _, p := range c.places {
		b.Chain = append(b.Chain, p.Path)
		if i := slices.IndexFunc(system["stores"], holds(p.Path)); i >= 0 {
			store = system["stores"][i]
		}
		g.add(p, run)
	}
	for _, p := range t.system(b.Static && !o.System, o.Network) {
		g.add(p, run)
	}
	if store != "" && !b.Static {
		if p, err := t.way(store); err == nil && p.Kind == fit.Dir {
			g.add(p, run)
		}
		t.addLinks(&g, strings.Split(o.Path, ":"), store)
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
			return nil, &ExtraError{fmt.Errorf("%s: sandbox.paths: %s: %w", e.Origin, e.Path, err)}
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
		b.Given = append(b.Given, p.Path)
	}
	t.addLinks(&g, o.Names, "/")
	b.Grants = g.grants()
	b.Links = g.linksBeside(b.Grants, o.Workspace)
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

// addLinks adds the links by which names lead into a directory.
func (t tree) addLinks(g *gathered, names []string, dir string) {
	for _, name := range names {
		if !path.IsAbs(name) {
			continue
		}
		if p, err := t.way(name); err == nil && fit.Holds(dir, p.Path) {
			g.linked = append(g.linked, p.links...)
		}
	}
}

// gathered is what was found so far.
type gathered struct {
	list   []fit.Grant
	linked []fit.Grant
}

func (g *gathered) add(p *place, caps jptool.Caps) {
	g.list = append(g.list, fit.Grant{Node: p.Node, Caps: caps})
	g.linked = append(g.linked, p.links...)
}

// grants orders them, joins those of one path, and drops what others above it grant already.
func (g *gathered) grants() []fit.Grant {
	slices.SortStableFunc(g.list, func(a, b fit.Grant) int { return comparePaths(a.Path, b.Path) })
	kept := []fit.Grant{}
	for _, add := range g.list {
		var have jptool.Caps
		for _, k := range kept {
			if k.Kind == fit.Dir && fit.Holds(k.Path, add.Path) {
				have |= k.Caps
			}
		}
		if n := len(kept); n > 0 && kept[n-1].Path == add.Path {
			kept[n-1].Caps |= add.Caps
		} else if !have.Has(add.Caps) {
			kept = append(kept, add)
		}
	}
	return kept
}

// linksBeside are those that lie in nothing that is granted, nor in the workspace, where they are
// seen as they are.
func (g *gathered) linksBeside(grants []fit.Grant, workspace string) []fit.Grant {
	slices.SortFunc(g.linked, func(a, b fit.Grant) int { return comparePaths(a.Path, b.Path) })
	return slices.DeleteFunc(slices.Compact(g.linked), func(l fit.Grant) bool {
		return workspace != "" && fit.Holds(workspace, l.Path) ||
			slices.ContainsFunc(grants, func(k fit.Grant) bool { return k.Kind == fit.Dir && fit.Holds(k.Path, l.Path) })
	})
}

// comparePaths orders so that what lies in a directory follows it at once.
func comparePaths(a, b string) int {
	return strings.Compare(strings.ReplaceAll(a, "/", "\x00"), strings.ReplaceAll(b, "/", "\x00"))
}

// system is what does not depend on the program.
func (t tree) system(static, network bool) (places []*place) {
	if static && !network {
		return nil
	}
	var names []string
	if !static {
		for _, dir := range system["programs"] {
			if p, err := t.way(dir); err == nil && p.Kind == fit.Dir {
				places = append(places, p)
			}
		}
		names = append(names, system["start"]...)
		entries, _ := os.ReadDir(t.root + "/etc") // what has no version in its name is known without
		for _, e := range entries {
			if slices.ContainsFunc(system["prefixes"], func(p string) bool { return strings.HasPrefix(e.Name(), p) }) {
				names = append(names, "/etc/"+e.Name())
			}
		}
	}
	if network {
		names = append(names, system["net"]...)
	}
	for _, name := range append(names, system["trust"]...) {
		// Only what everybody may read: a host that runs as root must not give away what is for root alone.
		p, err := t.way(name)
		if err != nil {
			continue
		}
		fi, err := os.Lstat(t.root + p.Path)
		if err == nil && (p.Kind == fit.File && fi.Mode()&0o004 != 0 || p.Kind == fit.Dir && fi.Mode()&0o005 == 0o005) {
			places = append(places, p)
		}
	}
	return places
}

// place is where a path leads to.
type place struct {
	fit.Node
	// links are those on the way, in order.
	links []fit.Grant
}

// way resolves a path, which must be absolute, noting every link. Errors are without the path.
func (t tree) way(path string) (*place, error) {
	to, err := wspath.Follow(path, func(at string) (string, error) { return os.Readlink(t.root + at) })
	switch {
	case to.Missing || errors.Is(err, wspath.ErrDangling):
		return nil, unix.ENOENT
	case errors.Is(err, wspath.ErrLoop):
		return nil, unix.ELOOP
	case err != nil:
		return nil, cmp.Or(errors.Unwrap(err), err)
	}
	p := &place{}
	for _, hop := range to.Hops {
		n, err := t.look(hop.Entry)
		if err != nil {
			return nil, err
		}
		p.links = append(p.links, fit.Grant{Node: n})
	}
	p.Node, err = t.look(to.Abs)
	return p, err
}

// look describes what stands at a path without links.
func (t tree) look(path string) (fit.Node, error) {
	n, err := fit.Look(t.root + path)
	if err == nil && n.Kind == fit.Missing {
		err = unix.ENOENT
	}
	n.Path = path
	return n, err
}
