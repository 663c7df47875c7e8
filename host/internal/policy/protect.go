package policy

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/ask"
	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// guard is a place that tools may read and execute only (docs/decisions.md).
type guard struct{ at place }

// gitNames are what makes git run programs, in a git directory.
var gitNames = []string{"config", "config.worktree", "commondir", "hooks", "modules", "worktrees"}

// guardFinder looks for what is protected and where links lead on the way.
type guardFinder struct {
	*site
	guards []guard
	links  []place
}

// guard finds the host's own files and what makes git run programs. Of repositories it knows
// the one at the root: a nested repository is content like any other, and so is
// whatever a protected file names (a hook that is a link, core.hooksPath). A file of the
// host's whose place cannot be told is an error: it could not be protected.
func (m *model) guard(r Request) error {
	f := &guardFinder{site: &m.site}
	f.add(".jp")
	f.add(config.WorkspaceFile)
	f.add(config.DirectoryFile)
	f.git()
	f.bare()
	own := append([]string{r.StateDir}, r.Guard...)
	if r.Config != nil {
		for _, l := range r.Config.Layers() {
			own = append(own, l.File) // also what is not there: the next call would obey it
			if l.Layer == config.LayerDirectory {
				f.marks(filepath.Dir(l.File))
			}
		}
	}
	for _, file := range own {
		if file == "" {
			continue
		}
		if err := f.abs(file); err != nil {
			return fmt.Errorf("%s cannot be protected from tools: %w\nrepair or remove the link that it is reached by", ask.Visible(file), err)
		}
	}
	m.guards, m.guarded = f.guards, f.links
	return nil
}

// add guards a path of the workspace: what it leads to, and by pins every link on the way.
func (f *guardFinder) add(rel string) {
	p, err := wspath.Parse(rel)
	if err != nil {
		return
	}
	to, _ := f.content(p) // also where a broken link is heading
	f.links = append(f.links, to.links...)
	f.at(to.at)
}

// abs guards an absolute path if tools can reach it: what it leads to, or will once it is made,
// and by pins the links on the way. After an error it has guarded where that was heading.
func (f *guardFinder) abs(file string) error {
	to, err := wspath.CanonicalizeAbs(file, f.readlink)
	for _, hop := range to.Hops {
		f.links = append(f.links, f.placeOf(hop.Entry))
	}
	if to.Abs != "" {
		f.at(f.placeOf(to.Abs))
	}
	return err
}

// at guards a place if a rule can be written on it: below a link that cannot be followed
// there is nothing to protect, and the link itself is pinned.
func (f *guardFinder) at(at place) {
	if !f.known(at) {
		return
	}
	rel, err := wspath.Parse(f.wire(at))
	if err != nil {
		return
	}
	if to, err := f.content(rel); err != nil || !to.at.same(at) {
		return
	}
	if !slices.ContainsFunc(f.guards, func(g guard) bool { return g.at.same(at) }) {
		f.guards = append(f.guards, guard{at})
	}
}

// marks guards a directory between the root and the working directory against being taken for the
// workspace by the next call: what was written for this one would not hold there. A
// repository that is there is content.
func (f *guardFinder) marks(dir string) {
	at := f.placeOf(slashed(dir))
	if at.outside || at.path == "" {
		return
	}
	f.add(at.path + "/.jp")
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		f.add(at.path + "/.git")
	}
}

// git guards the repository at the root. Where there is none, all of `.git` is guarded:
// making one would run programs as well.
func (f *guardFinder) git() {
	p, err := wspath.Parse(".git")
	if err != nil {
		return
	}
	to, err := f.content(p)
	f.links = append(f.links, to.links...)
	if err == nil && !to.missing && isDir(to.abs) {
		f.gitDir(to.abs)
		return
	}
	f.at(to.at)
	if err != nil || to.missing {
		return
	}
	// A file that says where the git directory is.
	if dir, ok := strings.CutPrefix(smallFile(to.abs), "gitdir:"); ok {
		f.gitDir(besides(path.Dir(to.abs), dir))
	}
}

