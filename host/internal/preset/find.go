package preset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/baseline"
	"github.com/jptools/jptools/sandbox/fit"
)

// Request is where [Find] looks.
type Request struct {
	// Workspace is its canonical root. Places in it are left to its own rules, and no program in it is asked anything.
	Workspace string
	// Environ is the environment of the person.
	Environ []string
	// Writable are places outside of the workspace where programs may have made links.
	Writable []string
	// TempDir is where the private directories of the programs that are asked are made.
	TempDir string
	// Machine is what the computer can enforce; nil finds it out.
	Machine *fit.Machine
}

// Place is a place that was looked for. A place with Refused, Inside or Missing is not granted.
type Place struct {
	Preset string `json:"preset"`
	Name   string `json:"name"`
	What   string `json:"what"`
	// Access is read or write; WithNet is the same if the network of the preset is asked for, "" if nothing changes.
	Access  access `json:"access"`
	WithNet access `json:"with_net,omitempty"`
	// Path is absolute, as it was found by By: a variable ($GOCACHE), a program (go env), or the usual place.
	Path string `json:"path"`
	By   string `json:"by"`
	// Missing: there is nothing. Made: it is made when a program is started.
	Missing bool `json:"missing,omitempty"`
	Made    bool `json:"made,omitempty"`
	// Inside: it lies in the workspace, whose own rules decide.
	Inside bool `json:"inside,omitempty"`
	// Refused says why it is not granted, Remedy what to do.
	Refused string `json:"refused,omitempty"`
	Remedy  string `json:"remedy,omitempty"`

	abs  string // without links
	hops []wspath.Hop
	lost error  // it cannot be followed
	set  string // VARIABLE=VALUE for the program
}

// granted reports whether the program gets the place.
func (p *Place) granted() bool {
	return p.Refused == "" && !p.Inside && (!p.Missing || p.Made)
}

// Found is what presets mean on this machine.
type Found struct {
	Choices []Choice
	// Places are those that were found, in the order of the presets.
	Places []Place
	// Notes say which programs did not answer, and why.
	Notes []string

	environ []string // of the person
}

// Find looks for the places of presets. It makes nothing.
func Find(ctx context.Context, choices []Choice, r Request) (*Found, error) {
	f := &Found{Choices: choices, environ: r.Environ}
	s := &finder{Request: r, home: jptool.LookupEnv(r.Environ, "HOME")}
	if !filepath.IsAbs(s.home) {
		s.home = ""
	}
	for _, c := range choices {
		answers := map[string]answer{}
		for _, a := range c.Ask {
			if err := s.answers(ctx, &a, answers); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				f.Notes = append(f.Notes, fmt.Sprintf("preset %s: %s was not asked: %s\nthe usual places are taken", c.Name, strings.Join(a.Command, " "), err))
			}
		}
		for i := range c.Places {
			if p := s.place(c, &c.Places[i], answers); p != nil {
				f.Places = append(f.Places, *p)
			}
		}
	}
	// Now it is known where the program may write.
	for i := range f.Places {
		if p := &f.Places[i]; p.granted() && p.Access == write {
			s.Writable = append(s.Writable, p.abs)
		}
	}
	for i := range f.Places {
		s.judge(&f.Places[i])
	}
	return f, nil
}

// answer is what a program said.
type answer struct{ path, by string }

// finder is a [Request] on its way.
type finder struct {
	Request
	home string // as HOME has it; "" if there is none
}

// place looks for a place; nil if nothing says where it would be, or it is not there and neither made nor named by a
// variable.
func (s *finder) place(c Choice, want *place, answers map[string]answer) *Place {
	p := &Place{Preset: c.Name, Name: want.Name, What: want.What, Access: want.Access}
	if c.Network && want.Net != "" {
		p.Access = want.Net
	} else if want.Net != p.Access {
		p.WithNet = want.Net
	}
	if p.Access == "" {
		return nil
	}
	told := false // what the variable says is more than what the program has by default
	for _, spec := range want.Find {
		at, by, said := s.candidate(spec, answers)
		if at == "" {
			continue
		}
		told = said
		p.Path, p.By = path.Join(at, want.Below), by
		if want.Set != "" {
			p.set = want.Set + "=" + filepath.FromSlash(at)
		}
		to, err := wspath.CanonicalizeAbs(p.Path, nil)
		p.abs, p.hops, p.lost = to.Abs, to.Hops, err
		p.Missing = err == nil && to.Missing
		// What somebody said is what the program will use. Of usual places the one that is there counts.
		if said || !p.Missing {
			break
		}
	}
	p.Made = p.Missing && p.Access == write && !want.Optional
	if p.Path == "" || p.Missing && !p.Made && (p.set == "" || !told) {
		return nil
	}
	return p
}

