package places

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool/wspath"
)

// Here is what the target of a mount, a directory or file outside the workspace, is compared with, to say what is
// risky about it: that it is very broad, and which places of the list it reaches. It warns people; it protects nothing.
// Paths are absolute, with slashes; "" means that there is none.
type Here struct {
	// Root is the canonical workspace, Home the home directory.
	Root, Home string
	// State is the directory of the host's own state, Config that of its user-global configuration.
	State, Config string
}

// Canonical returns h with the canonical home directory, which the methods expect.
func (h Here) Canonical() Here {
	if home, err := canonical(h.Home); err == nil && h.Home != "" {
		h.Home = home
	}
	return h
}

// Caution lists what is risky about a target, in lines for people. It is "" when nothing is known.
func (h Here) Caution(target string) string {
	var b strings.Builder
	if what := h.Broad(target); what != "" {
		fmt.Fprintf(&b, "The target is %s.\n", what)
	}
	if found := h.Sensitive(target); len(found) > 0 {
		b.WriteString("The target is, or reaches:\n" + strings.Join(found, ""))
	}
	return b.String()
}

// Broad says what a target is if it holds very much: "your home directory". It is "" for any other.
func (h Here) Broad(target string) string {
	if strings.Trim(target[strings.Index(target, "/")+1:], "/") == "" {
		return "the whole file system"
	}
	if h.Home != "" {
		if rest, ok := wspath.WithinAbs(target, h.Home); ok {
			if rest == "" {
				return "your home directory"
			}
			return "a directory that holds your home directory"
		}
	}
	if _, ok := wspath.WithinAbs(target, h.Root); ok {
		return "a directory that holds this workspace"
	}
	return ""
}

// Sensitive lists the places that exist and that a target holds or lies in, one line each. Of places in one that the
// target holds, that one is enough.
func (h Here) Sensitive(target string) []string {
	all := []place{{closed, h.State, "approvals and state of this program"}, {closed, h.Config, "configuration of this program"}}
	var lines, reached []string // the canonical paths
	for _, p := range append(all, list()...) {
		abs := p.in(h.Home)
		at, err := canonical(abs)
		// The home directory of root is judged by what is in it.
		if abs == "" || p.kind == installed || err != nil || at == h.Home || slices.Contains(reached, at) {
			continue
		}
		if within(at, target) || within(target, at) {
			reached = append(reached, at)
			lines = append(lines, fmt.Sprintf("  %s (%s)\n", show.Visible(abs), p.what))
		}
	}
	enough := func(i int) bool {
		return slices.ContainsFunc(reached, func(o string) bool {
			return o != reached[i] && within(o, reached[i]) && within(target, o)
		})
	}
	var shown []string
	for i, line := range lines {
		if !enough(i) {
			shown = append(shown, line)
		}
	}
	return shown
}

// canonical is the canonical form of a path that exists.
func canonical(abs string) (string, error) {
	c, err := wspath.CanonicalizeAbs(abs, nil)
	if err == nil && c.Missing {
		err = fs.ErrNotExist
	}
	return c.Abs, err
}
