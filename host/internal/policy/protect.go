package policy

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/fit"
)

// protectedPlace is a place that tools may only read and execute.
type protectedPlace struct {
	place jptool.Place
	// own says that it is the host's own configuration or state, which no rule opens for writing.
	own bool
	// private says that tools may not even read it: it has what other tools were allowed to read.
	private bool
}

// most is what remains on a protected place of what is granted there.
func (g protectedPlace) most() jptool.Caps {
	if g.private {
		return 0
	}
	return remaining
}

// gitNames are the entries of a git directory that can make git run programs.
var gitNames = []string{"config", "config.worktree", "commondir", "hooks", "modules", "worktrees"}

// protectedFinder looks for the protected places of a policy and the links that lead to them.
type protectedFinder struct {
	*jptool.Site
	d     *Declared
	reach []Reach
	// refused reports the first grant outside the workspace that would allow writing to the host's own files.
	refused error
}

// findProtected finds the host's own files and what makes git run programs: in the workspace, in every directory
// outside it that is granted, and in the directories between such a directory and the workspace. Nested repositories
// are content like any other, and so are the files that a protected file names (a hook that is a link,
// core.hooksPath). It is an error if one of the host's own files cannot be resolved, because it could not be
// protected.
func (d *Declared) findProtected(r Request, look *jptool.Site) error {
	f := &protectedFinder{Site: look, d: d, reach: r.Reach}
	f.directory(f.Root)
	for _, m := range d.rules.Mounts {
		f.around(m.Target)
	}
	for _, g := range r.Reach {
		f.around(g.Abs)
	}
	own := []string{r.StateDir}
	if r.ConfigFile != "" {
		own = append(own, filepath.Dir(r.ConfigFile), r.ConfigFile)
	}
	named := slices.Clone(r.Programs)
	if r.Config != nil {
		for _, l := range r.Config.Layers() {
			switch l.Layer {
			case settings.LayerUserGlobal, settings.LayerUserWorkspace, settings.LayerConversation:
				own = append(own, l.File) // even if it is missing: the next call would obey it
			default:
				named = append(named, l.File)
			}
			if l.Layer == settings.LayerDirectory {
				f.marks(filepath.Dir(l.File))
			}
		}
	}
	for i, file := range append(own, named...) {
		if file == "" {
			continue
		}
		if err := f.abs(file, i < len(own)); err != nil {
			return fmt.Errorf("%s cannot be protected from tools: %w\nrepair or remove the link that it is reached by", show.Visible(file), err)
		}
	}
	if r.StateDir != "" {
		// An error was reported above: it is that of the directory that this lies in.
		if to, err := f.ResolveAbs(path.Join(slashed(r.StateDir), state.Private)); err == nil {
			f.pinLinks(to.Hops)
			f.add(protectedPlace{place: to.Place, own: true, private: true})
		}
	}
	return f.refused
}

// around protects a granted directory outside the workspace, and the directories between it and the workspace. They
// may be repositories and workspaces themselves, whose programs and configuration the person runs.
func (f *protectedFinder) around(dir string) {
	if !isDir(dir) {
		return
	}
	f.directory(dir)
	if below, ok := wspath.WithinAbs(dir, f.Root); ok && below != "" {
		for d := wspath.ParentOf(f.Root); d != dir; d = wspath.ParentOf(d) {
			f.directory(d)
		}
	}
}

// directory protects what jphost and git obey in a directory. A link there that leads nowhere is not an error: the
// link is pinned.
func (f *protectedFinder) directory(dir string) {
	for _, name := range []string{".jp", config.WorkspaceFile, config.DirectoryFile} {
		_ = f.abs(path.Join(dir, name), false)
	}
	f.git(dir)
	f.bare(dir)
}

// abs protects an absolute path if tools can reach it: the place that it leads to, even if nothing is there yet, and
// the links on the way, which are pinned. If the path cannot be resolved, it protects where the resolution was
// heading and returns the error.
func (f *protectedFinder) abs(file string, own bool) error {
	to, err := f.ResolveAbs(file)
	f.pinLinks(to.Hops)
	if !errors.Is(err, wspath.ErrInvalid) {
		f.add(protectedPlace{place: to.Place, own: own})
	}
	if errors.Is(err, fs.ErrPermission) {
		f.closed(file)
	}
	return err
}

