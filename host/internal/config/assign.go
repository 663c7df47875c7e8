package config

import (
	"cmp"
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
	switch isList := v.Kind == settings.List; {
	case !op.add:
	case isList && (n.kind == nodeList || n.kind == nodeFree):
		v.Merge = &settings.Merge{Strategy: "append"}
	case !isList && v.Kind != settings.Table: // rules and tables join what is there anyway
		return nil, settings.Fail(v.Origin, "+= adds to lists and tables, and this is "+v.Kind.String(), "write = instead")
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

// envPrefix begins the variables that are configuration.
const envPrefix = "JP_CFG_"

// environment adds one layer for each JP_CFG_ variable, in the order of their names.
func (l *loader) environment() error {
	known := l.merged // names do not depend on each other's values
	setBy := map[string]string{}
	for _, kv := range slices.Compact(slices.Sorted(slices.Values(l.Environ))) {
		name, value, ok := strings.Cut(kv, "=")
		if !ok || !strings.HasPrefix(name, envPrefix) {
			continue
		}
		origin := settings.Origin{Layer: settings.LayerEnv, File: name}
		parts, err := envKey(strings.TrimPrefix(name, envPrefix), known, origin)
		if err != nil {
			return err
		}
		key := settings.JoinKey(parts...)
		if other := setBy[key]; other != "" {
			origin.Key = key
			return settings.Fail(origin, "is set by "+other+" too", "unset one of them")
		}
		setBy[key] = name
		op, value := envValue(value)
		tree, err := assign(parts, op, value, origin)
		if err != nil {
			return err
		}
		if err := l.add(LayerInfo{Layer: settings.LayerEnv, Source: name}, tree); err != nil {
			return err
		}
	}
	return nil
}

// envValue takes the prefixes off a value: `:` for JSON, `+` for joining, both in
// either order; a backslash keeps a first `:` or `+` as text.
func envValue(s string) (op assignOp, value string) {
	if rest, ok := strings.CutPrefix(s, `\`); ok && strings.IndexAny(rest, ":+") == 0 {
		return op, rest
	}
	for range 2 {
		if rest, ok := strings.CutPrefix(s, ":"); ok && !op.json {
			op.json, s = true, rest
		} else if rest, ok := strings.CutPrefix(s, "+"); ok && !op.add {
			op.add, s = true, rest
		}
	}
	return op, s
}

// maxEnvWords bounds how many ways there are to read a name.
const maxEnvWords = 24

// envKey finds the key that a variable's name stands for. With `__` in it, that separates
// the parts. Otherwise each `_` may separate or belong to a name, and the one reading
// that fits the schema and the names that lower layers use is taken; two are an error.
func envKey(name string, known *settings.Value, origin settings.Origin) ([]string, error) {
	r := envReader{separator: "_", exact: strings.Contains(name, "__")}
	if r.exact {
		r.separator = "__"
	}
	words := strings.Split(name, r.separator)
	switch {
	case len(words) > maxEnvWords:
		return nil, settings.Fail(origin, "the name has too many parts", "set such a key with --cfg, or in a file")
	case slices.Contains(words, ""):
		return nil, settings.Fail(origin, "the name has an empty part", "write "+envPrefix+"PART__PART")
	}
	r.read(schema(), known, name, nil)
	if len(r.found) == 0 {
		r.fresh = true
		r.read(schema(), known, name, nil)
	}
	switch len(r.found) {
	case 1:
		return r.found[0], nil
	case 0:
		help := "write parts in full and separate them by two underscores, such as " + envPrefix + "CONVERSATION__TOOLS__NAME__RUN"
		if r.exact {
			help = unknownKey(strings.ToLower(words[min(r.depth, len(words)-1)]), r.expected)
		}
		return nil, settings.Fail(origin, "the name fits no key", help)
	}
	keys := make([]string, len(r.found))
	for i, parts := range r.found {
		keys[i] = settings.JoinKey(parts...)
	}
	return nil, settings.Fail(origin, "the name fits several keys: "+strings.Join(keys, ", "),
		"separate the parts by two underscores")
}

// envReader collects the keys that a name can stand for.
type envReader struct {
	separator string
	// exact says that separators are unambiguous.
	exact bool
	// fresh accepts ids and options that nobody has set yet.
	fresh bool
	found [][]string
	// depth is the number of parts of the longest beginning that fits, expected what could
	// follow it.
	depth    int
	expected []string
}

// read tries every way to read the rest of a name from node n on; key is what was read before.
func (r *envReader) read(n *node, known *settings.Value, rest string, key []string) {
	if rest == "" {
		if !slices.ContainsFunc(r.found, func(k []string) bool { return slices.Equal(k, key) }) {
			r.found = append(r.found, slices.Clone(key))
		}
		return
	}
	t := n.alternative(settings.Table)
	if t == nil || len(r.found) > 3 { // that many are enough for a message
		return
	}
	if t.kind == nodeTable {
		if len(key) >= r.depth {
			r.depth, r.expected = len(key), t.keys()
		}
		for _, f := range t.fields {
			if after, ok := r.cut(rest, f.key); ok {
				r.read(f.node, known.Get(f.key), after, append(key, f.key))
			}
		}
		return
	}
	elem := t
	if t.kind == nodeMap {
		elem = t.elem
	}
	fits := false
	for _, k := range cmp.Or(known, &settings.Value{}).Keys {
		child := known.Fields[k]
		if after, ok := r.cut(rest, k); ok && (after == "" || child.Kind == settings.Table) {
			fits = true
			r.read(elem, child, after, append(key, k))
		}
	}
	// A tool must be known if separators are ambiguous: a name that is split in the wrong
	// place would make a new one.
	if fits || !r.fresh || !r.exact && t.keyCheck != nil {
		return
	}
	// A name that no layer uses goes up to the next separator if that is unambiguous, else up to any.
	for end := len(rest); end > 0; end = strings.LastIndex(rest[:end], r.separator) {
		name, after := rest[:end], strings.TrimPrefix(rest[end:], r.separator)
		switch {
		case r.exact && strings.Contains(name, r.separator):
			continue
		case !r.exact && elem.kind == nodeFree && after != "":
			return // an option takes the whole rest
		case !r.exact && elem.kind == nodeTable && after == "":
			continue // an id alone sets nothing
		}
		if strings.ToUpper(name) == name {
			name = strings.ToLower(name)
		}
		r.read(elem, nil, after, append(key, name))
	}
}

// cut takes a name and the separator after it off the rest.
func (r *envReader) cut(rest, name string) (after string, ok bool) {
	if len(rest) < len(name) || !strings.EqualFold(rest[:len(name)], name) {
		return "", false
	}
	after = rest[len(name):]
	if after == "" {
		return "", true
	}
	return strings.CutPrefix(after, r.separator)
}
