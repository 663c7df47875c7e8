package config

import (
	"runtime"
	"slices"
	"strings"
)

// envPrefix begins the variables that are configuration.
const envPrefix = "JP_CFG_"

// Lookup is the value of a variable in environ (KEY=VALUE), or "". Of several entries with one
// name the last counts, as for the tools; on Windows names are equal whatever their case.
func Lookup(environ []string, name string) string {
	return lookup(environ, name, runtime.GOOS == "windows")
}

func lookup(environ []string, name string, fold bool) string {
	for _, kv := range slices.Backward(environ) {
		if k, v, _ := strings.Cut(kv, "="); k == name || fold && strings.EqualFold(k, name) {
			return v
		}
	}
	return ""
}

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
			return asErrors(err)
		}
		key := headerName(parts)
		if other := setBy[key]; other != "" {
			origin.Key = key
			return Errors{{origin, "is set by " + other + " too", "unset one of them"}}
		}
		setBy[key] = name
		op, value := envValue(value)
		tree, err := assign(parts, op, value, origin)
		if err != nil {
			return asErrors(err)
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

// envKey finds the key that a variable's name stands for. With `__` in it, that separates
// the parts. Otherwise each `_` may separate or belong to a name, and the one reading
// that fits the schema and the names that lower layers use is taken; two are an error.
func envKey(name string, known *Value, origin Origin) ([]string, error) {
	r := envReader{}
	if strings.Contains(name, "__") {
		r.exact = true
		r.words = strings.Split(name, "__")
	} else {
		r.words = strings.Split(name, "_")
	}
	if len(r.words) > maxEnvWords {
		return nil, &Problem{origin, "the name has too many parts", "set such a key with --cfg, or in a file"}
	}
	if slices.Contains(r.words, "") {
		return nil, &Problem{origin, "the name has an empty part", "write " + envPrefix + "PART__PART"}
	}
	r.read(schema(), known, 0, nil)
	if len(r.found) == 0 {
		// Ids and options that nobody has set yet; tools must be known, because a name
		// that is split wrongly would make a new one.
		r.fresh = true
		r.read(schema(), known, 0, nil)
	}
	switch len(r.found) {
	case 1:
		return r.found[0], nil
	case 0:
		help := "write parts in full and separate them by two underscores, such as " + envPrefix + "CONVERSATION__TOOLS__NAME__RUN"
		if r.exact {
			help = unknownKey(strings.ToLower(r.words[min(r.depth, len(r.words)-1)]), r.expected)
		}
		return nil, &Problem{origin, "the name fits no key", help}
	}
	keys := make([]string, len(r.found))
	for i, parts := range r.found {
		keys[i] = headerName(parts)
	}
	return nil, &Problem{origin, "the name fits several keys: " + strings.Join(keys, ", "), "separate the parts by two underscores"}
}

type envReader struct {
	words []string
	exact bool // each word is a part
	fresh bool // names that nobody has used yet are taken
	found [][]string
	// depth is how far a reading came, expected what could have followed.
	depth    int
	expected []string
}

// maxEnvWords bounds how many ways there are to read a name.
const maxEnvWords = 24

// read tries every way to go on from word i at node n.
func (r *envReader) read(n *node, known *Value, i int, key []string) {
	if len(r.found) > 3 { // ambiguous enough for a message
		return
	}
	if i == len(r.words) {
		if i > 0 && !slices.ContainsFunc(r.found, func(k []string) bool { return slices.Equal(k, key) }) {
			r.found = append(r.found, slices.Clone(key))
		}
		return
	}
	t := n.alternative(Table)
	if t == nil {
		return
	}
	switch t.kind {
	case nodeTable:
		if i >= r.depth {
			r.depth, r.expected = i, t.keys()
		}
		for _, f := range t.fields {
			if j := r.match(f.key, i); j > 0 {
				r.read(f.node, known.Get(f.key), j, append(key, f.key))
			}
		}
	case nodeMap, nodeFree:
		elem := t
		if t.kind == nodeMap {
			elem = t.elem
		}
		r.names(elem, t.kind == nodeMap && t.keyCheck != nil, known, i, key)
	}
}

// names goes on at a map, whose keys are those in use or, in the second round, new ones.
func (r *envReader) names(elem *node, tools bool, known *Value, i int, key []string) {
	hit := false
	if known != nil && known.Kind == Table {
		for _, k := range known.keys {
			j := r.match(k, i)
			if j > 0 && (j == len(r.words) || known.fields[k].Kind == Table) {
				hit = true
				r.read(elem, known.fields[k], j, append(key, k))
			}
		}
	}
	if hit || r.exact && !r.fresh || !r.exact && (!r.fresh || tools) {
		return
	}
	last := len(r.words)
	if r.exact {
		last = i + 1
	}
	for j := last; j > i; j-- {
		switch {
		case r.exact:
		case elem.kind == nodeFree && j < last:
			return // one new key takes all words
		case elem.kind == nodeTable && j == len(r.words):
			continue // a new id alone sets nothing
		}
		name := strings.Join(r.words[i:j], "_")
		if strings.ToUpper(name) == name {
			name = strings.ToLower(name)
		}
		r.read(elem, nil, j, append(key, name))
	}
}

// match returns the index after the words that spell name, or 0.
func (r *envReader) match(name string, i int) int {
	n := 1
	if !r.exact {
		n = strings.Count(name, "_") + 1
	}
	if i+n > len(r.words) || !strings.EqualFold(strings.Join(r.words[i:i+n], "_"), name) {
		return 0
	}
	return i + n
}
