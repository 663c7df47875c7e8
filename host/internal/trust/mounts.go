package trust

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// userMounts are the external rules of the user's own layers, and what the rules in force say
// there. External rules go by approval alone (RFD D43), but an approval is of a path and its
// target: a rule of the repository on the same path would take over what was approved for
// another tool, or for less.
type userMounts struct {
	site  jptool.Site
	links []userMount
	// mine are the user's rules of each tool, theirs the repository's, by where they stand.
	mine   map[string]*jptool.Rules
	theirs map[settings.Origin]jptool.FsRule
}

// userMount is a link that the user granted to some tool, and where it leads.
type userMount struct {
	path string
	to   jptool.Place
}

func newUserMounts(cfg *config.Config, root string) *userMounts {
	u := &userMounts{site: jptool.Site{Root: root}, mine: map[string]*jptool.Rules{}, theirs: map[settings.Origin]jptool.FsRule{}}
	for _, t := range cfg.Tools() {
		if t.Access == nil {
			continue
		}
		u.mine[t.Name] = jptool.NewRules(u.site)
		for _, r := range t.Access.FS {
			if r.At.Layer.Repository() {
				u.theirs[r.At] = r.FsRule
				continue
			}
			path, to, ok := u.resolve(r.FsRule)
			if !ok {
				continue
			}
			u.mine[t.Name].Add(jptool.Placed{Place: to, Caps: r.Caps()})
			if r.External && r.Caps() != 0 && to.Outside {
				u.links = append(u.links, userMount{path, to})
			}
		}
	}
	return u
}

// resolve returns the path of a rule without links in its directory, and the place that it leads to.
func (u *userMounts) resolve(r jptool.FsRule) (path string, to jptool.Place, ok bool) {
	rel, err := wspath.Parse(r.Path)
	if err != nil {
		return "", to, false // it will not compile
	}
	resolved, err := u.site.Resolve(rel, false)
	return u.site.Entry(rel), resolved.Place, err == nil
}

// widens reports whether the repository's rule that stands at an origin grants its tool more
// of what the user mounted than the user's own rules do.
func (u *userMounts) widens(tool string, at settings.Origin) bool {
	their := u.theirs[at]
	if their.Caps() == 0 || len(u.links) == 0 {
		return false
	}
	path, to, ok := u.resolve(their)
	if !ok || !to.Outside {
		return false // it grants nothing outside
	}
	mounted := slices.ContainsFunc(u.links, func(m userMount) bool {
		if their.External {
			return jptool.Fold(m.path) == jptool.Fold(path)
		}
		return m.to.Contains(to)
	})
	return mounted && their.Caps()&^u.mine[tool].At(to).Caps() != 0
}

// RepositoryRules are the rules in force of the repository's layers at links of the workspace or
// below them, whether the links exist or not: what a person should know who mounts something
// there. links are paths without further links, root is the canonical workspace.
// Each is a line such as `TOOL: CAPABILITIES (FILE:LINE:COLUMN)`.
func RepositoryRules(cfg *config.Config, root string, links []string) (list []string) {
	s := jptool.Site{Root: filepath.ToSlash(root)}
	for _, t := range cfg.Tools() {
		if t.Access == nil {
			continue
		}
		for _, r := range t.Access.FS {
			rel, err := wspath.Parse(r.Path)
			if err != nil || !r.At.Layer.Repository() || r.Caps() == 0 {
				continue
			}
			path := s.Entry(rel)
			if slices.ContainsFunc(links, func(link string) bool { return (jptool.Place{Path: link}).Contains(jptool.Place{Path: path}) }) {
				list = append(list, fmt.Sprintf("%s: %s (%s)", t.Name, r.Caps(), r.At))
			}
		}
	}
	return list
}
