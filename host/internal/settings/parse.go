package settings

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/jptools/jptools/jptool/strictjson"
)

// maxDepth bounds nesting: what walks a tree recurses, and nobody nests deeper.
const maxDepth = 64

// ParseTOML reads one file into a tree whose nodes know their places in it. It returns
// every problem it can find, not only the first; after a problem the tree is nil. What the
// library refuses is refused here too, because it reads every file a second time.
func ParseTOML(data []byte, layer Layer, file string) (*Value, error) {
	p := &tomlParser{
		file: Origin{Layer: layer, File: file}, cursor: cursor{data: data, line: 1, column: 1},
		implicit: map[*Value]bool{}, closed: map[*Value]bool{},
	}
	p.root = NewTable(Origin{Layer: layer, File: file, Line: 1, Column: 1})
	if !utf8.Valid(data) {
		p.Add(p.origin(bytes.IndexRune(data, utf8.RuneError), ""), "the file is not valid UTF-8", "save it as UTF-8")
		return nil, p.Err()
	}
	current := p.root // nil after a header that was refused: the keys below it are not judged
	p.src.Reset(data)
	for p.src.NextExpression() {
		switch n := p.src.Expression(); n.Kind {
		case unstable.Table, unstable.ArrayTable:
			current = p.header(n)
		case unstable.KeyValue:
			if current != nil {
				p.keyValue(current, n, 0)
			}
		}
	}
	if err := p.src.Error(); err != nil {
		p.syntax(err)
	}
	if p.Count == 0 {
		p.root.Walk(p.widest)
	}
	if p.Count == 0 {
		p.secondReading()
	}
	if p.Count > 0 {
		return nil, p.Err()
	}
	return p.root, nil
}

// maxKeys bounds the keys of one table. The library compares each with all before it.
const maxKeys = 10_000

// widest refuses tables that nobody wrote by hand.
func (p *tomlParser) widest(v *Value) {
	if n := len(v.Keys); n > maxKeys {
		p.Add(v.Origin, fmt.Sprintf("a table of %d keys, and at most %d can be read", n, maxKeys), "take out what is not needed")
	}
}

type tomlParser struct {
	Problems
	cursor
	src  unstable.Parser
	file Origin // the file, without a place in it
	root *Value
	// implicit are the tables that exist only as part of a longer header: one of their own
	// may follow. closed are { … } and [ … ], which no header and no dotted key may add to.
	implicit, closed map[*Value]bool
}

func (p *tomlParser) origin(offset int, key string) Origin {
	o := p.file
	o.Line, o.Column = p.position(offset)
	o.Key = key
	return o
}

// cursor turns offsets into lines and columns. It counts on from the last one that was asked for, since
// a file is read from its beginning to its end.
type cursor struct {
	data                 []byte
	offset, line, column int
}

