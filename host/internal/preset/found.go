package preset

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
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
	for _, p := range f.Places {
		if !p.Made || !p.granted() {
			continue
		}
		if err := makePrivate(p.abs); err != nil {
			failed = append(failed, fmt.Errorf("preset %s: the directory %s cannot be made: %w\nmake it yourself, or set XDG_%s_HOME to another place",
				p.Preset, show.Visible(filepath.FromSlash(p.abs)), wspath.Bare(err), map[bool]string{true: "DATA", false: "CACHE"}[p.By == agentsOwn]))
		}
	}
	return errors.Join(failed...)
}

// makePrivate makes a directory and those above it which are missing. It follows no link: what was put in its way
// since the path was judged is not what was judged.
func makePrivate(abs string) error {
	d, err := wspath.OpenDir(wspath.ParentOf(abs))
	if errors.Is(err, fs.ErrNotExist) && path.Dir(abs) != abs {
		if err = makePrivate(path.Dir(abs)); err == nil {
			d, err = wspath.OpenDir(wspath.ParentOf(abs))
		}
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Mkdir(path.Base(abs), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	made, err := d.Sub(path.Base(abs)) // a link that somebody put there is refused
	if err != nil {
		return err
	}
	return made.Close()
}

// Extras are the places that are granted besides the rules.
func (f *Found) Extras() (list []baseline.Extra) {
	for _, p := range f.Places {
		if p.granted() {
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
	return slices.ContainsFunc(f.Places, func(p *Place) bool { return p.granted() && p.Access == write })
}

// Covers reports whether the preset of a name would do where a program was refused to read, or to write, at a path: it
// grants that, or has the program write elsewhere. made: the path is to be created, which may be a directory on the way.
func (f *Found) Covers(name, abs string, writes, made bool) bool {
	return slices.ContainsFunc(f.Places, func(p *Place) bool {
		return p.Preset == name && p.granted() && (p.Access == read && within(p.abs, abs) && !writes || p.standsIn(abs, made))
	})
}

// StandsIn is a preset that has programs write elsewhere than at a path, with a network if it takes that; false if there
// is none. Programs outside of the sandbox obey or believe what lies there.
func (f *Found) StandsIn(abs string) (Choice, bool) {
	for _, c := range f.Choices {
		for _, p := range f.Places {
			if p.Preset == c.Name && p.standsIn(abs, false) {
				return Choice{c.Preset, p.WithNet}, true
			}
		}
	}
	return Choice{}, false
}

// standsIn reports whether the place is granted instead of one that has the path, or, if that is to be made, lies on the
// way to it.
func (p *Place) standsIn(abs string, made bool) bool {
	return p.InsteadOf != "" && (within(p.instead, abs) || made && within(abs, p.instead))
}

func within(dir, abs string) bool {
	_, in := wspath.WithinAbs(dir, abs)
	return in
}

// Names are the paths by which people and programs know what is granted.
func (f *Found) Names() (list []string) {
	for _, p := range f.Places {
		if p.granted() {
			list = append(list, p.Path)
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
	for _, p := range f.Places {
		if !p.named() {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(p.set)) {
			if value := f.value(p, p.set[name], list); value != "" {
				list = slices.DeleteFunc(list, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
				list = append(list, name+"="+value)
			}
		}
	}
	return list
}

var (
	hole  = regexp.MustCompile(`\{[^}]*\}`)
	plain = regexp.MustCompile(`^[\pL\pN/._~+@-]+$`)
)

// value is what a variable becomes; "" if something that it is made of is missing, or a path has characters that mean
// something in the text around it.
func (f *Found) value(p *Place, text string, environ []string) string {
	missing := false
	path := strings.HasPrefix(text, "{") && !strings.ContainsAny(text, " ,:")
	value := hole.ReplaceAllStringFunc(text, func(h string) string {
		at, name := "", h[1:len(h)-1]
		switch {
		case name == "":
			at = p.at
		case name[0] == '$':
			return jptool.LookupEnv(environ, name[1:])
		case name[0] == '@':
			missing = missing || p.answers[name[1:]].text == ""
			return p.answers[name[1:]].text
		default:
			for _, o := range f.Places {
				if o.Preset == p.Preset && o.Name == name && o.granted() {
					at = o.at
				}
			}
		}
		missing = missing || at == "" || !path && !plain.MatchString(at)
		return filepath.FromSlash(at)
	})
	if missing {
		return ""
	}
	return strings.TrimSpace(value)
}

// Sets are the variables that name places to the programs, as NAME=VALUE.
func (f *Found) Sets() (list []string) {
	environ := f.Environ()
	for _, p := range f.Places {
		for _, name := range slices.Sorted(maps.Keys(p.set)) {
			value := jptool.LookupEnv(environ, name)
			if set := name + "=" + value; p.named() && value != "" && !slices.Contains(list, set) {
				list = append(list, set)
			}
		}
	}
	return list
}

// Fill puts the places of a preset into a text for people, which has their names in braces.
func (f *Found) Fill(text string) string {
	return hole.ReplaceAllStringFunc(text, func(h string) string {
		for _, p := range f.Places {
			if p.Name == h[1:len(h)-1] {
				return show.Word(filepath.FromSlash(p.Path))
			}
		}
		return h
	})
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
	for _, p := range f.Places {
		if p.named() {
			for _, name := range slices.Sorted(maps.Keys(p.set)) {
				add(p.Preset, name)
			}
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
	for _, p := range f.Places {
		if p.Refused != "" {
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
	case p.Refused == "" && p.WithNet:
		return "with " + p.Preset + NetSuffix + " writes"
	case !p.granted():
		return ""
	case p.Made:
		return "writes, made at the start"
	}
	return string(p.Access) + "s"
}
