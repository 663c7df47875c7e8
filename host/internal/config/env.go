package config

import (
	"slices"
	"strings"
)

// envPrefix begins the variables that are configuration.
const envPrefix = "JP_CFG_"

// environment adds one layer for each JP_CFG_ variable, in the order of their names.
func (l *loader) environment() error {
	var vars []string
	for _, kv := range l.Environ {
		if strings.HasPrefix(kv, envPrefix) && strings.Contains(kv, "=") {
			vars = append(vars, kv)
		}
	}
	slices.Sort(vars)
	known := l.merged // names do not depend on each other's values
	setBy := map[string]string{}
	for _, kv := range slices.Compact(vars) {
		name, value, _ := strings.Cut(kv, "=")
		origin := Origin{Layer: LayerEnv, File: name}
		parts, err := envKey(strings.TrimPrefix(name, envPrefix), known, origin)
		if err != nil {
			return err
		}
		key := JoinKey(parts...)
		if other := setBy[key]; other != "" {
			origin.Key = key
			return fail(origin, "is set by "+other+" too", "unset one of them")
		}
		setBy[key] = name
		op, value := envValue(value)
		tree, err := assign(parts, op, value, origin)
		if err != nil {
			return err
		}
		if err := l.add(LayerInfo{Layer: LayerEnv, Source: name}, tree); err != nil {
			return err
		}
	}
	return nil
}

// envValue takes the prefixes off a value: `:` for JSON, `+` for joining, both in
// either order; a backslash keeps a first `:` or `+` as text.
func envValue(s string) (assignOp, string) {
	var op assignOp
	if rest, ok := strings.CutPrefix(s, `\`); ok && rest != "" && (rest[0] == ':' || rest[0] == '+') {
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
func envKey(name string, known *Value, origin Origin) ([]string, error) {
	r := envReader{separator: "_"}
	if strings.Contains(name, "__") {
		r.separator = "__"
	}
	words := strings.Split(name, r.separator)
	if len(words) > maxEnvWords {
		return nil, fail(origin, "the name has too many parts", "set such a key with --cfg, or in a file")
	}
	if slices.Contains(words, "") {
		return nil, fail(origin, "the name has an empty part", "write "+envPrefix+"PART__PART")
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
		if r.exact() {
			help = unknownKey(strings.ToLower(words[min(r.depth, len(words)-1)]), r.expected)
		}
		return nil, fail(origin, "the name fits no key", help)
	}
	keys := make([]string, len(r.found))
	for i, parts := range r.found {
		keys[i] = JoinKey(parts...)
	}
	return nil, fail(origin, "the name fits several keys: "+strings.Join(keys, ", "),
		"separate the parts by two underscores")
}

// envReader collects the keys that a name can stand for.
type envReader struct {
	separator string
	// fresh accepts ids and options that nobody has set yet.
	fresh bool
	found [][]string
	// depth is the number of parts of the longest beginning that fits, expected what could
	// follow it.
	depth    int
	expected []string
}

// exact reports whether separators are unambiguous.
func (r *envReader) exact() bool { return r.separator == "__" }

// read tries every way to read the rest of a name from node n on; key is what was read before.
func (r *envReader) read(n *node, known *Value, rest string, key []string) {
	if rest == "" {
		if !slices.ContainsFunc(r.found, func(k []string) bool { return slices.Equal(k, key) }) {
			r.found = append(r.found, slices.Clone(key))
		}
		return
	}
	t := n.alternative(Table)
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
	for _, k := range known.Keys() {
		child := known.Get(k)
		if after, ok := r.cut(rest, k); ok && (after == "" || child.Kind == Table) {
			fits = true
			r.read(elem, child, after, append(key, k))
		}
	}
	// A tool must be known if separators are ambiguous: a name that is split in the wrong
	// place would make a new one.
	if tools := t.keyCheck != nil; !fits && r.fresh && (r.exact() || !tools) {
		r.newName(elem, rest, key)
	}
}

// newName reads a name that no layer uses from the rest: up to the next separator if that is
// unambiguous, else up to any.
func (r *envReader) newName(elem *node, rest string, key []string) {
	for end := len(rest); end > 0; end = strings.LastIndex(rest[:end], r.separator) {
		name, after := rest[:end], strings.TrimPrefix(rest[end:], r.separator)
		switch {
		case r.exact() && strings.Contains(name, r.separator):
			continue
		case !r.exact() && elem.kind == nodeFree && after != "":
			return // an option takes the whole rest
		case !r.exact() && elem.kind == nodeTable && after == "":
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
