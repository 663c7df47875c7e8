package config

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

// value converts a node; nil after a problem.
func (p *tomlParser) value(n *unstable.Node, origin Origin, depth int) *Value {
	if depth >= maxDepth {
		p.problems.add(origin, fmt.Sprintf("values are nested deeper than %d", maxDepth), "write fewer levels")
		return nil
	}
	v := &Value{Origin: origin}
	switch n.Kind {
	case unstable.String:
		v.Kind, v.scalar = String, string(n.Data)
	case unstable.Bool:
		v.Kind, v.scalar = Bool, string(n.Data) == "true"
	case unstable.Integer, unstable.Float:
		return p.number(v, n)
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		v.Kind, v.scalar = DateTime, string(n.Data)
	case unstable.Array:
		v.Kind = List
		p.closed[v] = true
		for it := n.Children(); it.Next(); {
			c := it.Node()
			if c.Kind == unstable.Comment {
				continue
			}
			here := origin
			if c.Raw.Length > 0 {
				here = p.origin(int(c.Raw.Offset), "")
			}
			here.Key = origin.Key + "[" + strconv.Itoa(len(v.items)) + "]"
			if item := p.value(c, here, depth+1); item != nil {
				v.items = append(v.items, item)
			}
		}
	case unstable.InlineTable:
		t := newTable(origin)
		for it := n.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				p.keyValue(t, it.Node(), depth+1)
			}
		}
		p.closed[t] = true
		return t
	}
	return v
}

func (p *tomlParser) number(v *Value, n *unstable.Node) *Value {
	text, what := strings.ReplaceAll(string(n.Data), "_", ""), "integer"
	var err error
	if n.Kind == unstable.Integer {
		v.Kind = Integer
		v.scalar, err = strconv.ParseInt(text, 0, 64)
	} else {
		v.Kind, what = Float, "float"
		v.scalar, err = strconv.ParseFloat(text, 64)
	}
	if err != nil {
		p.problems.add(v.Origin, "the "+what+" "+show(string(n.Data))+" does not fit into 64 bits", "write a smaller one")
		return nil
	}
	return v
}

// lineIndex turns offsets into lines and columns without counting from the start.
type lineIndex struct {
	data   []byte
	starts []int
	// line, offset and column were asked for last: a long line is read from there on, not from its beginning again.
	line, offset, column int
}

func newLineIndex(data []byte) lineIndex {
	starts := []int{0}
	for i, c := range data {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return lineIndex{data: data, starts: starts}
}

func (x *lineIndex) position(offset int) (line, column int) {
	offset = min(offset, len(x.data))
	line = sort.SearchInts(x.starts, offset+1)
	from, before := x.starts[line-1], 1
	if line == x.line && offset >= x.offset {
		from, before = x.offset, x.column
	}
	x.line, x.offset, x.column = line, offset, before+utf8.RuneCount(x.data[from:offset])
	return line, x.column
}

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, s)
}
