package agreement

import (
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox/fit"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func mapping(change func(*rights)) bug {
	return bug{mapping: change}
}

func covers(change func(*fit.Cover)) bug {
	return bug{plan: func(p *fit.Plan) {
		for i := range p.Covers {
			change(&p.Covers[i])
		}
	}}
}

func grants(change func(*fit.Grant)) bug {
	return bug{plan: func(p *fit.Plan) {
		for i := range p.Grants {
			change(&p.Grants[i])
		}
	}}
}

func holds(dir, p string) bool { return strings.HasPrefix(p, dir+"/") }

// planted are the bugs that the harness must find, and the way of holding in which they show.
var planted = []struct {
	name, way string
	bug       bug
}{
	// The mapping from capabilities to rights.
	{"update without truncate", "landlock", mapping(func(m *rights) { m.Update &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE })},
	{"read truncates", "landlock", mapping(func(m *rights) { m.Read |= unix.LANDLOCK_ACCESS_FS_TRUNCATE })},
	{"read executes", "landlock", mapping(func(m *rights) { m.Read |= unix.LANDLOCK_ACCESS_FS_EXECUTE })},
	{"no moves between directories", "landlock", mapping(func(m *rights) {
		m.Create &^= unix.LANDLOCK_ACCESS_FS_REFER
		m.Delete &^= unix.LANDLOCK_ACCESS_FS_REFER
	})},
	{"read does not list", "landlock", mapping(func(m *rights) { m.Read &^= unix.LANDLOCK_ACCESS_FS_READ_DIR })},
	{"create writes", "landlock", mapping(func(m *rights) { m.Create |= unix.LANDLOCK_ACCESS_FS_WRITE_FILE })},
	{"create makes no links", "landlock", mapping(func(m *rights) { m.Create &^= unix.LANDLOCK_ACCESS_FS_MAKE_SYM })},
	{"delete keeps directories", "landlock", mapping(func(m *rights) { m.Delete &^= unix.LANDLOCK_ACCESS_FS_REMOVE_DIR })},
	{"update deletes", "landlock", mapping(func(m *rights) { m.Update |= unix.LANDLOCK_ACCESS_FS_REMOVE_FILE })},

	// What is granted.
	{"the directory above is granted", "landlock", grants(func(g *fit.Grant) {
		if n := must(fit.Look(path.Dir(g.Path))); n.Kind == fit.Dir {
			g.Node = n
		}
	})},
	{"a rule on a file holds for its directory", "replacement", grants(func(g *fit.Grant) {
		if g.Kind == fit.File {
			g.Node = must(fit.Look(path.Dir(g.Path)))
		}
	})},
	{"the last grant is lost", "namespace", bug{plan: func(p *fit.Plan) { p.Grants = p.Grants[:max(0, len(p.Grants)-1)] }}},
	{"who may read may update", "replacement", grants(func(g *fit.Grant) {
		if g.Caps.Has(jptool.Read) {
			g.Caps |= jptool.Update
		}
	})},
	{"what is replaced by grants below stays granted", "replacement", bug{plan: func(p *fit.Plan) {
		var all jptool.Caps
		for _, g := range p.Grants {
			all |= g.Caps
		}
		p.Grants = append(p.Grants, fit.Grant{Node: p.Trees[0], Caps: all})
	}}},
	{"a directory for staged files may be written", "landlock", bug{plan: func(p *fit.Plan) {
		for _, s := range p.Staged {
			p.Grants = append(p.Grants, fit.Grant{Node: s.Node, Caps: jptool.Create | jptool.Update})
		}
	}}},
	{"a grant follows links", "landlock", bug{plan: func(p *fit.Plan) {
		for _, t := range p.Trees {
			for _, at := range must(filepath.Glob(t.Path + "/*")) {
				to, err := filepath.EvalSymlinks(at)
				if err != nil || to == at {
					continue
				}
				for _, g := range p.Grants {
					if g.Path == t.Path {
						p.Grants = append(p.Grants, fit.Grant{Node: must(fit.Look(to)), Caps: g.Caps})
						break
					}
				}
			}
		}
	}}},
	{"what programs need holds a neighbour", "landlock", bug{plan: func(p *fit.Plan) {
		if n := must(fit.Look(path.Dir(p.Trees[0].Path) + "/other")); n.Kind == fit.Dir {
			p.Runtime = append(slices.Clone(p.Runtime), fit.Grant{Node: n, Caps: jptool.Read | jptool.Execute})
		}
	}}},

	// Mounts.
	{"no covers", "namespace", bug{plan: func(p *fit.Plan) { p.Covers = nil }}},
	{"no pins", "namespace", bug{plan: func(p *fit.Plan) { p.Pins = nil }}},
	{"only the last component is pinned", "namespace", bug{plan: func(p *fit.Plan) {
		all := p.Entries()
		p.Pins = slices.DeleteFunc(p.Pins, func(n fit.Node) bool {
			return slices.ContainsFunc(all, func(m fit.Node) bool { return holds(n.Path, m.Path) })
		})
	}}},
	{"links are not pinned", "namespace", bug{plan: func(p *fit.Plan) {
		p.Pins = slices.DeleteFunc(p.Pins, func(n fit.Node) bool { return n.Kind == fit.Link })
	}}},
	{"what is hidden is only kept in place", "namespace", covers(func(c *fit.Cover) { c.Hide = false })},
	{"a read-only mount is writable", "namespace", covers(func(c *fit.Cover) { c.ReadOnly = false })},
	{"a noexec mount executes", "namespace", covers(func(c *fit.Cover) { c.NoExec = false })},
	{"a rule below what is hidden is held against that alone", "namespace", covers(func(c *fit.Cover) {
		if c.Again {
			c.ReadOnly, c.NoExec = false, false
		}
	})},
	{"what is granted again stays hidden", "namespace", bug{plan: func(p *fit.Plan) {
		p.Covers = slices.DeleteFunc(p.Covers, func(c fit.Cover) bool { return c.Again })
	}}},
	{"files are not covered", "namespace", bug{plan: func(p *fit.Plan) {
		p.Covers = slices.DeleteFunc(p.Covers, func(c fit.Cover) bool { return c.Kind == fit.File })
	}}},
	{"only the outermost covers are mounted", "namespace", bug{plan: func(p *fit.Plan) {
		all := slices.Clone(p.Covers)
		p.Covers = slices.DeleteFunc(p.Covers, func(c fit.Cover) bool {
			return slices.ContainsFunc(all, func(d fit.Cover) bool { return holds(d.Path, c.Path) })
		})
	}}},
	{"capabilities are kept", "namespace", bug{capabilities: true}},

	// What is said of it.
	{"more is granted than declared", "namespace", bug{fitted: func(f *fit.Fitted) {
		for i := range f.Access.FS {
			if r := &f.Access.FS[i]; !r.External && r.Caps() != 0 {
				*r = fit.FsRule(r.Path, r.Caps()|jptool.Update)
			}
		}
		grants(func(g *fit.Grant) { g.Caps |= jptool.Update }).plan(f.Plan)
	}}},
	{"entries that are held are not told", "namespace", bug{fitted: func(f *fit.Fitted) { f.Access.Pinned = nil }}},
	{"nothing is looked for after the call", "replacement", bug{fitted: func(f *fit.Fitted) { f.After = nil }}},
}

// TestPlanted shows that the harness finds what is wrong.
func TestPlanted(t *testing.T) {
	for _, p := range planted {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			if p.name == "capabilities are kept" && unix.Geteuid() != 0 {
				t.Skip("not run as root: there are no capabilities to keep")
			}
			t.Parallel()
			runtime.LockOSThread()
			r := newRunner(t)
			r.skipWithout(t, p.way)
			r.bug, r.planted = p.bug, true
			scenes := rapid.Custom(func(t *rapid.T) *scene { return drawScene(t, p.way) })
			found := ""
			for round := 0; round < 6 && found == ""; round++ {
				rapid.Check(t, func(t *rapid.T) {
					s := scenes.Draw(t, "scene")
					if found != "" {
						return
					}
					list, usable, bad := r.run(s)
					if usable {
						r.counts.scenes++
						r.counts.add(list)
					}
					if bad != nil && bad.op.Do != "" {
						found = bad.op.String() + ": " + bad.what
					}
				})
			}
			if found == "" {
				t.Fatalf("not found in %v", &r.counts)
			}
			t.Logf("found after %d cases: %.200s", r.counts.cases, found)
		})
	}
}
