package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// Facts is what Survey saw. It is true of one moment: the back end verifies every node that a
// plan names, and [After] checks say what changed.
type Facts struct {
	// Nodes are what was looked at, by path; what is not there has the kind Missing.
	Nodes map[string]Node
	// Listings are the directories that were listed, by path.
	Listings map[string]Listing
	entries  int
	// supposed are directories that are not there, and that a dry run takes to be there and empty.
	supposed []Node
}

// Listing is what a directory holds, without "." and "..", by name. Incomplete says that it
// holds more, or something that could not be looked at: then it is not to be used.
type Listing struct {
	Entries    []Node
	Incomplete bool
}

// maxEntries bounds what is listed for one call.
const maxEntries = 4096

// errLink: a symlink stands on the way to a path that is canonical, so that the path cannot
// be reached and no rule on it applies.
var errLink = errors.New("a symlink stands on the way")

// Look says what stands at a canonical path; a link on the way to it is an error, and
// nothing there is the kind Missing.
func Look(path string) (Node, error) {
	m, err := measure(path)
	return m.Node, err
}

// Survey looks at every path that fitting d needs to know: the workspace, the targets of
// mounts and their links, the places of rules, what is pinned, and the directories on the way
// to all of these. It follows no symlink and lists nothing; what lies behind one is missing.
// The error names what could not be looked at.
func Survey(ctx context.Context, d *Policy, o Options) (*Facts, error) {
	f := &Facts{Nodes: map[string]Node{}, Listings: map[string]Listing{}}
	tops := roots(d, o)
	paths := append(slices.Clone(tops), d.Site.Root)
	for _, m := range d.Mounts {
		paths = append(paths, m.Link, m.Target)
	}
	for _, p := range d.Places {
		paths = append(paths, p.Abs)
	}
	paths = append(paths, d.Pins...)
	for _, w := range d.Ways {
		paths = append(paths, w.Entry)
	}
	for _, from := range paths {
		for p := range Upward(from) {
			if _, known := f.Nodes[p]; known {
				break
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			n, err := Look(p)
			if err != nil && err != errLink {
				return nil, fmt.Errorf("%s: %w", p, err)
			}
			f.Nodes[p] = n
			if slices.Contains(tops, p) || topOf(tops, p) == "" {
				break
			}
		}
	}
	for _, n := range o.supposed {
		if f.node(n.Path).Kind == Missing {
			f.Nodes[n.Path] = n
			f.supposed = append(f.supposed, n)
		}
	}
	return f, nil
}

// List adds listings of directories to the facts, as [Fitted.Want] asks for them; limit bounds the
// number of entries of all of them.
func (f *Facts) List(ctx context.Context, dirs []string, limit int) error {
	for _, dir := range dirs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, known := f.Listings[dir]; known {
			continue
		}
		names, more, err := readNames(dir, limit-f.entries)
		if slices.ContainsFunc(f.supposed, func(n Node) bool { return n.Path == dir }) {
			names, more, err = nil, false, nil
		}
		if err != nil || more {
			// What cannot be listed is fitted as if nothing were in it.
			f.Listings[dir] = Listing{Incomplete: true}
			continue
		}
		l := Listing{}
		f.entries += len(names)
		for _, name := range names {
			if !utf8.ValidString(name) {
				continue // no rule can name it
			}
			n, err := Look(path.Join(dir, name))
			if err != nil && err != errLink {
				return fmt.Errorf("%s: %w", path.Join(dir, name), err)
			}
			if n.Kind != Missing {
				l.Entries = append(l.Entries, n)
			}
		}
		for _, n := range f.supposed {
			if path.Dir(n.Path) == dir {
				l.Entries = append(l.Entries, n)
			}
		}
		f.Listings[dir] = l
	}
	return nil
}

// readNames lists a directory; more says that there are more than limit.
func readNames(dir string, limit int) (names []string, more bool, err error) {
	if limit <= 0 {
		return nil, true, nil
	}
	d, err := wspath.OpenDir(dir)
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	file, err := d.OpenDirFile("")
	if err != nil {
		return nil, false, err
	}
	defer file.Close()
	names, err = file.Readdirnames(limit + 1)
	if err != nil && err != io.EOF {
		return nil, false, err
	}
	slices.Sort(names)
	return names, len(names) > limit, nil
}

// node is what is known of a path; what nobody looked at is missing.
func (f *Facts) node(p string) Node {
	if n, ok := f.Nodes[p]; ok {
		return n
	}
	list := f.Listings[path.Dir(p)].Entries
	if i := slices.IndexFunc(list, func(n Node) bool { return n.Path == p }); i >= 0 {
		return list[i]
	}
	return Node{Path: p}
}

// roots are the trees of a policy: the workspace, the targets of its mounts, what else
// programs may write, and what is given and holds something that is withheld, without those that lie in another.
func roots(d *Policy, o Options) []string {
	all := []string{d.Site.Root}
	for _, m := range d.Mounts {
		all = append(all, m.Target)
	}
	for _, g := range o.Runtime {
		if g.Caps&jptool.Write != 0 || slices.Contains(o.holding, g.Path) {
			all = append(all, g.Path)
		}
	}
	var out []string
	for i, p := range all {
		inner := slices.ContainsFunc(all, func(q string) bool { return q != p && Holds(q, p) })
		if !inner && !slices.Contains(all[:i], p) {
			out = append(out, p)
		}
	}
	return out
}

// Holds reports whether dir is p or above it; both are canonical and absolute.
func Holds(dir, p string) bool {
	_, ok := wspath.WithinAbs(dir, p)
	return ok
}

// topOf is the tree that holds a path, "" for none.
func topOf(trees []string, p string) string {
	if i := slices.IndexFunc(trees, func(t string) bool { return Holds(t, p) }); i >= 0 {
		return trees[i]
	}
	return ""
}

// Upward yields a path and the directories above it, up to "/".
func Upward(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(p) && p != "/" {
			p = path.Dir(p)
		}
	}
}

// OuterFirst orders canonical absolute paths so that what holds something comes before it.
func OuterFirst(a, b string) int {
	depth := func(p string) int { return strings.Count(strings.TrimSuffix(p, "/"), "/") }
	return cmp.Or(depth(a)-depth(b), strings.Compare(a, b))
}
