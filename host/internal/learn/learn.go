// Package learn makes grants of what a program was refused, for `sandbox learn`. It generalises: a preset that covers a
// refusal before a path, a directory before its files, and the directory above where many of its entries were refused.
// It proposes no places of secrets, none that a person runs things from, and nothing that holds far more than what
// was refused.
//
// What was refused is diagnostics that the program could make up: the proposals are for a person to read.
package learn

import (
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/places"
	"github.com/jptools/jptools/host/internal/preset"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/wspath"
	"github.com/jptools/jptools/sandbox/observe"
)

// Grant is a place that is proposed.
type Grant struct {
	// Path is absolute.
	Path string `json:"path"`
	// Writes: for writing, too.
	Writes bool `json:"writes"`
	// For are some of the paths that were refused.
	For []string `json:"for"`
}

// Refused is something that was refused and is not proposed.
type Refused struct {
	Operation observe.Operation `json:"operation"`
	Path      string            `json:"path"`
	Why       string            `json:"why"`
}

// Proposal is what would allow what was refused.
type Proposal struct {
	// Presets are names of presets, Grants places besides them.
	Presets []string `json:"presets"`
	Grants  []Grant  `json:"grants"`
	// Never is what is not proposed.
	Never []Refused `json:"not_proposed"`
}

// World is what refusals are compared with. Paths are canonical.
type World struct {
	// Root is the workspace, Homes the home directory in all its spellings.
	Root  string
	Homes []string
	// Program is the name of the program that was run, if it is the one that [preset.Meant] knows.
	Program string
	// Presets are all of them, as they were found on this machine.
	Presets *preset.Found
	// Guarded says why a path must not be proposed, whoever asks; "" for nothing.
	Guarded func(r observe.Refusal) string
}

// Propose makes a proposal of all that was refused in all runs.
func (w *World) Propose(refusals []observe.Refusal) Proposal {
	p := Proposal{Presets: []string{}, Grants: []Grant{}, Never: []Refused{}}
	var open []observe.Refusal
	for _, r := range refusals {
		if w.noise(r) {
			continue
		}
		// A preset that has the program write elsewhere grants nothing of a place that is not proposed.
		if why := w.never(r); why != "" && !w.elsewhere(r) {
			p.never(r, why)
		} else {
			open = append(open, r)
		}
	}
	p.Presets, open = w.presets(open)
	for _, r := range open {
		if why := w.never(r); why != "" {
			p.never(r, why)
			continue
		}
		at, why := w.generalise(r)
		if why != "" {
			p.never(r, why)
			continue
		}
		p.Grants = append(p.Grants, Grant{Path: at, Writes: writes(r), For: []string{r.Path}})
	}
	p.Grants = w.together(p.Grants)
	return p
}

func (p *Proposal) never(r observe.Refusal, why string) {
	n := Refused{r.Operation, r.Path + r.Address, why}
	if !slices.Contains(p.Never, n) {
		p.Never = append(p.Never, n)
	}
}

func writes(r observe.Refusal) bool { return r.Lacking&jptool.Write != 0 }

// made reports whether the refusal is about the directory of its path.
func made(r observe.Refusal) bool { return r.Lacking&(jptool.Create|jptool.Delete) != 0 }

// never says what speaks against a proposal for a refusal, whatever form it would have.
func (w *World) never(r observe.Refusal) string {
	switch {
	case r.Address != "":
		return "a network is granted by its own words: --net, or a preset with " + preset.NetSuffix
	case r.Why == observe.Special:
		return "FIFOs, sockets and devices are made in $TMPDIR only"
	case r.Why == observe.Kept:
		return "it has to stay where it is, because a rule depends on it"
	}
	if why := w.Guarded(r); why != "" {
		return why
	}
	if _, in := wspath.WithinAbs("/dev", r.Path); in {
		return "devices are not granted; a program has the usual ones"
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		if _, in := wspath.WithinAbs(dir, r.Path); in && writes(r) && !w.inside(r.Path) && !w.atHome(r.Path) {
			return "others can write there: a program has $TMPDIR for that"
		}
	}
	if w.inside(r.Path) {
		return ""
	}
	if why := places.Never(r.Path, writes(r), true, w.Homes...); why != "" {
		return why
	}
	switch c, is := w.Presets.StandsIn(r.Path); {
	case is && c.Agent:
		return "it has settings and the login of an agent"
	case is && writes(r):
		return "your own programs believe what lies there: --preset " + c.Word() + " has sandboxed calls write elsewhere"
	}
	return ""
}

// elsewhere reports whether a preset has the program write elsewhere than where it was refused to.
func (w *World) elsewhere(r observe.Refusal) bool {
	return r.Address == "" && slices.ContainsFunc(w.Presets.Choices, func(c preset.Choice) bool { return w.covers(c, r) })
}

// noise reports whether a refusal says nothing of what a program needs: almost every runtime looks at the kernel's files
// when it starts, and at directories on the way to something else.
func (w *World) noise(r observe.Refusal) bool {
	for _, dir := range []string{"/proc", "/sys"} {
		if _, in := wspath.WithinAbs(dir, r.Path); in && r.Address == "" {
			return true
		}
	}
	if strings.HasPrefix(r.Path, "/tmp/hsperfdata_") { // of every Java
		return true
	}
	return r.Operation == observe.OpSee && isDir(r.Path) && !w.inside(r.Path) && w.wide(r.Path)
}

func (w *World) atHome(abs string) bool {
	return slices.ContainsFunc(w.Homes, func(home string) bool {
		_, in := wspath.WithinAbs(home, abs)
		return in
	})
}

func (w *World) inside(abs string) bool {
	_, in := wspath.WithinAbs(w.Root, abs)
	return in
}

// presets chooses presets that cover refusals, that of most first, and returns the refusals that are left.
func (w *World) presets(open []observe.Refusal) (names []string, left []observe.Refusal) {
	names = []string{}
	for {
		best, most := "", 0
		for _, c := range w.Presets.Choices {
			n := 0
			for _, r := range open {
				if w.covers(c, r) {
					n++
				}
			}
			meant := slices.Contains(c.Programs, w.Program)
			if n > 0 && meant {
				n += len(open) // before those that only have a place in common
			}
			if n > most {
				best, most = c.Name, n
			}
		}
		if best == "" {
			return names, open
		}
		names = append(names, best)
		open = slices.DeleteFunc(open, func(r observe.Refusal) bool {
			return slices.ContainsFunc(w.Presets.Choices, func(c preset.Choice) bool { return c.Name == best && w.covers(c, r) })
		})
	}
}

// covers reports whether a preset would allow what was refused. Those of agents are for the agents alone.
func (w *World) covers(c preset.Choice, r observe.Refusal) bool {
	meant := slices.Contains(c.Programs, w.Program)
	if c.Agent && !meant {
		return false
	}
	if meant && c.System && !writes(r) && top(r.Path) != "" {
		return true
	}
	return w.Presets.Covers(c.Name, r.Path, writes(r), made(r))
}
