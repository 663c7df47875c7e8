package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/jptool"
)

// assignOp is how KEY and VALUE are joined (docs/config.md, "--cfg and JP_CFG_*").
type assignOp struct {
	json bool // the value is JSON
	add  bool // it joins what lower layers set
}

// SplitKey splits a key in TOML's notation, without the index of an item; a bare * is a part
// too. The error says where it cannot be read.
func SplitKey(s string) ([]string, error) {
	parts, rest, err := scanKey(s)
	if err == nil && rest != "" {
		err = fmt.Errorf("the key %s cannot be read at %s", show(s), show(rest))
	}
	return parts, err
}

var bareOrStar = regexp.MustCompile(`^[A-Za-z0-9_*-]+`)

// scanKey reads a key up to the first character that cannot belong to it.
func scanKey(s string) (parts []string, rest string, err error) {
	for s != "" {
		var part string
		switch s[0] {
		case '\'':
			end := strings.IndexByte(s[1:], '\'')
			if end < 0 {
				return nil, s, errors.New("a quote in the key is never closed")
			}
			part, s = s[1:1+end], s[end+2:]
		case '"':
			quoted, err := strconv.QuotedPrefix(s)
			if err != nil {
				return nil, s, errors.New("a quote in the key is never closed")
			}
			part, _ = strconv.Unquote(quoted)
			s = s[len(quoted):]
		default:
			part = bareOrStar.FindString(s)
			if part == "" {
				return nil, s, errors.New("the key has an empty part")
			}
			s = s[len(part):]
		}
		parts = append(parts, part)
		next, more := strings.CutPrefix(s, ".")
		if !more {
			return parts, s, nil
		}
		s = next
		if s == "" {
			return nil, s, errors.New("the key has an empty part")
		}
	}
	return parts, "", nil
}

// argument adds the layer of one --cfg: a JSON object, an assignment, or a file, whose path must be
// written as one when it holds a `=`.
func (l *loader) argument(arg string) error {
	origin := Origin{Layer: LayerArgument, File: "--cfg " + shorten(arg, 80)}
	info := LayerInfo{Layer: LayerArgument, Source: "--cfg " + arg}
	if !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
		return fail(origin, "the argument is not valid UTF-8 text", "write it as UTF-8")
	}
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		tree, err := parseJSON(arg, origin)
		if err != nil {
			return err
		}
		return l.add(info, tree)
	}
	// What can be an assignment never names a file: whoever may write in the working directory
	// could otherwise put a file in the place of a setting.
	if !strings.Contains(arg, "=") || isPath(arg) {
		path, err := l.absolute(arg)
		if err != nil {
			return fail(origin, err.Error(), "set HOME, or write the path in full")
		}
		if _, err := l.FS.Stat(path); err == nil && arg != "" {
			return l.file(LayerArgument, path, false)
		}
		return fail(origin, "no such file, and not KEY=VALUE either",
			"name an existing file, or write KEY=VALUE, KEY:=JSON or a JSON object")
	}
	tree, err := l.assignment(arg, origin)
	if err != nil {
		return err
	}
	return l.add(info, tree)
}

// isPath reports whether an argument is written as a path, which no key of an assignment can
// be: absolute, or beginning with ./, ../ or ~/.
func isPath(arg string) bool {
	start, _, _ := strings.Cut(filepath.ToSlash(arg), "/")
	return start != arg && slices.Contains([]string{".", "..", "~"}, start) || filepath.IsAbs(arg)
}

// absolute resolves an argument's path against the working directory. `~/` is the home
// directory: shells leave it alone in `--cfg=~/…` and within quotes.
func (l *loader) absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok {
		home := jptool.LookupEnv(l.Environ, "HOME")
		if !filepath.IsAbs(home) {
			return "", fmt.Errorf("~ is the home directory, and HOME is %s", show(home))
		}
		return filepath.Join(home, filepath.FromSlash(rest)), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(l.Cwd, path), nil
}

