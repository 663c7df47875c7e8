package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
)

// assignOp is how KEY and VALUE are joined (docs/config.md, "--cfg and JP_CFG_*").
type assignOp struct {
	json bool // the value is JSON
	add  bool // it joins what lower layers set
}

// argument adds the layer of one --cfg: a JSON object, an assignment, or a file, whose path must be
// written as one when it holds a `=`.
func (l *loader) argument(arg string) error {
	origin := settings.Origin{Layer: settings.LayerArgument, File: "--cfg " + settings.Shorten(arg, 80)}
	info := LayerInfo{Layer: settings.LayerArgument, Source: "--cfg " + arg}
	if !utf8.ValidString(arg) || strings.ContainsRune(arg, 0) {
		return settings.Fail(origin, "the argument is not valid UTF-8 text", "write it as UTF-8")
	}
	if strings.HasPrefix(strings.TrimSpace(arg), "{") {
		tree, err := settings.ParseJSON(arg, origin)
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
			return settings.Fail(origin, err.Error(), "set HOME, or write the path in full")
		}
		if _, err := l.FS.Stat(path); err == nil && arg != "" {
			return l.file(settings.LayerArgument, path, false)
		}
		return settings.Fail(origin, "no such file, and not KEY=VALUE either",
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
			return "", fmt.Errorf("~ is the home directory, and HOME is %s", settings.Show(home))
		}
		return filepath.Join(home, filepath.FromSlash(rest)), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	return filepath.Join(l.Cwd, path), nil
}

// assignment reads KEY=VALUE, KEY:=JSON, KEY+=VALUE or KEY:+=JSON.
func (l *loader) assignment(arg string, origin settings.Origin) (*settings.Value, error) {
	parts, rest, err := settings.ScanKey(arg)
	if err != nil || len(parts) == 0 {
		return nil, settings.Fail(origin, "the key cannot be read", "write KEY=VALUE with a key such as conversation.tools.NAME.run")
	}
	var op assignOp
	rest, op.json = strings.CutPrefix(rest, ":")
	rest, op.add = strings.CutPrefix(rest, "+")
	value, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return nil, settings.Fail(origin, "after the key "+settings.JoinKey(parts...)+" there is no =",
			"write KEY=VALUE, KEY:=JSON, KEY+=VALUE or KEY:+=JSON; quote parts of a key that hold other characters than letters, digits, _ and -")
	}
	return assign(parts, op, value, origin)
}

// assign makes a tree that sets one key.
func assign(parts []string, op assignOp, value string, origin settings.Origin) (*settings.Value, error) {
	origin.Key = settings.JoinKey(parts...)
	n, err := nodeAt(parts, origin)
	if err != nil {
		return nil, err
	}
	var v *settings.Value
	if op.json {
		v, err = settings.ParseJSON(value, origin)
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
	for i, part := range slices.Backward(parts) {
		origin.Key = settings.JoinKey(parts[:i]...)
		t := settings.NewTable(origin)
		t.Set(part, v)
		v = t
	}
	return v, nil
}

// nodeAt finds the schema of a key. Below a free value everything is free.
func nodeAt(parts []string, origin settings.Origin) (*node, error) {
	n := schema()
	for i, part := range parts {
		t := n.alternative(settings.Table)
		switch {
		case t != nil && t.kind == nodeFree:
			return t, nil
		case t != nil && t.kind == nodeMap:
			n = t.elem
		case t != nil && t.kind == nodeTable:
			f := t.field(part)
			if f == nil {
				origin.Key = settings.JoinKey(parts[:i+1]...)
				return nil, settings.Fail(origin, "unknown key", unknownKey(part, t.keys()))
			}
			n = f.node
		default:
			origin.Key = settings.JoinKey(parts[:i]...)
			return nil, settings.Fail(origin, "is "+n.describe()+" and has no keys", "set it as a whole")
		}
	}
	return n, nil
}

// fromText reads the VALUE of KEY=VALUE as what the key takes.
func fromText(n *node, s string, origin settings.Origin) (*settings.Value, error) {
	if !utf8.ValidString(s) {
		return nil, settings.Fail(origin, "the value is not valid UTF-8", "write it as UTF-8")
	}
	if n.takes(settings.Bool) && n.kind != nodeFree && (s == "true" || s == "false") {
		return &settings.Value{Kind: settings.Bool, Origin: origin, Scalar: s == "true"}, nil
	}
	if n.takes(settings.Integer) && n.kind != nodeFree {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return &settings.Value{Kind: settings.Integer, Origin: origin, Scalar: i}, nil
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && n.takes(settings.Float) {
			return &settings.Value{Kind: settings.Float, Origin: origin, Scalar: f}, nil
		}
	}
	word := &settings.Value{Kind: settings.String, Origin: origin, Scalar: s}
	switch {
	case n.takes(settings.String) || n.kind == nodeBool || n.kind == nodeInt || n.kind == nodeNumber || n.kind == nodeNever:
		return word, nil // of the wrong kind perhaps; the check says so
	case n.kind == nodeRules:
		item := settings.NewTable(origin.Item(0))
		word.Origin = item.Origin.Child(n.elem.required())
		item.Set(n.elem.required(), word)
		return &settings.Value{Kind: settings.List, Origin: origin, Items: []*settings.Value{item}}, nil
	case (n.kind == nodeList || n.kind == nodeAdded) && n.elem.takes(settings.String):
		word.Origin = origin.Item(0)
		return &settings.Value{Kind: settings.List, Origin: origin, Items: []*settings.Value{word}}, nil
	}
	return nil, settings.Fail(origin, "must be "+n.describe()+", not text", "write "+origin.Key+":=JSON")
}

// addTo makes v join what is there. Rules and tables do so anyway.
func addTo(n *node, v *settings.Value) error {
	switch {
	case v.Kind == settings.List && (n.kind == nodeList || n.kind == nodeFree):
		v.Merge = &settings.Merge{Strategy: "append"}
	case v.Kind == settings.List, v.Kind == settings.Table:
	default:
		return settings.Fail(v.Origin, "+= adds to lists and tables, and this is "+v.Kind.String(), "write = instead")
	}
	return nil
}
