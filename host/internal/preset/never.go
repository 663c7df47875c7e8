package preset

import (
	_ "embed"
	"path"
	"strings"
	"sync"

	"github.com/jptools/jptools/jptool/wspath"
)

//go:embed never.toml
var neverText []byte

// never has the lists of never.toml.
var never = sync.OnceValue(func() (lists struct {
	Secrets  []string `toml:"secrets"`
	RunLater []string `toml:"run_later"`
},
) {
	if err := strict(neverText, &lists); err != nil {
		panic("preset: never.toml: " + err.Error())
	}
	return lists
})

// Never says why a place is granted to no program unless a person names it; "" if nothing speaks against it. writes:
// it would be written, too. exact: the place alone is meant, not what may lie in it, as for a file. The path is absolute,
// with slashes, and links in it should have been followed; home is the home directory, as often as it has spellings.
func Never(abs string, writes, exact bool, home ...string) string {
	const secret, later, wide = "a place of secrets", "you run or obey later what is in there", "it holds far more than that"
	clean := path.Clean(abs)
	if clean == "/" || strings.HasSuffix(clean, ":/") {
		return wide
	}
	for _, h := range home {
		if _, holds := wspath.WithinAbs(clean, h); holds {
			return wide
		}
	}
	if match(clean, never().Secrets, exact, home) {
		return secret
	}
	if writes && match(clean, never().RunLater, exact, home) {
		return later
	}
	return ""
}

// match reports whether a path is one of a list, lies in one, or, unless exact, holds one.
func match(abs string, list []string, exact bool, home []string) bool {
	for _, entry := range list {
		places := []string{entry}
		if rest, below := strings.CutPrefix(entry, "~/"); below {
			places = nil
			for _, h := range home {
				places = append(places, path.Join(h, rest))
			}
		}
		for _, p := range places {
			// The home directory of root lies in a place of the list, and is judged by what is in it.
			owned := false
			for _, h := range home {
				_, in := wspath.WithinAbs(p, h)
				owned = owned || in
			}
			_, in := wspath.WithinAbs(p, abs)
			_, holds := wspath.WithinAbs(abs, p)
			if in && !owned || holds && !exact {
				return true
			}
		}
	}
	return false
}
