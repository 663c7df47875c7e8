// Package toolargs checks the arguments of a call and writes them into the command line of the tool.
//
// A [Schema] checks them against the parameters that the tool declares, before anything is started: types, enums, what
// is required and what is unknown, at every depth. All problems are reported at once, each with the path of the value
// (`patterns[0].old`), so that a model can correct all of them in its next call. It also completes the arguments:
// defaults are filled in, null counts as absent where null is no value, and a string that holds the JSON of the declared
// type is taken for that (models send "10" and "[\"a\"]"). A JSON Schema validator decides whether a value has a type
// and is in an enum. The way through lists and objects is our own: the validator stops at the first problem, gives no
// path, and completes nothing.
//
// A [Template] fills the placeholders of the tool's command:
//
//	program = "cargo"
//	args    = ["test", "--package", "{{tool.arguments.package}}", "{{ tool.options | tojson }}"]
//
// A placeholder is a path into the request, `context…` or `tool…`, by names, numbers of
// list elements (`paths.0`) or quoted names (`arguments["dry-run"]`), and may end in
// `| tojson`. A quoted text stands for itself: `{{ "{{" }}` prints two braces.
//
// The values print as follows: text, numbers and booleans as they are, objects and lists
// as JSON, and what is null or absent as the word `null`. With `tojson` everything is
// JSON. That is the language of existing configurations less everything that computes:
// statements, comments, other filters and paths that no request has are errors when the
// command is loaded.
//
// # Words
//
// Program and arguments are filled one by one and never split again, so a value cannot
// add words to the command line. It can still be a word that the program takes for an
// option: write `--` before it where the program knows that.
//
// # With a shell
//
// `shell = true` makes `program` a script for `sh -c`, with the arguments appended as
// words. A value is never part of the script. It is passed beside it, as a parameter, and the placeholder
// becomes a quoted reference to it, by the quotes it stands in: {{x}}, "{{x}}" and
// 'a {{x}} b' are each one word, or a piece of one.
//
// A script with placeholders is parsed, as a POSIX shell and as bash would read it: `sh` may be either. It must be
// POSIX shell, of at most 16 KiB, without what shells do not all read alike, such as $'…', [[ ]] and quotes in ${…}. A
// placeholder is an error at load where the shell would read the value as code: as the name of a command, after
// eval and its like, in arithmetic and backquotes, after a command that an expansion names, after >& and test -v, whose
// words bash expands again. It is one in a here document, too. A script without placeholders or arguments is
// handed to the shell as it is.
//
// What this does not stop: programs that take a word for code themselves, such as
// `sh -c {{x}}`, `awk {{x}}`, `find -exec`; and what the script does with a variable that it has put a
// value into, such as `n={{x}}; eval "$n"` or, in bash, `$((n))`.
package toolargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/strictjson"
)

// Template is a command that has been checked. It is immutable and safe for concurrent use.
type Template struct {
	words  []text // program and arguments
	script string // with a shell: what sh runs; words are its parameters
	shell  bool
}

// Compile checks a command. Its errors name the part (`program`, `args[2]`) and the
// placeholder, and say on the next line what to write instead.
func Compile(c config.Command) (*Template, error) {
	program, err := parse(c.Program)
	if err != nil {
		return nil, fmt.Errorf("program: %w", err)
	}
	if strings.TrimSpace(c.Program) == "" {
		return nil, errors.New("program: is empty\nname the program to run")
	}
	t := &Template{shell: c.Shell, words: []text{program}}
	if c.Shell {
		if t.script, t.words, err = compileShell(program, len(c.Args)); err != nil {
			return nil, fmt.Errorf("program: %w", err)
		}
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

// Render fills in the placeholders from a request, one valid JSON object with context and tool (docs/wire.md), and
// returns the command line, program first. Its length does not depend on the request. A value with a NUL byte, which no
// command line can carry, is an error.
func (t *Template) Render(request json.RawMessage) ([]string, error) {
	var argv []string
	if t.shell {
		argv = []string{"sh", "-c", t.script, "sh"}
	}
	for _, word := range t.words {
		var b strings.Builder
		for _, p := range word {
			s, err := p.render(request)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.source, err)
			}
			b.WriteString(s)
		}
		if strings.Contains(b.String(), "\x00") {
			return nil, errors.New("a value holds a NUL byte, which no command line can carry\nlet the tool read its request from standard input")
		}
		argv = append(argv, b.String())
	}
	if argv[0] == "" {
		return nil, errors.New("the name of the program is empty\ncheck what its placeholders were filled with")
	}
	return argv, nil
}

// Arguments are the names of the arguments of the call that placeholders take values from, each
// once, in their order.
func (t *Template) Arguments() []string { return t.arguments(false) }

// Shown are those of which a placeholder takes all of the value.
func (t *Template) Shown() []string { return t.arguments(true) }

