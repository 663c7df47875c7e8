package places

import (
	"path"
	"slices"
	"strings"
)

// Never says why a path is granted to no program unless a person names it; "" if nothing speaks against it. writes:
// it would be written, too. exact: the path alone is meant, not what may lie in it, as for a file. The path is absolute,
// with slashes, and links in it should have been followed; home is the home directory, as often as it has spellings.
func Never(abs string, writes, exact bool, home ...string) string {
	abs = path.Clean(abs)
	wide := abs == "/" || strings.HasSuffix(abs, ":/") ||
		slices.ContainsFunc(home, func(h string) bool { return within(abs, h) })
	switch {
	case wide:
		return "it holds far more than that"
	case concerns(abs, exact, home, withheld, closed):
		return "a place of secrets"
	case writes && concerns(abs, exact, home, obeyed, installed):
		return "you run or obey later what is in there"
	}
	return ""
}

// concerns reports whether a path is a place of these kinds, lies in one, or, unless exact, holds one.
func concerns(abs string, exact bool, home []string, kinds ...kind) bool {
	for _, p := range list() {
		if !slices.Contains(kinds, p.kind) {
			continue
		}
		for _, h := range append([]string{""}, home...) {
			at := p.in(h)
			if at == "" {
				continue
			}
			// The home directory of root lies in a place of the list, and is judged by what is in it.
			owned := slices.ContainsFunc(home, func(h string) bool { return within(at, h) })
			if within(at, abs) && !owned || within(abs, at) && !exact {
				return true
			}
		}
	}
	return false
}
