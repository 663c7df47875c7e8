package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Command is a tool's command as it is configured.
type Command struct {
	// Program is the program, or with Shell the script.
	Program string
	Args    []string
	Shell   bool
}

// Data is what the placeholders stand for: the two halves of the request of the call,
// each one valid JSON object (the wire contract).
type Data struct {
	Context, Tool json.RawMessage
}

// Template is a command that has been checked. It is immutable and safe for concurrent
// use.
type Template struct {
	words  []text // program and arguments
	script string // with a shell: what sh runs; words are its parameters
	shell  bool
}

// Compile checks a command. Its errors name the part (`program`, `args[2]`) and the
// placeholder, and say on the next line what to write instead.
func Compile(c Command) (*Template, error) {
	program, err := parse(c.Program)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if strings.TrimSpace(c.Program) == "" {
		return nil, errors.New("program: is empty\nname the program to run")
	}
	t := &Template{shell: c.Shell}
	if c.Shell {
		if t.script, t.words, err = compileShell(program, len(c.Args)); err != nil {
			return nil, fmt.Errorf("program: %w", err)
		}
	} else {
		t.words = []text{program}
	}
	for i, arg := range c.Args {
		word, err := parse(arg)
		if err != nil {
			return nil, fmt.Errorf("args[%d]: %w", i, err)
		}
		t.words = append(t.words, word)
	}
	return t, nil
}

// Render fills in the placeholders and returns the command line, program first. Its
// length does not depend on data. A value with a NUL byte, which no command line can
// carry, is an error.
func (t *Template) Render(data Data) ([]string, error) {
	argv := make([]string, 0, len(t.words)+4)
	if t.shell {
		argv = append(argv, "sh", "-c", t.script, "sh")
	}
	for _, word := range t.words {
		s, err := word.render(data)
		if err != nil {
			return nil, err
		}
		argv = append(argv, s)
	}
	if argv[0] == "" {
		return nil, errors.New("the name of the program is empty\ncheck what its placeholders were filled with")
	}
	return argv, nil
}

// Arguments are the names of the arguments of the call that placeholders take values from, each
// once, in their order.
func (t *Template) Arguments() []string {
	var names []string
	for _, word := range t.words {
		for _, p := range word {
			if len(p.path) > 2 && p.path[0] == "tool" && p.path[1] == "arguments" && !slices.Contains(names, p.path[2]) {
				names = append(names, p.path[2])
			}
		}
	}
	return names
}

// text is one template: pieces that are printed one after the other.
type text []piece

// piece is a literal, or a placeholder if path is set.
type piece struct {
	literal string
	path    []string
	json    bool
	source  string // the placeholder as it is written
}

func (t text) render(data Data) (string, error) {
	var b strings.Builder
	for _, p := range t {
		s := p.literal
		if p.path != nil {
			var err error
			if s, err = p.value(data); err != nil {
				return "", fmt.Errorf("%s: %w", p.source, err)
			}
		}
		b.WriteString(s)
	}
	if strings.IndexByte(b.String(), 0) >= 0 {
		return "", errors.New("a value holds a NUL byte, which no command line can carry\nlet the tool read its request from standard input")
	}
	return b.String(), nil
}

// parse splits a template into pieces and checks every placeholder.
func parse(s string) (text, error) {
	var t text
	literal := func(s string) {
		if n := len(t); n > 0 && t[n-1].path == nil {
			t[n-1].literal += s
		} else if s != "" {
			t = append(t, piece{literal: s})
		}
	}
	for {
		i := strings.IndexByte(s, '{')
		if i < 0 || i+1 == len(s) {
			literal(s)
			return t, nil
		}
		literal(s[:i])
		s = s[i:]
		switch s[1] {
		case '%':
			return nil, fmt.Errorf("%s is a statement; only placeholders are supported\n%s", shorten(s, "%}"), escapeHint("{%"))
		case '#':
			return nil, fmt.Errorf("%s is a comment; only placeholders are supported\n%s", shorten(s, "#}"), escapeHint("{#"))
		case '{':
			p, rest, err := parsePlaceholder(s)
			if err != nil {
				return nil, err
			}
			if p.path == nil {
				literal(p.literal)
			} else {
				t = append(t, p)
			}
			s = rest
		default:
			literal("{")
			s = s[1:]
		}
	}
}

func escapeHint(braces string) string {
	return fmt.Sprintf("if you mean the text %s, write {{ %q }}", braces, braces)
}

// shorten quotes a construct up to its end, or its beginning when it has none.
func shorten(s, end string) string {
	if i := strings.Index(s, end); i >= 0 {
		s = s[:i+len(end)]
	}
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return strconv.Quote(s)
}