var variable = regexp.MustCompile(`^\$(\w+)`)

// candidate is what one item of find means; "" if it means nothing here. said: a person or a program said it.
func (s *finder) candidate(spec string, answers map[string]answer) (at, by string, said bool) {
	if name, is := strings.CutPrefix(spec, "@"); is {
		a := answers[name]
		return a.path, a.by, true
	}
	at, by = s.expand(spec), "the usual place"
	if name := variable.FindString(spec); name != "" {
		by, said = name, name == spec || !strings.HasPrefix(name, "$XDG_")
	}
	return at, by, said
}

// expand replaces ~ or a variable at the beginning of a path. It returns "" if the result is not absolute.
func (s *finder) expand(spec string) string {
	if rest, below := strings.CutPrefix(spec, "~/"); below && s.home != "" {
		spec = s.home + "/" + rest
	} else if name := variable.FindString(spec); name != "" {
		value := jptool.LookupEnv(s.Environ, name[1:])
		if strings.ContainsAny(value, "\x00\n") || !filepath.IsAbs(value) {
			return ""
		}
		spec = filepath.ToSlash(value) + spec[len(name):]
	}
	if !filepath.IsAbs(spec) {
		return ""
	}
	return path.Clean(filepath.ToSlash(spec))
}

// Homes are the spellings of the home directory that an environment names, the one without links last.
func Homes(environ []string) []string {
	s := &finder{home: jptool.LookupEnv(environ, "HOME")}
	if !filepath.IsAbs(s.home) {
		return nil
	}
	return s.homes()
}

// homes are the spellings of the home directory, the one without links last.
func (s *finder) homes() (list []string) {
	if s.home == "" {
		return nil
	}
	list = append(list, path.Clean(filepath.ToSlash(s.home)))
	if to, err := wspath.CanonicalizeAbs(s.home, nil); err == nil && to.Abs != list[0] {
		list = append(list, to.Abs)
	}
	return list
}

// judge decides whether a place can be granted. Whatever it was found by, it opens no secrets, and a link that a
// program or another user may have made does not choose the place.
func (s *finder) judge(p *Place) {
	writes := p.Access == write
	refuse := func(why, remedy string) { p.Refused, p.Remedy = why, remedy }
	if p.lost != nil {
		refuse("it cannot be followed: "+wspath.Bare(p.lost).Error(), "")
		return
	}
	if _, in := wspath.WithinAbs(s.Workspace, p.abs); in && s.Workspace != "" {
		p.Inside = true
		return
	}
	flag := "--ro "
	if writes {
		flag = "--rw "
	}
	self := "if that is right, grant it yourself: " + flag + show.Word(filepath.FromSlash(p.abs))
	home := s.homes()
	real := ""
	if len(home) > 0 {
		real = home[len(home)-1]
	}
	for _, hop := range p.hops {
		if baseline.Planted(hop.Entry, real, append(slices.Clone(s.Writable), s.Workspace)) {
			refuse(fmt.Sprintf("%s is a symlink that a program or another user may have made, and it leads to %s", show.Visible(hop.Entry), show.Visible(p.abs)), self)
			return
		}
	}
	fi, err := os.Lstat(filepath.FromSlash(p.abs))
	there := err == nil
	exact := there && !fi.IsDir()
	if why := Never(p.abs, writes, exact, home...); why != "" {
		refuse(why, "leave it out, or name a narrower place")
		return
	}
	if !writes {
		return
	}
	_, around := wspath.WithinAbs(p.abs, s.Workspace)
	switch {
	case around && s.Workspace != "":
		refuse("the workspace lies in it", "use another place")
	case there && !fi.IsDir():
		refuse("it is not a directory", "")
	case there && state.Foreign(fi):
		refuse("it belongs to another user", self)
	}
}

// Make makes the missing directories that programs are to write to, for this user alone.
func (f *Found) Make() error {
	for i := range f.Places {
		p := &f.Places[i]
		if !p.Made || !p.granted() {
			continue
		}
		dir := filepath.FromSlash(p.abs)
		err := os.MkdirAll(dir, 0o700)
		if err == nil {
			// What was put in its way meanwhile is not what was judged.
			var to wspath.Canonical
			if to, err = wspath.CanonicalizeAbs(dir, nil); err == nil && to.Abs != p.abs {
				err = errors.New("a symlink appeared on the way to it")
			}
		}
		if err != nil {
			return fmt.Errorf("preset %s: the directory %s cannot be made: %w\nmake it yourself, or name another one with a variable", p.Preset, show.Visible(dir), wspath.Bare(err))
		}
	}
	return nil
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
			text := fmt.Sprintf("preset %s: %s (%s, %s) is not granted: %s", p.Preset, p.Name, show.Visible(p.Path), p.By, p.Refused)
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
