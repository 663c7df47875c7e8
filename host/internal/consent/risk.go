package consent

import (
	_ "embed"
	"fmt"
	"io/fs"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

// sensitivePlaces has a path and what is there on each line.
//
//go:embed places.txt
var sensitivePlaces string

// Places are what the target of a mount, a directory or file outside the workspace, is compared with, to say what is
// risky about it: that it is very broad, and which places of secrets and settings it reaches. It warns people; it
// protects nothing. Paths are absolute, with slashes; "" means that there is none.
type Places struct {
	// Root is the canonical workspace, Home the home directory.
	Root, Home string
	// State is the directory of the host's own state, Config that of its user-global configuration.
	State, Config string
}

// Canonical returns p with the canonical home directory, which the methods expect.
func (p Places) Canonical() Places {
	if home, err := canonical(p.Home); err == nil && p.Home != "" {
		p.Home = home
	}
	return p
}

// Caution lists what is risky about a target, in lines for people. It is "" when nothing is known.
func (p Places) Caution(target string) string {
	var b strings.Builder
	if what := p.Broad(target); what != "" {
		fmt.Fprintf(&b, "The target is %s.\n", what)
	}
	if found := p.Sensitive(target); len(found) > 0 {
		b.WriteString("The target is, or reaches:\n" + strings.Join(found, ""))
	}
	return b.String()
}

// Broad says what a target is if it holds very much: "your home directory". It is "" for any other.
func (p Places) Broad(target string) string {
	if strings.Trim(target[strings.Index(target, "/")+1:], "/") == "" {
		return "the whole file system"
	}
	if p.Home != "" {
		if rest, ok := wspath.WithinAbs(target, p.Home); ok {
			if rest == "" {
				return "your home directory"
			}
			return "a directory that holds your home directory"
		}
	}
	if _, ok := wspath.WithinAbs(target, p.Root); ok {
		return "a directory that holds this workspace"
	}
	return ""
}

// Sensitive lists the places that exist and that a target holds or lies in, one line each.
func (p Places) Sensitive(target string) []string {
	list := [][2]string{{p.State, "approvals and state of this program"}, {p.Config, "configuration of this program"}}
	for line := range strings.SplitSeq(sensitivePlaces, "\n") {
		abs, what, ok := strings.Cut(line, "\t")
		if rest, below := strings.CutPrefix(abs, "~/"); below {
			abs, ok = strings.TrimSuffix(p.Home, "/")+"/"+rest, p.Home != ""
		}
		if ok {
			list = append(list, [2]string{abs, what})
		}
	}
	var found []string
	seen := map[string]bool{}
	for _, place := range list {
		abs, what := place[0], place[1]
		if abs == "" || abs == p.Home { // the home directory of root is judged by what is in it
			continue
		}
		at, err := canonical(abs)
		if err != nil || seen[at] || at == p.Home {
			continue
		}
		_, in := wspath.WithinAbs(at, target)
		_, holds := wspath.WithinAbs(target, at)
		if in || holds {
			seen[at] = true
			found = append(found, fmt.Sprintf("  %s (%s)\n", show.Visible(abs), what))
		}
	}
	return found
}

// canonical is the canonical form of a path that exists.
func canonical(abs string) (string, error) {
	c, err := wspath.CanonicalizeAbs(abs, nil)
	if err == nil && c.Missing {
		err = fs.ErrNotExist
	}
	return c.Abs, err
}
