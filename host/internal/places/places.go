// Package places knows the places that hold secrets, or that people and programs obey. All of them stand in one list,
// list.txt, with what is done about them: withheld from every call ([Withheld]), granted by no preset and no proposal
// ([Never]), and warned of where something is mounted ([Here]).
package places

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/jptools/jptools/jptool/wspath"
)

// kind says what is done about a place; list.txt says what each means.
type kind string

// The kinds.
const (
	withheld  kind = "withheld"
	open      kind = "open"
	closed    kind = "closed"
	obeyed    kind = "obeyed"
	installed kind = "installed"
)

// place is a line of the list.
type place struct {
	kind kind
	// path is absolute, begins with ~/ for the home directory, or with **/ for any directory; what says what is there.
	path, what string
}

//go:embed list.txt
var text string

// list is the list. What cannot be read is a bug of this program, which the tests find.
var list = sync.OnceValue(func() (all []place) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		known := []kind{withheld, open, closed, obeyed, installed}
		if len(fields) != 3 || !slices.Contains(known, kind(fields[0])) || fields[1] == "" || fields[2] == "" {
			panic(fmt.Sprintf("places: %q is no line of the list", line))
		}
		all = append(all, place{kind(fields[0]), fields[1], fields[2]})
	}
	return all
})

// Withheld are the places that are withheld from every call unless a rule names them or a person allows them (RFD 075,
// "Sensitive path protection"): patterns as in a .gitignore, `~/` for the home directory, and `!` for what is not.
func Withheld() (patterns []string) {
	for _, p := range list() {
		switch p.kind {
		case withheld:
			patterns = append(patterns, p.path)
		case open:
			patterns = append(patterns, "!"+p.path)
		}
	}
	return patterns
}

// in returns where the place lies if the home directory is home; "" if there is none, or if it can lie anywhere.
func (p place) in(home string) string {
	rest, below := strings.CutPrefix(p.path, "~/")
	switch {
	case strings.HasPrefix(p.path, "**/"), below && home == "":
		return ""
	case below:
		return path.Join(home, rest)
	}
	return p.path
}

// within reports whether a path is a directory or lies in it.
func within(dir, abs string) bool {
	_, in := wspath.WithinAbs(dir, abs)
	return in
}
