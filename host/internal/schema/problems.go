package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/jptools/jptools/host/internal/show"
)

// Problem is one thing that is wrong with an argument.
type Problem struct {
	// Path leads to the value: `patterns[0].old`.
	Path    string
	Message string
}

// Problems are all that is wrong with the arguments of a call, or with a schema, in the
// order of the parameters.
type Problems []Problem

// Error has one line for each problem.
func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, problem := range p {
		lines[i] = "`" + problem.Path + "`: " + problem.Message
	}
	return strings.Join(lines, "\n")
}

func (p *Problems) add(path, format string, args ...any) {
	*p = append(*p, Problem{path, fmt.Sprintf(format, args...)})
}

// simpleName is a name that needs no quotes in a path.
// It is compiled at its first use: each helper process of the sandbox starts with this package too.
var simpleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`) })

func join(path, name string) string {
	if !simpleName().MatchString(name) {
		return path + "[" + strconv.Quote(name) + "]"
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// brief is a value for a message: its JSON, cut when it is long.
func brief(v any) string {
	text := show.Value(v)
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:57]) + "…"
	}
	return text
}
