package trust

import (
	"path/filepath"
	"slices"

	"github.com/jptools/jptools/host/internal/config"
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
	theirs map[config.Origin]repositoryRule
}

// userMount is a link that the user granted to some tool, and where it leads.
type userMount struct {
	path string
	to   jptool.Place
}

type repositoryRule struct {
	tool string
	rule jptool.FsRule
}

func newUserMounts(cfg *config.Config, root string) *userMounts {
	u := &userMounts{site: jptool.Site{Root: root}, mine: map[string]*jptool.Rules{}, theirs: map[config.Origin]repositoryRule{}}
	for _, t := range cfg.Tools() {
		if t.Access == nil {
			continue
		}
		for _, r := range t.Access.FS {
			if r.At.Layer.Repository() {
				u.theirs[r.At] = repositoryRule{t.Name, r.FsRule}
			} else if r.External && r.Caps() != 0 {
				u.mount(r.FsRule)
			}
		}
	}
	if len(u.links) == 0 || len(u.theirs) == 0 {
		return u // nothing to compare
	}
	for _, t := range cfg.Tools() {
		if t.Access == nil {
			continue
		}
		for _, r := range t.Access.FS {
			if r.At.Layer.Repository() {
				continue
			}
			if rel, err := wspath.Parse(r.Path); err == nil {
				if to, err := u.site.Resolve(rel, false); err == nil {
					if u.mine[t.Name] == nil {
						u.mine[t.Name] = jptool.NewRules(u.site)
					}
					u.mine[t.Name].Add(jptool.Placed{Place: to.Place, Caps: r.Caps()})
				}
			}
		}
	}
	return u
}

func (u *userMounts) mount(r jptool.FsRule) {
	rel, err := wspath.Parse(r.Path)
	if err != nil {
		return
	}
	if to, err := u.site.Resolve(rel, false); err == nil && to.Place.Outside {
		u.links = append(u.links, userMount{u.site.Entry(rel), to.Place})
	}
}

// widens reports whether the repository's rule that stands at an origin grants its tool more
// of what the user mounted than the user's own rules do.
func (u *userMounts) widens(at config.Origin) bool {
	their, ok := u.theirs[at]
	caps := their.rule.Caps()
	if !ok || caps == 0 || len(u.links) == 0 {
		return false
	}
	rel, err := wspath.Parse(their.rule.Path)
	if err != nil {
		return false // it will not compile
	}
	to, err := u.site.Resolve(rel, false)
	if err != nil || !to.Place.Outside {
		return false // it grants nothing outside
	}
	path := u.site.Entry(rel)
	if !slices.ContainsFunc(u.links, func(m userMount) bool {
		if their.rule.External {
			return jptool.Fold(m.path) == jptool.Fold(path)
		}
		return m.to.Contains(to.Place)
	}) {
		return false
	}
	mine := u.mine[their.tool]
	return mine == nil || caps&^mine.At(to.Place).Caps() != 0
}

// RepositoryRule is a rule of the repository's layers that grants something.
type RepositoryRule struct {
	Tool   string
	Caps   jptool.Caps
	Origin config.Origin
}

// RepositoryRules are the rules in force of the repository's layers at links of the workspace or
// below them, whether the links exist or not: what a person should know who mounts something
// there. links are paths without further links, root is the canonical workspace.
func RepositoryRules(cfg *config.Config, root string, links []string) []RepositoryRule {
	s := jptool.Site{Root: filepath.ToSlash(root)}
	var list []RepositoryRule
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
				list = append(list, RepositoryRule{t.Name, r.Caps(), r.At})
			}
		}
	}
	return list
}

// ruleOf is a rule as it stands in a layer, for its capabilities.
func ruleOf(rule map[string]any) jptool.FsRule {
	var r jptool.FsRule
	r.Path, _ = rule["path"].(string)
	r.External, _ = rule["external"].(bool)
	for key, to := range map[string]**bool{"read": &r.Read, "write": &r.Write, "create": &r.Create, "update": &r.Update, "delete": &r.Delete, "execute": &r.Execute} {
		if b, ok := rule[key].(bool); ok {
			*to = &b
		}
	}
	return r
}
