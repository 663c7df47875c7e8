package preset

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
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
	// Own are the directories of the configuration and the state of jphost, which no preset reaches, there or not.
	Own []string
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
	// Access is read or write. WithNet: it is granted only if the network of the preset is asked for.
	Access  access `json:"access"`
	WithNet bool   `json:"with_net,omitempty"`
	// Path is absolute, as it was found by By: a variable ($GOCACHE), a program (go env), the usual place, or [Own].
	Path string `json:"path"`
	By   string `json:"by"`
	// InsteadOf is the place that programs outside of the sandbox write to, which is not granted for writing.
	InsteadOf string `json:"instead_of,omitempty"`
	// Missing: there is nothing. Made: it is made when a program is started.
	Missing bool `json:"missing,omitempty"`
	Made    bool `json:"made,omitempty"`
	// Inside: it lies in the workspace, whose own rules decide.
	Inside bool `json:"inside,omitempty"`
	// Refused says why it is not granted, Remedy what to do.
	Refused string `json:"refused,omitempty"`
	Remedy  string `json:"remedy,omitempty"`

	abs     string // without links
	hops    []wspath.Hop
	lost    error  // it cannot be followed
	instead string // InsteadOf without links
	at      string // Path without what is below
	told    bool   // somebody said that it is there
	set     map[string]string
	answers map[string]answer // of the programs of its preset
}

// granted reports whether the program gets the place.
func (p *Place) granted() bool {
	return p.Refused == "" && !p.Inside && !p.WithNet && (!p.Missing || p.Made)
}

// named reports whether the program is told the place: also one that is not granted because it lies in the workspace, or
// one that is not there but was named.
func (p *Place) named() bool {
	return p.granted() || p.Refused == "" && !p.WithNet && (p.Inside || p.told)
}

// Found is what presets mean on this machine.
type Found struct {
	Choices []Choice
	// Places are those that were found, in the order of the presets.
	Places []*Place
	// Notes say which programs did not answer, and why.
	Notes []string

	environ []string // of the person
}

// Find looks for the places of presets. It makes nothing.
func Find(ctx context.Context, choices []Choice, r Request) (*Found, error) {
	f := &Found{Choices: choices, environ: r.Environ}
	s := newFinder(r)
	for _, c := range choices {
		answers := map[string]answer{}
		for _, a := range c.Ask {
			if err := s.answers(ctx, &a, answers); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				f.Notes = append(f.Notes, fmt.Sprintf("preset %s: %s was not asked: %s\nthe usual places are taken",
					c.Name, strings.Join(a.Command, " "), err))
			}
		}
		for i := range c.Places {
			if p := s.place(c, &c.Places[i], answers); p != nil {
				f.Places = append(f.Places, p)
			}
		}
	}
	// Now it is known where the program may write.
	for _, p := range f.Places {
		if p.granted() && p.Access == write {
			s.Writable = append(s.Writable, p.abs)
		}
	}
	for _, p := range f.Places {
		s.judge(p)
	}
	return f, nil
}

// The By of a place that nobody named, and of one that only sandboxed calls use.
const (
	Usual = "the usual place"
	Own   = "this workspace's own"
)

// agentsOwn is the By of the place of an agent.
const agentsOwn = "of sandboxed agents only"

// answer is what a program said.
type answer struct{ text, by string }

// finder is a [Request] on its way.
type finder struct {
	Request
	home string // as HOME has it; "" if there is none
}

func newFinder(r Request) *finder {
	s := &finder{Request: r, home: jptool.LookupEnv(r.Environ, "HOME")}
	if !filepath.IsAbs(s.home) {
		s.home = ""
	}
	return s
}

// place looks for a place; nil if nothing says where it would be, or it is not there and neither made nor named by a
// variable.
func (s *finder) place(c Choice, want *place, answers map[string]answer) *Place {
	p := &Place{Preset: c.Name, Name: want.Name, What: want.What, Access: read, set: want.Set, answers: answers}
	for _, spec := range want.Find {
		at, by, said := s.candidate(spec, answers)
		if at == "" {
			continue
		}
		p.at, p.Path, p.By, p.told = at, path.Join(at, want.Below), by, said
		p.follow()
		// What somebody said is what the program will use. Of usual places the one that is there counts.
		if said || !p.Missing {
			break
		}
	}
	if want.Own == "" {
		if p.Path == "" || p.Missing && !(p.told && p.set != nil) {
			return nil
		}
		return p
	}
	p.InsteadOf, p.instead = p.Path, p.abs
	base, by := s.own(c.Preset)
	if base == "" {
		return nil
	}
	p.Access, p.Path, p.By, p.told = write, path.Join(base, want.Own), by, false
	p.at = p.Path
	p.follow()
	p.Made = p.Missing
	p.WithNet = want.Net && !c.Network && !filled(p.abs)
	return p
}

// follow finds out what the path is without links.
func (p *Place) follow() {
	to, err := wspath.CanonicalizeAbs(p.Path, nil)
	p.abs, p.hops, p.lost = to.Abs, to.Hops, err
	p.Missing = err == nil && to.Missing
}

// filled reports whether a directory has anything in it.
func filled(abs string) bool {
	d, err := wspath.OpenDir(abs)
	if err != nil {
		return false
	}
	defer d.Close()
	f, err := d.OpenDirFile("")
	if err != nil {
		return false
	}
	defer f.Close()
	names, _ := f.Readdirnames(1)
	return len(names) > 0
}

// own is the directory of what a preset writes; "" if there is no place for it.
func (s *finder) own(p *Preset) (dir, by string) {
	caches, agents := s.roots()
	if p.Agent {
		return agents, agentsOwn
	}
	ws, err := state.OpenWorkspace(filepath.FromSlash(s.Workspace))
	if err != nil || caches == "" || s.Workspace == "" {
		return "", ""
	}
	return path.Join(caches, ws.ID()), Own
}

// roots are the directories that hold what workspaces and agents have of their own; "" where there is no place for it.
func (s *finder) roots() (caches, agents string) {
	return cmp.Or(s.expand("$XDG_CACHE_HOME/jphost"), s.expand("~/.cache/jphost")),
		cmp.Or(s.expand("$XDG_DATA_HOME/jphost-agents"), s.expand("~/.local/share/jphost-agents"))
}

// Roots are the directories that hold what workspaces and agents have of their own. Nobody should be told to grant them.
func Roots(environ []string) []string {
	caches, agents := newFinder(Request{Environ: environ}).roots()
	return slices.DeleteFunc([]string{caches, agents}, func(dir string) bool { return dir == "" })
}

var variable = regexp.MustCompile(`^\$(\w+)`)

// candidate is what one item of find means; "" if it means nothing here. said: a person or a program said it.
func (s *finder) candidate(spec string, answers map[string]answer) (at, by string, said bool) {
	if name, is := strings.CutPrefix(spec, "@"); is {
		a := answers[name]
		if !filepath.IsAbs(a.text) {
			return "", "", false
		}
		return path.Clean(filepath.ToSlash(a.text)), a.by, true
	}
	at, by = s.expand(spec), Usual
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
func Homes(environ []string) []string { return newFinder(Request{Environ: environ}).homes() }

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
