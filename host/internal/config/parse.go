package config

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxDepth bounds nesting: what walks a tree recurses, and nobody nests deeper.
const maxDepth = 64

// parseTOML reads one file into a tree whose nodes know their places in it. It returns
// every problem it can find, not only the first; after a problem the tree is nil. What the
// library refuses is refused here too, because it reads every file a second time.
func parseTOML(data []byte, layer Layer, file string) (*Value, error) {
	p := &tomlParser{
		file:     Origin{Layer: layer, File: file},
		index:    newLineIndex(data),
		implicit: map[*Value]bool{}, closed: map[*Value]bool{},
	}
	p.root = newTable(Origin{Layer: layer, File: file, Line: 1, Column: 1})
	p.current = p.root
	if !utf8.Valid(data) {
		p.add(bytes.IndexRune(data, utf8.RuneError), "", "the file is not valid UTF-8", "save it as UTF-8")
		return nil, p.err()
	}
	p.src.Reset(data)
	for p.src.NextExpression() {
		p.expression(p.src.Expression())
	}
	if err := p.src.Error(); err != nil {
		p.syntax(err)
	}
	if p.count == 0 {
		p.widest(p.root)
	}
	if p.count == 0 {
		p.secondReading(data)
	}
	if p.count > 0 {
		return nil, p.err()
	}
	return p.root, nil
}

// maxKeys bounds the keys of one table. The library compares each with all before it.
const maxKeys = 10_000

// widest refuses tables that nobody wrote by hand.
func (p *tomlParser) widest(v *Value) {
	if n := len(v.keys); n > maxKeys {
		p.problems.add(v.Origin, fmt.Sprintf("a table of %d keys, and at most %d can be read", n, maxKeys), "take out what is not needed")
		return
	}
	for _, f := range v.fields {
		p.widest(f)
	}
	for _, item := range v.items {
		p.widest(item)
	}
}

type tomlParser struct {
	problems
	src   unstable.Parser
	file  Origin // the file, without a place in it
	index lineIndex
	root  *Value
	// current is the table of the last header, nil if that was refused: its keys are not
	// judged then.
	current *Value
	// implicit are the tables that exist only as part of a longer header: one of their own
	// may follow. closed are { … } and [ … ], which no header and no dotted key may add to.
	implicit, closed map[*Value]bool
}

func (p *tomlParser) origin(offset int, key string) Origin {
	o := p.file
	o.Line, o.Column = p.index.position(offset)
	o.Key = key
	return o
}

func (p *tomlParser) add(offset int, key, message, help string) {
	p.problems.add(p.origin(offset, key), message, help)
}

func (p *tomlParser) syntax(err error) {
	var pe *unstable.ParserError
	offset := len(p.index.data)
	if errors.As(err, &pe) && len(pe.Highlight) > 0 {
		offset = int(p.src.Range(pe.Highlight).Offset)
	}
	p.add(offset, "", "not valid TOML: "+printable(err.Error()), syntaxHelp(p.index.data, offset, err.Error()))
}

// syntaxHelps say what to do about a message of the library, which holds one of the texts.
var syntaxHelps = []struct{ text, help string }{
	{"array is incomplete", "close the list with ]"},
	{"array value", "separate the items of the list by commas, and close it with ]"},
	{"to close table name", "close the header with ]"},
	{"to close array table name", "close the header with ]]"},
	{"expected '=' after key", "write KEY = VALUE, with a = between them"},
	{"expected newline", "write each key on a line of its own"},
	{"unterminated basic string", "close the text with a \""},
	{"unterminated literal string", "close the text with a '"},
	{"basic strings cannot have new lines", "close the text with a \" on its line, or write it between two \"\"\""},
	{"not terminated by", "close the text with the three quotes that opened it"},
	{"invalid escape character", `write \\ for a backslash, or the text between single quotes`},
	{"strings must be quoted", "write text between quotes"},
}

// syntaxHelp guesses at the mistakes people make most often.
func syntaxHelp(data []byte, offset int, message string) string {
	line := string(data[:min(offset, len(data))])
	line = line[strings.LastIndexByte(line, '\n')+1:]
	switch {
	case offset == 0 && strings.HasPrefix(string(data), "\ufeff"):
		return "save the file without a byte order mark"
	case strings.HasPrefix(strings.TrimSpace(line), "[conversation.tools.") && strings.HasPrefix(string(data[offset:]), "*"):
		return "write [conversation.tools.'*']"
	}
	for _, h := range syntaxHelps {
		if strings.Contains(message, h.text) {
			return h.help
		}
	}
	rest, _, _ := strings.Cut(string(data[offset:]), "\n")
	if !strings.HasSuffix(strings.TrimSpace(line), "=") {
		return "repair the line; https://toml.io/en/v1.0.0 has the syntax"
	}
	switch rest, _, _ := strings.Cut(rest, "#"); strings.ToLower(strings.TrimSpace(rest)) {
	case "true", "yes", "on":
		return "write true"
	case "false", "no", "off":
		return "write false"
	}
	return "write a value after the =; text needs quotes"
}