func (c *cursor) position(offset int) (line, column int) {
	offset = min(offset, len(c.data))
	if offset < c.offset {
		c.offset, c.line, c.column = 0, 1, 1
	}
	passed := c.data[c.offset:offset]
	if lines := bytes.Count(passed, []byte("\n")); lines > 0 {
		c.line, c.column = c.line+lines, 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	c.offset, c.column = offset, c.column+utf8.RuneCount(passed)
	return c.line, c.column
}

func (p *tomlParser) syntax(err error) {
	var pe *unstable.ParserError
	offset := len(p.data)
	if errors.As(err, &pe) && len(pe.Highlight) > 0 {
		offset = int(p.src.Range(pe.Highlight).Offset)
	}
	p.Add(p.origin(offset, ""), "not valid TOML: "+Printable(err.Error()), syntaxHelp(p.data, offset, err.Error()))
}

// syntaxHelps says what to do about a message of the library: a line has a text of the message, a tab, and the remedy.
//
//go:embed syntax.txt
var syntaxHelps string

// syntaxHelp guesses at the mistakes people make most often.
func syntaxHelp(data []byte, offset int, message string) string {
	before, after := string(data[:min(offset, len(data))]), string(data[offset:])
	line := strings.TrimSpace(before[strings.LastIndexByte(before, '\n')+1:])
	switch {
	case offset == 0 && strings.HasPrefix(after, "\ufeff"):
		return "save the file without a byte order mark"
	case strings.HasPrefix(line, "[conversation.tools.") && strings.HasPrefix(after, "*"):
		return "write [conversation.tools.'*']"
	}
	for line := range strings.Lines(syntaxHelps) {
		if text, help, _ := strings.Cut(line, "\t"); strings.Contains(message, text) {
			return strings.TrimSpace(help)
		}
	}
	if !strings.HasSuffix(line, "=") {
		return "repair the line; https://toml.io/en/v1.0.0 has the syntax"
	}
	word, _, _ := strings.Cut(after, "\n")
	word, _, _ = strings.Cut(word, "#")
	switch strings.ToLower(strings.TrimSpace(word)) {
	case "true", "yes", "on":
		return "write true"
	case "false", "no", "off":
		return "write false"
	}
	return "write a value after the =; text needs quotes"
}

// secondReading lets the library judge what this parser accepted: it knows the finer rules
// of which table may be opened again.
func (p *tomlParser) secondReading() {
	var sink map[string]any
	err := toml.Unmarshal(p.data, &sink)
	if err == nil {
		return
	}
	var de *toml.DecodeError
	o := p.file
	if errors.As(err, &de) {
		o.Line, o.Column = de.Position()
	}
	p.Add(o, "not valid TOML: "+Printable(strings.TrimPrefix(err.Error(), "toml: ")), "repair the line")
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
		p.tooDeep(p.origin(parts[maxDepth-depth].offset, ""), what)
		return nil
	}
	return parts
}

func (p *tomlParser) tooDeep(origin Origin, what string) {
	p.Add(origin, fmt.Sprintf("%s are nested deeper than %d", what, maxDepth), "write fewer levels")
}

// header returns the table of [a.b], or a new item of [[a.b]]; nil after a problem.
func (p *tomlParser) header(n *unstable.Node) *Value {
	t, name, origin := p.enter(p.root, p.keyParts(n, 0), true)
	if t == nil {
		return nil
	}
	old := t.Fields[name]
	switch list := n.Kind == unstable.ArrayTable; {
	case old == nil && list:
		old = &Value{Kind: List, Origin: origin}
		t.Set(name, old)
		fallthrough
	case list && old.Kind == List && !p.closed[old]:
		item := NewTable(origin.Item(len(old.Items)))
		old.Items = append(old.Items, item)
		return item
	case old == nil:
		old = NewTable(origin)
		t.Set(name, old)
		return old
	case !list && p.implicit[old]:
		delete(p.implicit, old)
		old.Origin = origin
		return old
	}
	p.twice(origin, old)
	return nil
}

// keyValue stores `a.b = value` below t. depth counts the { and [ around it.
func (p *tomlParser) keyValue(t *Value, n *unstable.Node, depth int) {
	parts := p.keyParts(n, depth)
	t, name, origin := p.enter(t, parts, false)
	if t == nil {
		return
	}
	if old := t.Fields[name]; old != nil {
		p.twice(origin, old)
	} else if v := p.value(n.Value(), origin, depth+len(parts)-1); v != nil {
		t.Set(name, v)
	}
}

