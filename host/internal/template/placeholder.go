package template

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// What a placeholder is made of. In quotes a backslash escapes a quote or a backslash and nothing else.
const (
	space  = `[ \t\r\n]*`
	name   = `[A-Za-z0-9_]+`
	quoted = `"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*'`
	path   = name + `(?:` + space + `(?:\.` + space + name + `|\[` + space + `(?:[0-9]+|` + quoted + `)` + space + `\]))*`
)

var (
	placeholder = compiled(`^\{\{` + space + `(?:(` + quoted + `)|(` + path + `))` + space + `(?:\|` + space + `(` + name + `)` + space + `)?\}\}`)
	pathStep    = compiled(name + `|` + quoted)
)

// compiled compiles an expression at its first use: each helper process of the sandbox starts with this package too.
func compiled(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// parsePlaceholder reads the placeholder at the start of s, which begins with `{{`, and
// returns what stands after it.
func parsePlaceholder(s string) (p piece, rest string, err error) {
	m := placeholder().FindStringSubmatch(s)
	switch {
	case m == nil && !strings.Contains(s, "}}"):
		err = errors.New("the placeholder does not end\nclose it with }}, or " + escapeHint("{{"))
	case m == nil:
		err = errors.New("this is no placeholder\nwrite a path such as {{tool.arguments.path}} or {{tool.arguments[\"dry-run\"]}}, with | tojson in it if you like")
	case m[3] != "" && m[3] != "tojson":
		err = fmt.Errorf("the filter %q is not supported\nthe only filter is tojson", m[3])
	default:
		p = piece{source: m[0], json: m[3] != ""}
		for _, step := range pathStep().FindAllString(m[2], -1) {
			p.path = append(p.path, unquote(step))
		}
		if p.path != nil {
			err = checkPath(p.path)
			break
		}
		if p.literal = unquote(m[1]); p.json {
			p.literal = quoteJSON(p.literal)
		}
	}
	if err != nil {
		return p, "", fmt.Errorf("%s: %w", shorten(s, "}}"), err)
	}
	return p, s[len(p.source):], nil
}

// unquote returns what a name or a quoted text stands for.
func unquote(text string) string {
	if text[0] != '"' && text[0] != '\'' {
		return text
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(text[1 : len(text)-1])
}

// known are the names that every request has.
var known = map[string][]string{
	"":               {"context", "tool"},
	"context":        {"root", "action", "access", "workspace_id", "conversation_id"},
	"context.access": {"fs", "net", "env", "commands", "pinned", "staged"},
	"tool":           {"name", "arguments", "answers", "options"},
}

// varies reports whether the call decides what is inside: then anything may be, and what is not prints null.
func varies(at string) bool {
	return strings.HasPrefix(at, "context.access.") || slices.Contains([]string{"tool.arguments", "tool.answers", "tool.options"}, at)
}

// checkPath refuses what no request can have: a misspelt path would print null for ever.
func checkPath(path []string) error {
	at := ""
	for _, name := range path {
		if varies(at) {
			return nil
		}
		names := known[at]
		if names == nil {
			return fmt.Errorf("%s has nothing inside\nwrite {{ %s }}", at, at)
		}
		if !slices.Contains(names, name) {
			if at == "" {
				at = "a request"
			}
			return fmt.Errorf("there is no %s in %s\nwrite one of %s", strconv.Quote(name), at, strings.Join(names, ", "))
		}
		at = strings.TrimPrefix(at+"."+name, ".")
	}
	return nil
}
