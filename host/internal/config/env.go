package config

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
)

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
