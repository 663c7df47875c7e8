package template

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// parsePlaceholder reads the placeholder at the start of s, which begins with `{{`, and
// returns what stands after it.
func parsePlaceholder(s string) (p piece, rest string, err error) {
	l := lexer{s: s, pos: 2}
	fail := func(err error) (piece, string, error) {
		return p, "", fmt.Errorf("%s: %w", shorten(s, "}}"), err)
	}
	if strings.HasPrefix(s[2:], "-") {
		return fail(errors.New("`{{-` is not supported\nwrite {{ … }} and no space around it that you do not want"))
	}
	var quoted bool
	if p.path, p.literal, quoted, err = l.operand(); err != nil {
		return fail(err)
	}
	for l.next() == '|' {
		l.pos++
		switch name := l.name(); {
		case name == "":
			return fail(errors.New("there is no filter after the |\nwrite | tojson, or leave the | out"))
		case name != "tojson":
			return fail(fmt.Errorf("the filter %q is not supported\nthe only filter is tojson", name))
		case p.json:
			return fail(errors.New("tojson stands there twice\nonce is enough"))
		}
		p.json = true
	}
	if l.next() != '}' || !strings.HasPrefix(s[l.pos:], "}}") {
		if l.pos >= len(s) {
			return fail(errors.New("the placeholder does not end\nclose it with }}, or " + escapeHint("{{")))
		}
		return fail(fmt.Errorf("%s is not supported\na placeholder is a path such as tool.arguments.path, and | tojson if you like", shorten(s[l.pos:], "}}")))
	}
	p.source, rest = s[:l.pos+2], s[l.pos+2:]
	if quoted {
		if p.json {
			p.literal = quoteJSON(p.literal)
		}
		return p, rest, nil
	}
	if err := checkPath(p.path); err != nil {
		return fail(err)
	}
	return p, rest, nil
}

// lexer reads the inside of a placeholder.
type lexer struct {
	s   string
	pos int
}

// next skips space and returns the byte there, 0 at the end.
func (l *lexer) next() byte {
	for l.pos < len(l.s) && strings.IndexByte(" \t\r\n", l.s[l.pos]) >= 0 {
		l.pos++
	}
	return l.peek()
}

func (l *lexer) peek() byte {
	if l.pos >= len(l.s) {
		return 0
	}
	return l.s[l.pos]
}

// name reads a run of letters, digits and underscores.
func (l *lexer) name() string {
	l.next()
	from := l.pos
	for c := l.peek(); c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'; c = l.peek() {
		l.pos++
	}
	return l.s[from:l.pos]
}

// operand reads a path, or a quoted text.
func (l *lexer) operand() (path []string, literal string, quoted bool, err error) {
	switch l.next() {
	case '"', '\'':
		literal, err = l.quoted()
		return nil, literal, true, err
	case 0:
		return nil, "", false, errors.New("the placeholder does not end\nclose it with }}, or " + escapeHint("{{"))
	case '}':
		return nil, "", false, errors.New("the placeholder is empty\nwrite a path such as tool.arguments.path")
	}
	name := l.name()
	if name == "" {
		return nil, "", false, errors.New("this is no path\nwrite a path such as tool.arguments.path")
	}
	path = []string{name}
	for {
		switch l.next() {
		case '.':
			l.pos++
			if name = l.name(); name == "" {
				return nil, "", false, errors.New("there is no name after the .\nwrite [\"…\"] for a name with other characters")
			}
		case '[':
			l.pos++
			if c := l.next(); c == '"' || c == '\'' {
				if name, err = l.quoted(); err != nil {
					return nil, "", false, err
				}
			} else if name = l.name(); name == "" || strings.Trim(name, "0123456789") != "" {
				return nil, "", false, errors.New("in [ ] stands a quoted name or a number\nwrite [\"name\"] or [0]")
			}
			if l.next() != ']' {
				return nil, "", false, errors.New("a [ is not closed\nwrite [\"name\"] or [0]")
			}
			l.pos++
		default:
			return path, "", false, nil
		}
		path = append(path, name)
	}
}

// quoted reads a text in quotes. There are no escapes but of the quotes and the backslash.
func (l *lexer) quoted() (string, error) {
	quote := l.peek()
	var b strings.Builder
	for l.pos++; l.pos < len(l.s); l.pos++ {
		switch c := l.s[l.pos]; {
		case c == quote:
			l.pos++
			return b.String(), nil
		case c == '\\' && l.pos+1 < len(l.s) && strings.IndexByte(`"'\`, l.s[l.pos+1]) >= 0:
			l.pos++
			b.WriteByte(l.s[l.pos])
		case c == '\\':
			return "", errors.New("a \\ in quotes must be followed by a quote or another \\\ndouble it")
		default:
			b.WriteByte(c)
		}
	}
	return "", errors.New("a quote is not closed\nclose it before }}")
}

// known are the names that every request has. Below a nil list anything may follow: what is there
// depends on the call, and what is not there prints null.
var known = []struct {
	at    string
	names []string
}{
	{"", []string{"context", "tool"}},
	{"context", []string{"root", "action", "access", "workspace_id", "conversation_id"}},
	{"tool", []string{"name", "arguments", "answers", "options"}},
	{"context.access", []string{"fs", "net", "env", "commands", "pinned", "staged"}},
	{"context.access.fs", nil},
	{"context.access.net", nil},
	{"context.access.env", nil},
	{"context.access.commands", nil},
	{"context.access.pinned", nil},
	{"context.access.staged", nil},
	{"tool.arguments", nil},
	{"tool.answers", nil},
	{"tool.options", nil},
}

// checkPath refuses what no request can have: a misspelt path would print null for ever.
func checkPath(path []string) error {
	at := ""
	for _, name := range path {
		var names []string
		inside := false
		for _, k := range known {
			if k.at == at {
				names, inside = k.names, true
			}
		}
		switch {
		case !inside:
			return fmt.Errorf("%s has nothing inside\nwrite {{ %s }}", at, at)
		case names == nil:
			return nil
		}
		if !slices.Contains(names, name) {
			where := at
			if where == "" {
				where = "a request"
			}
			return fmt.Errorf("there is no %s in %s\nwrite one of %s", strconv.Quote(name), where, strings.Join(names, ", "))
		}
		at = strings.TrimPrefix(at+"."+name, ".")
	}
	return nil
}