// bare guards the root against becoming a bare repository, and its parts if it is one: git
// takes any directory for one that has HEAD, objects and refs, and obeys its config.
func (f *guardFinder) bare() {
	f.add("HEAD")
	// Also a link that leads nowhere is one: git reads its text.
	if _, err := os.Lstat(filepath.FromSlash(joinAbs(f.root, "HEAD"))); err == nil {
		f.gitDir(f.root)
	}
}

// gitDir guards a git directory and the one that it shares with others. Neither need be
// there yet: a file may name the git directory that a tool would make.
func (f *guardFinder) gitDir(dir string) {
	if to, err := wspath.CanonicalizeAbs(dir, f.readlink); err == nil {
		dir = to.Abs
	}
	dirs := []string{dir}
	if common := smallFile(joinAbs(dir, "commondir")); common != "" {
		dirs = append(dirs, besides(dir, common))
	}
	for _, d := range dirs {
		for _, name := range gitNames {
			// A link there that leads nowhere is git's concern.
			_ = f.abs(joinAbs(d, name))
		}
	}
}

// besides takes a path that may be relative to dir. Where it exists, `..` after a link goes to
// the parent of where the link leads, as git has it.
func besides(dir, name string) string {
	name = filepath.FromSlash(strings.TrimSpace(name))
	if !filepath.IsAbs(name) {
		name = filepath.FromSlash(dir) + string(filepath.Separator) + name
	}
	if real, err := wspath.EvalSymlinks(name); err == nil {
		name = real
	}
	return slashed(name)
}

func isDir(abs string) bool {
	d, err := wspath.OpenDir(abs)
	if err != nil {
		return false
	}
	d.Close()
	return true
}

// smallFile is the beginning of a regular file at a canonical path, "" when there is none.
// Nothing else is opened: a FIFO in a repository would hold the host for ever.
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
	data, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimSpace(line)
}

// named reports whether a rule of the user's own configuration names the guarded place itself.
// One on the whole workspace names nothing in particular.
func (g guard) named(r *fsRule) bool { return r.lifts() && r.at.same(g.at) && g.at.path != "" }

// protect narrows rules so that no guarded place may be written to, but by a rule of the
// user's own configuration on that place or below it. It never grants anything.
func protect(s *site, rules []fsRule, guards []guard) []fsRule {
	const kept = jptool.Read | jptool.Execute
	guards = slices.Clone(guards)
	slices.SortStableFunc(guards, func(a, b guard) int { return cmp.Compare(len(a.at.path), len(b.at.path)) })
	for _, g := range guards {
		for i := range rules {
			r := &rules[i]
			if r.people && !r.lifts() && g.at.holds(r.at) && r.rule.Caps&jptool.Write != 0 {
				r.rule.Caps &= kept
				r.note("narrowed by self-protection")
			}
		}
		i := governing(rules, g.at)
		if i < 0 || rules[i].rule.Caps&jptool.Write == 0 || g.named(&rules[i]) {
			continue
		}
		above := rules[i].rule
		rules = append(rules, fsRule{
			rule: Rule{Origin: SelfProtection, Caps: above.Caps & kept, Stated: above.Caps & kept},
			at:   g.at, path: s.wire(g.at),
		})
	}
	return rules
}

// names lists a directory at a canonical path, up to a limit.
func names(abs string, limit int) []string {
	d, err := wspath.OpenDir(abs)
	if err != nil {
		return nil
	}
	defer d.Close()
	f, err := d.OpenDirFile("")
	if err != nil {
		return nil
	}
	defer f.Close()
	list, err := f.Readdirnames(limit)
	if err != nil && err != io.EOF {
		return nil
	}
	slices.Sort(list)
	return list
}
