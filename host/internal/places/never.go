package places

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/jptools/jptools/jptool/wspath"
)

// Never says why a path is granted to no program unless a person names it; "" if nothing speaks against it. writes:
// it would be written, too. exact: the path alone is meant, not what may lie in it, as for a file. The path is absolute,
// with slashes, and links in it should have been followed; home is the home directory, as often as it has spellings. What
// the list says of home directories counts for those of other users, too.
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
	homes := slices.Concat([]string{""}, home, others())
	if rest, below := wspath.WithinAbs("/home", abs); below && rest != "" {
		name, _, _ := strings.Cut(rest, "/")
		homes = append(homes, "/home/"+name)
	}
	for _, p := range list() {
		if !slices.Contains(kinds, p.kind) {
			continue
		}
		for _, h := range homes {
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

// others are the home directories of people, as far as they have a line in /etc/passwd.
var others = sync.OnceValue(func() (list []string) {
	data, _ := os.ReadFile("/etc/passwd")
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(line, ":")
		if len(fields) < 7 {
			continue
		}
		id, err := strconv.Atoi(fields[2])
		if err == nil && (id == 0 || id >= firstPerson) && path.IsAbs(fields[5]) && path.Clean(fields[5]) != "/" {
			list = append(list, path.Clean(fields[5]))
		}
	}
	return list
})

// firstPerson is the first number of a user who is a person; those below are the system's.
const firstPerson = 1000
