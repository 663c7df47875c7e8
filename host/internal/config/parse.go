package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// maxDepth bounds nesting: what walks a tree recurses, and nobody nests deeper.
const maxDepth = 64

// parseTOML reads one file into a tree whose nodes stand at their places in it. It
// returns every problem it can find, not only the first; after a problem the tree is
// nil. What the library refuses is refused here too: it reads every file a second time.
func parseTOML(data []byte, layer Layer, file string) (*Value, error) {
	p := &tomlParser{
		at:    Origin{Layer: layer, File: file},
		index: newLineIndex(data),
		born:  map[*Value]birth{},
	}
	p.root = newTable(Origin{Layer: layer, File: file, Line: 1, Column: 1})
	p.current, p.tableOK = p.root, true
	if at := firstInvalid(data); at >= 0 {
		p.add(at, "", "the file is not valid UTF-8", "save it as UTF-8")
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

// birth is how a table or list came to be; TOML lets only some be added to.
type birth uint8

const (
	byHeader  birth = iota // [a] itself
	byPath                 // the a of [a.b]
	byDots                 // the a of a.b = 1
	byInline               // { … } or [ … ]: closed
	byHeaders              // [[a]]
)

type tomlParser struct {
	problems
	src     unstable.Parser
	at      Origin
	index   lineIndex
	root    *Value
	current *Value
	tableOK bool // false while the current header is refused: its keys are not judged
	born    map[*Value]birth
}

func (p *tomlParser) origin(offset int, key string) Origin {
	o := p.at
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

// syntaxHelps say what to do by what the library says, which its version fixes.
var syntaxHelps = []struct{ said, help string }{
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
func syntaxHelp(data []byte, offset int, said string) string {
	line := string(data[:min(offset, len(data))])
	line = line[strings.LastIndexByte(line, '\n')+1:]
	switch {
	case offset == 0 && strings.HasPrefix(string(data), "\ufeff"):
		return "save the file without a byte order mark"
	case strings.HasPrefix(strings.TrimSpace(line), "[conversation.tools.") && strings.HasPrefix(string(data[offset:]), "*"):
		return "write [conversation.tools.'*']"
	}
	for _, h := range syntaxHelps {
		if strings.Contains(said, h.said) {
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

// secondReading lets the library judge what this parser took: the finer rules of which
// table may be reopened are its subject.
func (p *tomlParser) secondReading(data []byte) {
	var sink map[string]any
	err := toml.Unmarshal(data, &sink)
	if err == nil {
		return
	}
	var de *toml.DecodeError
	o := p.at
	if errors.As(err, &de) {
		o.Line, o.Column = de.Position()
	}
	p.problems.add(o, "not valid TOML: "+printable(strings.TrimPrefix(err.Error(), "toml: ")), "repair the line")
}

func (p *tomlParser) expression(n *unstable.Node) {
	switch n.Kind {
	case unstable.Table, unstable.ArrayTable:
		p.header(n)
	case unstable.KeyValue:
		if p.tableOK {
			p.keyValue(p.current, n)
		}
	}
}

type keyPart struct {
	name   string
	offset int
}

func keyParts(n *unstable.Node) []keyPart {
	var parts []keyPart
	for it := n.Key(); it.Next(); {
		parts = append(parts, keyPart{string(it.Node().Data), int(it.Node().Raw.Offset)})
	}
	return parts
}

// header moves to the table of [a.b] or a new item of [[a.b]].
func (p *tomlParser) header(n *unstable.Node) {
	parts := keyParts(n)
	last := len(parts) - 1
	t := p.root
	p.tableOK = false
	for i, part := range parts {
		key := joinKey(t.Origin.Key, part.name)
		if i == maxDepth {
			p.add(part.offset, "", fmt.Sprintf("tables are nested deeper than %d", maxDepth), "write fewer levels")
			return
		}
		old := t.fields[part.name]
		if i < last {
			if t = p.enter(t, old, part, key, byPath); t == nil {
				return
			}
			continue
		}
		at := p.origin(part.offset, key)
		if n.Kind == unstable.ArrayTable {
			t = p.openItem(t, old, part.name, at)
		} else {
			t = p.openTable(t, old, part.name, at)
		}
	}
	if t != nil {
		p.current, p.tableOK = t, true
	}
}

// enter goes through one table on the way to another, making it if need be.
func (p *tomlParser) enter(t, old *Value, part keyPart, key string, how birth) *Value {
	switch {
	case old == nil:
		next := newTable(p.origin(part.offset, key))
		p.born[next] = how
		t.set(part.name, next)
		return next
	case old.Kind == List && p.born[old] == byHeaders:
		return old.items[len(old.items)-1]
	case old.Kind == Table && p.born[old] != byInline:
		return old
	}
	p.twice(p.origin(part.offset, key), old)
	return nil
}

func (p *tomlParser) openTable(t, old *Value, name string, at Origin) *Value {
	switch {
	case old == nil:
		next := newTable(at)
		p.born[next] = byHeader
		t.set(name, next)
		return next
	case old.Kind == Table && p.born[old] == byPath:
		p.born[old] = byHeader
		old.Origin = at
		return old
	}
	p.twice(at, old)
	return nil
}

func (p *tomlParser) openItem(t, old *Value, name string, at Origin) *Value {
	if old == nil {
		old = &Value{Kind: List, Origin: at}
		p.born[old] = byHeaders
		t.set(name, old)
	} else if old.Kind != List || p.born[old] != byHeaders {
		p.twice(at, old)
		return nil
	}
	at.Key += "[" + strconv.Itoa(len(old.items)) + "]"
	item := newTable(at)
	old.items = append(old.items, item)
	return item
}

func (p *tomlParser) twice(at Origin, old *Value) {
	help := "keep one of them"
	if old.Kind == Table && p.born[old] == byHeader {
		help = "put the keys of both under one header"
	}
	p.problems.add(at, fmt.Sprintf("set twice in this file, first at line %d", old.Origin.Line), help)
}

// keyValue stores `a.b = value` below t.
func (p *tomlParser) keyValue(t *Value, n *unstable.Node) {
	parts := keyParts(n)
	for i, part := range parts {
		key := joinKey(t.Origin.Key, part.name)
		old := t.fields[part.name]
		if i < len(parts)-1 {
			if i == maxDepth {
				p.add(part.offset, "", fmt.Sprintf("tables are nested deeper than %d", maxDepth), "write fewer levels")
				return
			}
			if t = p.enter(t, old, part, key, byDots); t == nil {
				return
			}
			continue
		}
		at := p.origin(part.offset, key)
		if old != nil {
			p.twice(at, old)
			return
		}
		if v := p.value(n.Value(), at, 0); v != nil {
			t.set(part.name, v)
		}
	}
}