// closed refuses the call if a directory on the way to what is to be protected cannot be entered, and belongs to this
// user: nobody knows what is in it, and the tool can change its mode.
func (f *protectedFinder) closed(file string) {
	for dir := path.Dir(file); dir != path.Dir(dir); dir = path.Dir(dir) {
		fi, err := os.Lstat(filepath.FromSlash(dir))
		if err != nil {
			continue
		}
		_, err = os.Lstat(filepath.FromSlash(dir) + "/.")
		if errors.Is(err, fs.ErrPermission) && !state.Foreign(fi) && f.refused == nil {
			f.refused = exit.Errorf(exit.Refused, "%s cannot be looked into, so that %s in it cannot be protected\nlet yourself enter it: chmod u+rwx %s",
				show.Visible(dir), show.Visible(path.Base(file)), show.Word(dir))
		}
		return
	}
}

// pinLinks pins the links that lead to what is protected.
func (f *protectedFinder) pinLinks(hops []wspath.Hop) {
	for _, hop := range hops {
		f.d.ways = append(f.d.ways, fit.Way{Hop: hop, Caps: remaining})
		if place := f.PlaceOf(hop.Entry); f.Known(place) {
			f.d.protectedLinks = append(f.d.protectedLinks, place)
		} else if f.reached(hop.Entry) != 0 {
			f.d.beyondLinks = append(f.d.beyondLinks, hop.Entry)
		}
	}
}

// add protects a place if a rule can name it or a grant outside the workspace reaches it. Below a link that cannot
// be followed there is nothing to protect, and the link itself is pinned. The host's own directories are protected
// even if only something in them can be reached.
func (f *protectedFinder) add(g protectedPlace) {
	list := f.d.protected
	if i := slices.IndexFunc(list, func(o protectedPlace) bool { return o.place.Same(g.place) }); i >= 0 {
		list[i].own = list[i].own || g.own
		return
	}
	for _, r := range f.reach {
		if g.own && r.Caps&jptool.Write != 0 && g.place.Contains(jptool.Place{Outside: true, Path: r.Abs}) && f.refused == nil {
			f.refused = exit.Errorf(exit.Usage, "%s belongs to the configuration and state of jphost, where no program may write\ntake it out of the flags or of sandbox.paths, or grant it for reading only", show.Visible(r.Abs))
		}
	}
	if !f.Known(g.place) {
		if g.own {
			f.d.protected = append(list, g)
		}
		f.outside(g)
		return
	}
	rel, err := wspath.Parse(f.Name(g.place))
	if err != nil {
		return
	}
	if to, err := f.Resolve(rel, false); err != nil || !to.Place.Same(g.place) {
		return
	}
	f.d.protected = append(list, g)
}

// outside protects a place that no path of the wire can name against the grants that reach it. A grant that names
// the place itself lifts the protection, unless the place is the host's own.
func (f *protectedFinder) outside(g protectedPlace) {
	abs := g.place.Path
	caps := f.reached(abs)
	known := slices.ContainsFunc(f.d.beyond, func(p Place) bool { return p.Abs == abs })
	named := slices.ContainsFunc(f.reach, func(r Reach) bool { return r.Abs == abs })
	if caps&^g.most() == 0 || known || named && !g.own {
		return
	}
	f.d.beyond = append(f.d.beyond, Place{Abs: abs, Outside: true, Caps: caps & g.most(), Index: -1, SelfProtection: !g.private, Unnamed: true})
}

// reached returns what all grants outside the workspace together grant at a path.
func (f *protectedFinder) reached(abs string) (caps jptool.Caps) {
	for _, r := range f.reach {
		if _, ok := wspath.WithinAbs(r.Abs, abs); ok {
			caps |= r.Caps
		}
	}
	return caps
}

// marks protects a directory between the root and the working directory, so that a tool cannot make the next call
// take it for the workspace: the rules of this workspace would not apply there. A repository that exists there is
// content.
func (f *protectedFinder) marks(dir string) {
	place := f.PlaceOf(slashed(dir))
	if place.Outside || place.Path == "" {
		return
	}
	_ = f.abs(f.Abs(place.Join(".jp")), false)
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		_ = f.abs(f.Abs(place.Join(".git")), false)
	}
}

