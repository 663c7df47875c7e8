package preset

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
)

// Make makes the missing directories that programs are to write to, for this user alone. The error names each that could
// not be made; a program goes without it.
func (f *Found) Make() error {
	var failed []error
	for i := range f.Places {
		p := &f.Places[i]
		if !p.Made || !p.granted() {
			continue
		}
		dir := filepath.FromSlash(p.abs)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			// What was put in its way meanwhile is not what was judged. The start refuses such a link.
			var to wspath.Canonical
			if to, err = wspath.CanonicalizeAbs(dir, nil); err == nil && to.Abs != p.abs {
				err = errors.New("a symlink appeared on the way to it")
			}
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("preset %s: the directory %s cannot be made: %w\nmake it yourself, or use another place",
				p.Preset, show.Visible(dir), wspath.Bare(err)))
		}
	}
	return errors.Join(failed...)
}

// Extras are the places that are granted besides the rules.
func (f *Found) Extras() (list []baseline.Extra) {
	for i := range f.Places {
		if p := &f.Places[i]; p.granted() {
			caps := jptool.Read | jptool.Execute
			if p.Access == write {
				caps = jptool.AllCaps
			}
			list = append(list, baseline.Extra{Path: p.abs, Caps: caps, Origin: "preset " + p.Preset})
		}
	}
	return list
}

// Writes reports whether a place is granted for writing.
func (f *Found) Writes() bool {
	return slices.ContainsFunc(f.Places, func(p Place) bool { return p.granted() && p.Access == write })
}

// Covers reports whether the preset of a name would allow to read, or to write, at a path. made: the path is to be
// created, which may be a directory on the way to a place that is missing.
func (f *Found) Covers(name, abs string, writes, made bool) bool {
	return slices.ContainsFunc(f.Places, func(p Place) bool {
		_, in := wspath.WithinAbs(p.abs, abs)
		_, onWay := wspath.WithinAbs(abs, p.abs)
		return p.Preset == name && p.granted() && (in || onWay && made && p.Made) && (p.Access == write || !writes)
	})
}

// Names are the paths by which people and programs know what is granted.
func (f *Found) Names() (list []string) {
	for i := range f.Places {
		if f.Places[i].granted() {
			list = append(list, f.Places[i].Path)
		}
	}
	return list
}

// System reports whether a static program gets of the system what others get.
func (f *Found) System() bool {
	return slices.ContainsFunc(f.Choices, func(c Choice) bool { return c.System })
}

// Environ returns the environment of the person with the variables that name places.
func (f *Found) Environ() []string {
	list := slices.Clone(f.environ)
	for _, c := range f.Choices {
		for _, name := range slices.Sorted(maps.Keys(c.Set)) {
			if jptool.LookupEnv(list, name) == "" {
				list = append(list, name+"="+c.Set[name])
			}
		}
	}
	for i := range f.Places {
		if p := &f.Places[i]; p.set != "" && p.Refused == "" {
			name, _, _ := strings.Cut(p.set, "=")
			list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
			list = append(list, p.set)
		}
	}
	return list
}

// Env are rules for the variables that the programs get.
func (f *Found) Env() (rules []jptool.EnvRule) {
	add := func(preset, name string) {
		if !slices.ContainsFunc(rules, func(r jptool.EnvRule) bool { return r.Name == name }) {
			rules = append(rules, jptool.EnvRule{Name: name, Read: true, Origin: "preset " + preset})
		}
	}
	for _, c := range f.Choices {
		for _, name := range slices.Concat(c.Preset.Env, slices.Sorted(maps.Keys(c.Set))) {
			add(c.Name, name)
		}
		if c.Network {
			for _, name := range c.Preset.Net.Env {
				add(c.Name, name)
			}
		}
	}
	for i := range f.Places {
		if name, _, _ := strings.Cut(f.Places[i].set, "="); name != "" && f.Places[i].Refused == "" {
			add(f.Places[i].Preset, name)
		}
	}
	return rules
}

// Net are rules for the ports of the presets whose network was asked for.
func (f *Found) Net() (rules []jptool.NetRule) {
	for _, c := range f.Choices {
		if !c.Network {
			continue
		}
		for _, port := range c.Preset.Net.Ports {
			if !slices.ContainsFunc(rules, func(r jptool.NetRule) bool { return *r.Port == port }) {
				rules = append(rules, jptool.NetRule{Host: "*", Port: &port, Allow: true, Origin: "preset " + c.Name})
			}
		}
	}
	return rules
}

// Warnings say which places are not granted although the presets name them.
func (f *Found) Warnings() (list []string) {
	for i := range f.Places {
		if p := &f.Places[i]; p.Refused != "" {
			text := fmt.Sprintf("preset %s: %s (%s, %s) is not granted: %s",
				p.Preset, p.Name, show.Visible(p.Path), p.By, p.Refused)
			if p.Remedy != "" {
				text += "\n" + p.Remedy
			}
			list = append(list, text)
		}
	}
	return append(list, f.Notes...)
}

// Doing is what the program may do at the place, for people; "" if it may not.
func (p *Place) Doing() string {
	switch {
	case p.Inside:
		return "in the workspace, whose grants apply"
	case p.Refused == "" && p.Missing && !p.Made:
		return "not there"
	case !p.granted():
		return ""
	case p.Made:
		return "writes, made at the start"
	}
	return string(p.Access) + "s"
}