// assignment reads KEY=VALUE, KEY:=JSON, KEY+=VALUE or KEY:+=JSON.
func (l *loader) assignment(arg string, origin Origin) (*Value, error) {
	parts, rest, err := scanKey(arg)
	if err != nil || len(parts) == 0 {
		return nil, fail(origin, "the key cannot be read", "write KEY=VALUE with a key such as conversation.tools.NAME.run")
	}
	var op assignOp
	rest, op.json = strings.CutPrefix(rest, ":")
	rest, op.add = strings.CutPrefix(rest, "+")
	value, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return nil, fail(origin, "after the key "+JoinKey(parts...)+" there is no =",
			"write KEY=VALUE, KEY:=JSON, KEY+=VALUE or KEY:+=JSON; quote parts of a key that hold other characters than letters, digits, _ and -")
	}
	return assign(parts, op, value, origin)
}

// assign makes a tree that sets one key.
func assign(parts []string, op assignOp, value string, origin Origin) (*Value, error) {
	origin.Key = JoinKey(parts...)
	n, err := nodeAt(parts, origin)
	if err != nil {
		return nil, err
	}
	var v *Value
	if op.json {
		v, err = parseJSON(value, origin)
	} else {
		v, err = fromText(n, value, origin)
	}
	if err != nil {
		return nil, err
	}
	if op.add {
		if err := addTo(n, v); err != nil {
			return nil, err
		}
	}
	root := newTable(Origin{Layer: origin.Layer, File: origin.File})
	t := root
	for i, part := range parts[:len(parts)-1] {
		here := origin
		here.Key = JoinKey(parts[:i+1]...)
		next := newTable(here)
		t.set(part, next)
		t = next
	}
	t.set(parts[len(parts)-1], v)
	return root, nil
}

// nodeAt finds the schema of a key. Below a free value everything is free.
func nodeAt(parts []string, origin Origin) (*node, error) {
	n := schema()
	for i, part := range parts {
		t := n.alternative(Table)
		switch {
		case t != nil && t.kind == nodeFree:
			return t, nil
		case t != nil && t.kind == nodeMap:
			n = t.elem
		case t != nil && t.kind == nodeTable:
			f := t.field(part)
			if f == nil {
				origin.Key = JoinKey(parts[:i+1]...)
				return nil, fail(origin, "unknown key", unknownKey(part, t.keys()))
			}
			n = f.node
		default:
			origin.Key = JoinKey(parts[:i]...)
			return nil, fail(origin, "is "+n.describe()+" and has no keys", "set it as a whole")
		}
	}
	return n, nil
}

// fromText reads the VALUE of KEY=VALUE as what the key takes.
func fromText(n *node, s string, origin Origin) (*Value, error) {
	if !utf8.ValidString(s) {
		return nil, fail(origin, "the value is not valid UTF-8", "write it as UTF-8")
	}
	if n.takes(Bool) && n.kind != nodeFree && (s == "true" || s == "false") {
		return &Value{Kind: Bool, Origin: origin, scalar: s == "true"}, nil
	}
	if n.takes(Integer) && n.kind != nodeFree {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return &Value{Kind: Integer, Origin: origin, scalar: i}, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && n.takes(Float) {
			return &Value{Kind: Float, Origin: origin, scalar: f}, nil
		}
	}
	word := &Value{Kind: String, Origin: origin, scalar: s}
	switch {
	case n.takes(String) || n.kind == nodeBool || n.kind == nodeInt || n.kind == nodeNumber || n.kind == nodeNever:
		return word, nil // of the wrong kind perhaps; the check says so
	case n.kind == nodeRules:
		item := newTable(origin)
		item.Origin.Key += "[0]"
		word.Origin.Key = joinKey(item.Origin.Key, n.elem.required())
		item.set(n.elem.required(), word)
		return &Value{Kind: List, Origin: origin, items: []*Value{item}}, nil
	case (n.kind == nodeList || n.kind == nodeAdded) && n.elem.takes(String):
		word.Origin.Key += "[0]"
		return &Value{Kind: List, Origin: origin, items: []*Value{word}}, nil
	}
	return nil, fail(origin, "must be "+n.describe()+", not text", "write "+origin.Key+":=JSON")
}

// addTo makes v join what is there. Rules and tables do so anyway.
func addTo(n *node, v *Value) error {
	switch {
	case v.Kind == List && (n.kind == nodeList || n.kind == nodeFree):
		v.how = &howto{strategy: "append"}
	case v.Kind == List, v.Kind == Table:
	default:
		return fail(v.Origin, "+= adds to lists and tables, and this is "+v.Kind.String(), "write = instead")
	}
	return nil
}
