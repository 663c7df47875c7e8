package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Kind says what is wrong with an argument.
type Kind string

// The kinds of problems.
const (
	Unknown   Kind = "unknown"
	Missing   Kind = "missing"
	WrongType Kind = "wrong_type"
	NotInEnum Kind = "not_in_enum"
	BadSchema Kind = "bad_schema"
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

// simpleName reports whether a name needs no quotes in a path: letters, digits, `_` and `-`, beginning
// with a letter or `_`. A regular expression with classes of Unicode takes a third of a millisecond to compile.
func simpleName(name string) bool {
	for i, r := range name {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || r != '-' && !unicode.IsNumber(r)) {
			return false
		}
	}
	return name != ""
}

func join(path, name string) string {
	switch {
	case !simpleName(name):
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