// git protects the repository at a directory. If there is none, all of `.git` is protected, because a tool that
// creates one can make git run programs too.
func (f *protectedFinder) git(dir string) {
	name := path.Join(dir, ".git")
	to, err := f.ResolveAbs(name)
	there := f.Abs(to.Place)
	if err == nil && !to.Missing() && isDir(there) {
		f.pinLinks(to.Hops)
		f.gitDir(there)
		return
	}
	_ = f.abs(name, false)
	if err != nil || to.Missing() {
		return
	}
	// A file that says where the git directory is, for git from where its name is, which may be a link to it.
	if where, ok := strings.CutPrefix(smallFile(there), "gitdir:"); ok {
		f.gitDir(besides(dir, where))
	}
}

// bare protects a directory against becoming a bare repository, and the parts of one that is a repository already:
// git takes any directory with HEAD, objects and refs for a repository, and obeys its config. Outside the
// workspace an existing HEAD may change: a person who grants a git directory wants commits.
func (f *protectedFinder) bare(dir string) {
	head := path.Join(dir, "HEAD")
	// Also a link that leads nowhere is one: git reads its text.
	_, err := os.Lstat(filepath.FromSlash(head))
	if err != nil || dir == f.Root {
		_ = f.abs(head, false)
	}
	if err == nil {
		f.gitDir(dir)
	}
}

// gitDir protects a git directory and the one that it shares with others. Neither needs to exist: a file may name a
// git directory that a tool could create.
func (f *protectedFinder) gitDir(dir string) {
	if to, err := f.ResolveAbs(dir); err == nil {
		dir = f.Abs(to.Place)
	}
	dirs := []string{dir}
	if common := smallFile(path.Join(dir, "commondir")); common != "" {
		dirs = append(dirs, besides(dir, common))
	}
	for _, d := range dirs {
		for _, name := range gitNames {
			// A link there that leads nowhere is git's concern.
			_ = f.abs(path.Join(d, name), false)
		}
	}
}

// besides returns the path of a name that may be relative to dir. If it exists, `..` after a link means the parent
// of the link's target, as in git.
func besides(dir, name string) string {
	name = filepath.FromSlash(strings.TrimSpace(name))
	if !filepath.IsAbs(name) {
		name = filepath.FromSlash(dir) + string(filepath.Separator) + name
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	return slashed(name)
}

func slashed(name string) string { return filepath.ToSlash(filepath.Clean(name)) }

func isDir(abs string) bool {
	d, err := wspath.OpenDir(abs) // follows no link
	if err != nil {
		return false
	}
	d.Close()
	return true
}

// smallFile returns the first line of a regular file at a canonical path, "" if there is none. It opens nothing
// else: a FIFO in a repository would block the host forever.
func smallFile(abs string) string {
	d, err := wspath.OpenDir(wspath.ParentOf(abs))
	if err != nil {
		return ""
	}
	defer d.Close()
	file, err := d.Open(path.Base(abs))
	if err != nil {
		return ""
	}
	defer file.Close()
	line, err := bufio.NewReader(io.LimitReader(file, 4096)).ReadString('\n')
	if err != nil && err != io.EOF {
		return ""
	}
	return strings.TrimSpace(line)
}

// remaining are the capabilities that remain on protected places.
const remaining = jptool.Read | jptool.Execute

// protect narrows rules so that no protected place may be written to, but by a rule of the user's own
// configuration on that place or below it. Nothing opens what is the host's own, and a rule on the whole workspace
// names no place in particular. It never grants anything.
func (d *Declared) protect() {
	list := slices.Clone(d.protected)
	slices.SortStableFunc(list, func(a, b protectedPlace) int { return cmp.Compare(len(a.place.Path), len(b.place.Path)) })
	for _, g := range list {
		for i := range d.rules.Placed {
			r := &d.rules.Placed[i]
			if d.sources[i].people && (g.own || !d.lifts(i)) && g.place.Contains(r.Place) && r.Caps&^g.most() != 0 {
				r.Caps &= g.most()
				d.sources[i].note("narrowed by self-protection")
			}
		}
		at := d.rules.At(g.place)
		i := at.Rule()
		// Where a pattern withholds everything, a rule would only give something back.
		if i < 0 || at.Withheld().Pattern != "" || d.rules.Placed[i].Caps&^g.most() == 0 || !d.rules.Known(g.place) {
			continue
		}
		above := &d.rules.Placed[i]
		if d.lifts(i) && !g.own && above.Place.Same(g.place) && g.place.Path != "" {
			continue
		}
		origin := SelfProtection
		if g.private {
			origin = Private
		}
		d.add(jptool.Placed{Place: g.place, Name: d.rules.Name(g.place), Caps: above.Caps & g.most()}, source{Rule: Rule{Origin: origin}})
	}
}