func (t *Template) arguments(whole bool) []string {
	var names []string
	for _, p := range slices.Concat(t.words...) {
		if len(p.path) < 3 || p.path[0] != "tool" || p.path[1] != "arguments" || whole && len(p.path) > 3 {
			continue
		}
		if !slices.Contains(names, p.path[2]) {
			names = append(names, p.path[2])
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

// render prints what the piece stands for.
func (p piece) render(raw json.RawMessage) (string, error) {
	if p.path == nil {
		return p.literal, nil
	}
	for _, name := range p.path {
		raw = member(raw, name)
	}
	if raw == nil {
		return "null", nil
	}
	if raw[0] == '"' && !p.json {
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err
	}
	var b bytes.Buffer
	err := json.Compact(&b, raw)
	if p.json {
		return htmlSafe(b.String()), err
	}
	return b.String(), err
}

// member returns what is called name in an object or list; nil if nothing is, also in
// values that hold nothing: optional arguments are absent as often as not.
func member(raw json.RawMessage, name string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		return object[name]
	}
	var list []json.RawMessage
	if i, err := strconv.Atoi(name); err == nil && json.Unmarshal(raw, &list) == nil && i >= 0 && i < len(list) {
		return list[i]
	}
	return nil
}

// htmlSafe writes the characters that HTML and quotes around the placeholder would trip
// over as escapes, as existing configurations expect of tojson. They occur in strings
// only, so the meaning is the same.
func htmlSafe(s string) string {
	return strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`, "'", `\u0027`).Replace(s)
}

// What a placeholder is made of. In quotes a backslash escapes a quote or a backslash and nothing else.
const (
	space  = `[ \t\r\n]*`
	name   = `[A-Za-z0-9_]+`
	quoted = `"(?:[^"\\]|\\["'\\])*"|'(?:[^'\\]|\\["'\\])*'`
	path   = name + `(?:` + space + `(?:\.` + space + name + `|\[` + space + `(?:[0-9]+|` + quoted + `)` + space + `\]))*`
)

var (
	opening     = settings.Pattern(`\{[{%#]`)
	placeholder = settings.Pattern(`^\{\{` + space + `(?:(` + quoted + `)|(` + path + `))` + space + `(?:\|` + space + `(` + name + `)` + space + `)?\}\}`)
	pathStep    = settings.Pattern(name + `|` + quoted)
)

// parse splits a template into pieces and checks every placeholder.
func parse(s string) (text, error) {
	var t text
	for {
		at := opening().FindStringIndex(s)
		if at == nil {
			return append(t, piece{literal: s}), nil
		}
		t = append(t, piece{literal: s[:at[0]]})
		switch s = s[at[0]:]; s[1] {
		case '%':
			return nil, fmt.Errorf("%s is a statement; only placeholders are supported\n%s", shorten(s, "%}"), escapeHint("{%"))
		case '#':
			return nil, fmt.Errorf("%s is a comment; only placeholders are supported\n%s", shorten(s, "#}"), escapeHint("{#"))
		}
		p, err := parsePlaceholder(s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shorten(s, "}}"), err)
		}
		t = append(t, p)
		s = s[len(p.source):]
	}
}

// parsePlaceholder reads the placeholder at the start of s, which begins with `{{`.
func parsePlaceholder(s string) (piece, error) {
	m := placeholder().FindStringSubmatch(s)
	switch {
	case m == nil && !strings.Contains(s, "}}"):
		return piece{}, errors.New("the placeholder does not end\nclose it with }}, or " + escapeHint("{{"))
	case m == nil:
		return piece{}, errors.New("this is no placeholder\nwrite a path such as {{tool.arguments.path}} or {{tool.arguments[\"dry-run\"]}}, with | tojson in it if you like")
	case m[3] != "" && m[3] != "tojson":
		return piece{}, fmt.Errorf("the filter %q is not supported\nthe only filter is tojson", m[3])
	}
	p := piece{source: m[0], json: m[3] != ""}
	if m[2] == "" {
		if p.literal = unquote(m[1]); p.json {
			p.literal = htmlSafe(string(strictjson.String(p.literal)))
		}
		return p, nil
	}
	for _, step := range pathStep().FindAllString(m[2], -1) {
		p.path = append(p.path, unquote(step))
	}
	return p, checkPath(p.path)
}

// unquote returns what a name or a quoted text stands for.
func unquote(text string) string {
	if text[0] != '"' && text[0] != '\'' {
		return text
	}
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\'`, `'`).Replace(text[1 : len(text)-1])
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

// known are the names that every request has. Inside of what is open the call decides: then anything may be, and what
// is not prints null.
var (
	known = map[string][]string{
		"":               {"context", "tool"},
		"context":        {"root", "action", "access", "workspace_id", "conversation_id"},
		"context.access": {"fs", "net", "env", "commands", "pinned", "staged"},
		"tool":           {"name", "arguments", "answers", "options"},
	}
	open = settings.Pattern(`^(context\.access\..*|tool\.(arguments|answers|options))$`)
)

// checkPath refuses what no request can have: a misspelt path would print null for ever.
func checkPath(path []string) error {
	at := ""
	for _, name := range path {
		if open().MatchString(at) {
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