// secondReading lets the library judge what this parser accepted: it knows the finer rules
// of which table may be opened again.
func (p *tomlParser) secondReading(data []byte) {
	var sink map[string]any
	err := toml.Unmarshal(data, &sink)
	if err == nil {
		return
	}
	var de *toml.DecodeError
	o := p.file
	if errors.As(err, &de) {
		o.Line, o.Column = de.Position()
	}
	p.problems.add(o, "not valid TOML: "+printable(strings.TrimPrefix(err.Error(), "toml: ")), "repair the line")
}

func (p *tomlParser) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		p.current = p.header(n)
	case unstable.KeyValue:
		if p.current != nil {
			p.keyValue(p.current, n, 0)
		}
	}
}

type keyPart struct {
	name   string
	offset int
}

// keyParts are the parts of a key, nil if depth and they are more than maxDepth.
func (p *tomlParser) keyParts(n *unstable.Node, depth int) []keyPart {
	var parts []keyPart
	for it := n.Key(); it.Next(); {
		parts = append(parts, keyPart{string(it.Node().Data), int(it.Node().Raw.Offset)})
	}
	if depth+len(parts) > maxDepth {
		what := "values"
		if depth == 0 {
			what = "tables"
		}
		message := fmt.Sprintf("%s are nested deeper than %d", what, maxDepth)
		p.add(parts[maxDepth-depth].offset, "", message, "write fewer levels")
		return nil
	}
	return parts
}

// header returns the table of [a.b], or a new item of [[a.b]]; nil after a problem.
func (p *tomlParser) header(n *unstable.Node) *Value {
	t, name, origin := p.enter(p.root, p.keyParts(n, 0), true)
	if t == nil {
		return nil
	}
	old := t.fields[name]
	if n.Kind == unstable.ArrayTable {
		if old == nil {
			old = &Value{Kind: List, Origin: origin}
			t.set(name, old)
		}
		if old.Kind != List || p.closed[old] {
			p.twice(origin, old)
			return nil
		}
		origin.Key += "[" + strconv.Itoa(len(old.items)) + "]"
		item := newTable(origin)
		old.items = append(old.items, item)
		return item
	}
	switch {
	case old == nil:
		old = newTable(origin)
		t.set(name, old)
	case p.implicit[old]:
		delete(p.implicit, old)
		old.Origin = origin
	default:
		p.twice(origin, old)
		return nil
	}
	return old
}

// keyValue stores `a.b = value` below t. depth counts the { and [ around it.
func (p *tomlParser) keyValue(t *Value, n *unstable.Node, depth int) {
	parts := p.keyParts(n, depth)
	t, name, origin := p.enter(t, parts, false)
	if t == nil {
		return
	}
	if old := t.fields[name]; old != nil {
		p.twice(origin, old)
	} else if v := p.value(n.Value(), origin, depth+len(parts)-1); v != nil {
		t.set(name, v)
	}
}

// enter goes from t through all parts of a key but the last, and makes the tables that are
// missing. It returns the last table with the name and the place of the last part. The table
// is nil after a problem.
func (p *tomlParser) enter(t *Value, parts []keyPart, implicit bool) (table *Value, name string, origin Origin) {
	for i, part := range parts {
		name, origin = part.name, p.origin(part.offset, joinKey(t.Origin.Key, part.name))
		if i == len(parts)-1 {
			return t, name, origin
		}
		next := t.fields[name]
		switch {
		case next == nil:
			next = newTable(origin)
			t.set(name, next)
			if implicit {
				p.implicit[next] = true
			}
		case p.closed[next], next.Kind != Table && next.Kind != List:
			p.twice(origin, next)
			return nil, "", origin
		case next.Kind == List:
			next = next.items[len(next.items)-1] // of [[a]]
		}
		t = next
	}
	return nil, "", origin
}

func (p *tomlParser) twice(origin Origin, old *Value) {
	help := "keep one of them"
	if old.Kind == Table && !p.closed[old] {
		help = "put the keys of both under one header"
	}
	p.problems.add(origin, fmt.Sprintf("set twice in this file, first at line %d", old.Origin.Line), help)
}
