package schema

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// Kind says what is wrong with an argument.
type Kind string

// The kinds of problems.
const (
	Unknown    Kind = "unknown"
	Missing    Kind = "missing"
	WrongType  Kind = "wrong_type"
	NotInEnum  Kind = "not_in_enum"
	OutOfRange Kind = "out_of_range"
	BadSchema  Kind = "bad_schema"
)

// Problem is one thing that is wrong.
type Problem struct {
	// Path leads to the value: `patterns[0].old`.
	Path    string `json:"path"`
	Kind    Kind   `json:"kind"`
	Message string `json:"message"`
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

func (p *Problems) add(path string, kind Kind, format string, args ...any) {
	*p = append(*p, Problem{path, kind, fmt.Sprintf(format, args...)})
}

// simpleName is a name that needs no quotes in a path.
var simpleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`) })

func join(path, name string) string {
	switch {
	case !simpleName().MatchString(name):
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// show is a value for a message: its JSON, cut when it is long.
func show(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	text := strings.TrimSuffix(b.String(), "\n")
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:57]) + "…"
	}
	return text
}

// nearest returns the name that word may have been meant to be, or "".
func nearest(word string, names []string) string {
	best, found := max(1, len(word)/3)+1, ""
	for _, name := range names {
		if d := distance(strings.ToLower(word), strings.ToLower(name)); d < best {
			best, found = d, name
		}
	}
	return found
}

// distance counts insertions, deletions and replacements; a swap of neighbours is two.
func distance(a, b string) int {
	if len(a) > 100 || len(b) > 100 {
		return 100
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := min(row[j]+1, row[j+1]+1, diagonal)
			if a[i] != b[j] {
				d = min(row[j]+1, row[j+1]+1, diagonal+1)
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
