package policy

import (
	"cmp"
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

// sensitiveEntries bounds how many names of a directory are looked place.
const sensitiveEntries = 4096

// sensitiveFinder looks for places of secrets among those that the rules grant.
type sensitiveFinder struct {
	d     *Declared
	look  *jptool.Site
	home  string
	found []Sensitive
}

// findSensitive lists the sensitive places that the policy lets the tool reach. A path of the list is found
// wherever it is. A file that matches a pattern is found if a rule names it or its directory; deeper files are not
// searched, because that would walk the tree before each call. The list warns; it does not protect.
func findSensitive(d *Declared, r Request, look *jptool.Site) []Sensitive {
	f := &sensitiveFinder{d: d, look: look, home: homeOf(r.Home, look)}
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
func homeOf(dir string, look *jptool.Site) string {
	if !filepath.IsAbs(dir) {
		return ""
	}
	to, err := look.ResolveAbs(dir)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(look.Abs(to.Place), "/")
}

// literal reports a place if a rule grants something on it or in it.
func (f *sensitiveFinder) literal(written, name string) {
	var to jptool.Resolved
	var err error
	if filepath.IsAbs(filepath.FromSlash(name)) {
		to, err = f.look.ResolveAbs(name)
	} else {
		var rel wspath.Rel
		if rel, err = wspath.Parse(name); err == nil {
			to, err = f.look.Resolve(rel, false)
		}
	}
	if err != nil || to.Missing() {
		return // nothing is there
	}
	rules := f.d.rules
	if rules.Known(to.Place) && f.report(written, to.Place) {
		return
	}
	for i := range rules.Placed {
		if r := &rules.Placed[i]; !r.Gone && to.Place.Contains(r.Place) && rules.Known(r.Place) && f.report(written, r.Place) {
			return
		}
	}
}

// candidates returns the places of the rules that people wrote, and the entries of these directories.
func (f *sensitiveFinder) candidates() []jptool.Place {
	var list []jptool.Place
	for i := range f.d.rules.Placed {
		r := &f.d.rules.Placed[i]
		if !f.d.sources[i].people || r.Gone || r.Caps == 0 || !f.d.rules.Known(r.Place) {
			continue
		}
		list = append(list, r.Place)
		for _, name := range names(f.d.rules.Abs(r.Place), sensitiveEntries) {
			list = append(list, r.Place.Join(name))
		}
	}
	return list
}

func (f *sensitiveFinder) glob(written, pattern string, candidates []jptool.Place) {
	for _, place := range candidates {
		name := f.d.rules.Name(place)
		if filepath.IsAbs(filepath.FromSlash(pattern)) {
			name = f.d.rules.Abs(place)
		}
		if ok, err := doublestar.Match(jptool.Fold(pattern), jptool.Fold(name)); ok && err == nil {
			f.report(written, place)
		}
	}
}

// report adds a place if something is granted there.
func (f *sensitiveFinder) report(written string, place jptool.Place) bool {
	i := f.d.rules.At(place).Rule()
	if i < 0 || f.d.rules.Placed[i].Caps&(jptool.Read|jptool.Write) == 0 {
		return false
	}
	r := &f.d.rules.Placed[i]
	f.found = append(f.found, Sensitive{
		Path: cmp.Or(f.d.rules.Name(place), "."), Pattern: written, Rule: cmp.Or(r.Name, "."), Origin: f.d.sources[i].Origin,
		Capabilities: r.Caps.Names(),
	})
	return true
}
