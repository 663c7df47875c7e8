package policy

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
)

// The built-in list of RFD 075, "Sensitive path protection": what is asked for before a call that
// may reach it. Mounts are asked for by a longer list (mount/confirm.go), which has all of
// sensitivePlaces.
var (
	sensitivePlaces = []string{
		"~/.ssh", "~/.gnupg", "~/.gpg", "~/.aws/credentials", "~/.config/gcloud", "~/.kube/config", "~/.docker/config.json",
	}
	sensitiveNames = []string{"**/.env", "**/.env.*"}
)

// SensitiveNames are the built-in patterns of places of secrets that can lie in a workspace.
func SensitiveNames() []string { return slices.Clone(sensitiveNames) }

// sensitiveEntries bounds how many names of a directory are looked at.
const sensitiveEntries = 4096

// sensitiveFinder looks for places of secrets among those that the rules grant.
type sensitiveFinder struct {
	d     *Declared
	home  string
	found []Sensitive
}

// findSensitive lists the sensitive places that the policy lets the tool reach. A place that
// the list names is found wherever it lies. What a pattern matches is found where a
// person's own rule names it or the directory it stands in; deeper files are not looked
// for, because that would walk the tree before each call. It warns; it does not protect.
func findSensitive(d *Declared, r Request) []Sensitive {
	f := &sensitiveFinder{d: d, home: homeOf(r.Home, d.model.readlink)}
	patterns := slices.Concat(sensitivePlaces, sensitiveNames, r.Tool.SensitivePaths)
	candidates := f.candidates()
	for _, written := range patterns {
		pattern := filepath.ToSlash(written)
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok || pattern == "~" {
			if f.home == "" {
				continue
			}
			pattern = path.Join(f.home, rest)
		}
		if strings.ContainsAny(pattern, "*?[{") {
			f.glob(written, pattern, candidates)
		} else {
			f.literal(written, pattern)
		}
	}
	slices.SortStableFunc(f.found, func(a, b Sensitive) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(f.found, func(a, b Sensitive) bool { return a.Path == b.Path })
}

// homeOf is the home directory without links, "" when there is none.
func homeOf(dir string, readlink wspath.Readlink) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	to, err := wspath.CanonicalizeAbs(dir, readlink)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(to.Abs, "/")
}

// literal reports a place if it can be reached, and rules on what lies in it.
func (f *sensitiveFinder) literal(written, name string) {
	m := f.d.model
	var at place
	if filepath.IsAbs(filepath.FromSlash(name)) {
		to, err := wspath.CanonicalizeAbs(name, m.readlink)
		if err != nil || to.Missing {
			return // nothing is there
		}
		at = m.placeOf(to.Abs)
	} else {
		rel, err := wspath.Parse(name)
		if err != nil {
			return
		}
		to, err := m.content(rel)
		if err != nil || to.missing {
			return
		}
		at = to.at
	}
	if m.known(at) && f.report(written, at) {
		return
	}
	for i := range f.d.fs {
		if r := &f.d.fs[i]; !r.gone && at.holds(r.at) && m.known(r.at) && f.report(written, r.at) {
			return
		}
	}
}

// candidates are the places of the rules that people wrote and what stands in them.
func (f *sensitiveFinder) candidates() []place {
	m := f.d.model
	var list []place
	for i := range f.d.fs {
		r := &f.d.fs[i]
		if !r.people || r.gone || r.rule.Caps == 0 || !m.known(r.at) {
			continue
		}
		list = append(list, r.at)
		for _, name := range names(m.abs(r.at), sensitiveEntries) {
			list = append(list, place{r.at.outside, wspath.JoinSlash(r.at.path, name)})
		}
	}
	return list
}

// abs is the absolute path of a place.
func (s *site) abs(at place) string {
	if at.outside {
		return at.path
	}
	return joinAbs(s.root, at.path)
}

func (f *sensitiveFinder) glob(written, pattern string, candidates []place) {
	m := f.d.model
	for _, at := range candidates {
		name := m.wire(at)
		if filepath.IsAbs(filepath.FromSlash(pattern)) {
			name = m.abs(at)
		}
		if ok, err := doublestar.Match(fold(pattern), fold(name)); ok && err == nil {
			f.report(written, at)
		}
	}
}

// report adds a place where something is granted.
func (f *sensitiveFinder) report(written string, at place) bool {
	i := governing(f.d.fs, at)
	if i < 0 || f.d.fs[i].rule.Caps&(jptool.Read|jptool.Write) == 0 {
		return false
	}
	r := &f.d.fs[i]
	f.found = append(f.found, Sensitive{
		Path: dotted(f.d.model.wire(at)), Pattern: written, Rule: dotted(r.path), Origin: r.rule.Origin,
		Capabilities: r.rule.Caps.Names(),
	})
	return true
}
