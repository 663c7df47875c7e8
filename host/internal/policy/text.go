package policy

import (
	"fmt"
	"strings"

	"github.com/jptools/jptools/host/internal/show"
	"github.com/jptools/jptools/jptool"
)

func commandText(r jptool.CommandRule) string {
	var parts []string
	if r.Args != nil {
		lists := make([]string, len(r.Args))
		for i, args := range r.Args {
			lists[i] = quoted(args)
		}
		parts = append(parts, "args = ["+strings.Join(lists, ", ")+"]")
	}
	if len(r.Envs) > 0 {
		parts = append(parts, "envs = "+quoted(r.Envs))
	}
	if len(parts) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func quoted(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// shellWord quotes a path for a command line that a person may copy.
func shellWord(s string) string {
	if strings.HasPrefix(s, "-") {
		s = "./" + s
	}
	return show.Word(s)
}