// enter goes from t through all parts of a key but the last, and makes the tables that are
// missing. It returns the last table with the name and the place of the last part. The table
// is nil after a problem.
func (p *tomlParser) enter(t *Value, parts []keyPart, implicit bool) (table *Value, name string, origin Origin) {
	for i, part := range parts {
		name, origin = part.name, p.origin(part.offset, t.Origin.Child(part.name).Key)
		if i == len(parts)-1 {
			return t, name, origin
		}
		next := t.Fields[name]
		switch {
		case next == nil:
			next = NewTable(origin)
			t.Set(name, next)
			p.implicit[next] = implicit
		case p.closed[next], next.Kind != Table && next.Kind != List:
			p.twice(origin, next)
			return nil, "", origin
		case next.Kind == List:
			next = next.Items[len(next.Items)-1] // of [[a]]
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
	p.Add(origin, fmt.Sprintf("set twice in this file, first at line %d", old.Origin.Line), help)
}

// value converts a node; nil after a problem.
func (p *tomlParser) value(n *unstable.Node, origin Origin, depth int) *Value {
	if depth >= maxDepth {
		p.tooDeep(origin, "values")
		return nil
	}
	v := &Value{Origin: origin}
	switch n.Kind {
	case unstable.String:
		v.Kind, v.Scalar = String, string(n.Data)
	case unstable.Bool:
		v.Kind, v.Scalar = Bool, string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		return p.number(v, n)
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		v.Kind, v.Scalar = DateTime, string(n.Data)
	case unstable.Array:
		v.Kind = List
		p.closed[v] = true
		for it := n.Children(); it.Next(); {
			c := it.Node()
			if c.Kind == unstable.Comment {
				continue
			}
			here := origin.Item(len(v.Items))
			if c.Raw.Length > 0 {
				here = p.origin(int(c.Raw.Offset), here.Key)
			}
			if item := p.value(c, here, depth+1); item != nil {
				v.Items = append(v.Items, item)
			}
		}
	case unstable.InlineTable:
		v = NewTable(origin)
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				p.keyValue(v, it.Node(), depth+1)
			}
		}
		p.closed[v] = true
	}
	return v
}

func (p *tomlParser) number(v *Value, n *unstable.Node) *Value {
	text, what := strings.ReplaceAll(string(n.Data), "_", ""), "integer"
	var err error
	if n.Kind == unstable.Integer {
		v.Kind = Integer
		v.Scalar, err = strconv.ParseInt(text, 0, 64)
	} else {
		v.Kind, what = Float, "float"
		v.Scalar, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		p.Add(v.Origin, "the "+what+" "+Show(string(n.Data))+" does not fit into 64 bits", "write a smaller one")
		return nil
	}
	return v
}

// ParseJSON reads the JSON of an argument or variable. All its nodes get the same origin, but
// for their keys. Duplicate keys and trailing text are errors, because readers differ in which
// of them counts.
func ParseJSON(text string, origin Origin) (v *Value, err error) {
	if err = strictjson.Check([]byte(text)); err == nil {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		v, err = jsonValue(dec, origin)
	}
	if err != nil {
		return nil, Fail(origin, "not valid JSON: "+Printable(err.Error()), "mind that the shell takes quotes away: put the whole argument into single quotes")
	}
	return v, nil
}

// jsonValue reads the next value of a text that was checked.
func jsonValue(dec *json.Decoder, origin Origin) (*Value, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	v := &Value{Origin: origin, Scalar: token}
	switch t := token.(type) {
	case bool:
		v.Kind = Bool
	case string:
		v.Kind = String
	case json.Number:
		v.Kind = Integer
		if v.Scalar, err = strconv.ParseInt(t.String(), 10, 64); err != nil {
			v.Kind = Float
			if v.Scalar, err = t.Float64(); err != nil {
				return nil, fmt.Errorf("the number %s does not fit", Show(t.String()))
			}
		}
	case json.Delim:
		v = NewTable(origin)
		if t == '[' {
			v = &Value{Kind: List, Origin: origin}
		}
		for dec.More() {
			here, key := origin.Item(len(v.Items)), ""
			if v.Kind == Table {
				name, err := dec.Token()
				if err != nil {
					return nil, err
				}
				key, _ = name.(string)
				here = origin.Child(key)
			}
			child, err := jsonValue(dec, here)
			if err != nil {
				return nil, err
			}
			if v.Kind == Table {
				v.Set(key, child)
			} else {
				v.Items = append(v.Items, child)
			}
		}
		_, err = dec.Token() // the } or ]
	}
	return v, err
}
