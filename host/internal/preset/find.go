package preset

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"

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
				f.Notes = append(f.Notes, fmt.Sprintf("preset %s: %s was not asked: %s\nthe usual places are taken",
					c.Name, strings.Join(a.Command, " "), err))
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

// Usual is the By of a place that nobody named.
const Usual = "the usual place"

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
