package config

import (
	"slices"
	"strings"
)

// State is what became of a layer.
type State uint8

// The states of a layer.
const (
	Loaded  State = iota
	Absent        // there is no such file
	Skipped       // a lower layer says inherit = false
)

// String returns a word for people and for JSON output.
func (s State) String() string { return [...]string{"loaded", "absent", "skipped"}[s] }

// LayerInfo is one layer as it was found.
type LayerInfo struct {
	Layer Layer
	// Source is the file, variable or flag.
	Source string
	// File is the absolute path of the file, "" for a layer that comes from none.
	File  string
	State State
	// Skipper is the place of the `inherit = false` that kept a skipped layer out.
	Skipper Origin

	tree *Value // checked and normalised
}

// Setting is one value that one layer wrote.
type Setting struct {
	// Key is the full key; one rule of a list has its index within its layer.
	Key    string
	Value  *Value
	Origin Origin
	// Effective reports whether the value is still part of the merged result. What says
	// how to merge (strategy, dedup, inherit) always counts as effective: its effect
	// may be what is missing from the result.
	Effective bool
}

// Layers lists all layers low to high, those too that are absent or skipped.
func (c *Config) Layers() []LayerInfo { return slices.Clone(c.layers) }

// Effective lists what is in force, in the order of the merged tree: each scalar, each
// list, and each item of a list of rules on its own.
func (c *Config) Effective() []Setting { return settings(c.merged, nil) }

// History lists every setting of a key or below it in any layer, low to high and in the order
// of the files, so that the last effective one is what holds. Values that a higher layer replaced
// are in the list, with Effective false. The key is in TOML's notation, "" for all; the error
// says that it is none, or that there is no such key.
func (c *Config) History(key string) ([]Setting, error) {
	parts, err := SplitKey(key)
	if err != nil {
		return nil, err
	}
	want := JoinKey(parts...)
	var out []Setting
	used := c.inForce()
	for _, layer := range c.layers {
		if layer.tree == nil {
			continue
		}
		for _, s := range settings(layer.tree, used) {
			rest, below := strings.CutPrefix(s.Key, want)
			if below && (rest == "" || rest[0] == '.' || rest[0] == '[') || want == "" {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		_, err = nodeAt(parts, Origin{})
	}
	return out, err
}

// inForce is the set of values in the merged tree; merging shares them with their layer.
func (c *Config) inForce() map[*Value]bool {
	used := map[*Value]bool{}
	var walk func(v *Value)
	walk = func(v *Value) {
		used[v] = true
		for _, item := range v.items {
			walk(item)
		}
		for _, f := range v.fields {
			walk(f)
		}
	}
	walk(c.merged)
	return used
}

// settings flattens a tree; with nil, everything counts as used.
func settings(root *Value, used map[*Value]bool) []Setting {
	var out []Setting
	add := func(v *Value, effective bool) {
		out = append(out, Setting{v.Origin.Key, v, v.Origin, used == nil || effective})
	}
	var walk func(v *Value)
	walk = func(v *Value) {
		if v.how != nil {
			for _, note := range v.how.notes {
				add(note, true)
			}
		}
		switch {
		case v.Kind == Table:
			for _, k := range v.keys {
				walk(v.fields[k])
			}
			if len(v.keys) == 0 && v != root {
				add(v, true)
			}
		case v.rules && len(v.items) > 0:
			for _, item := range v.items {
				add(item, used[item])
			}
		default:
			// An empty list of rules, and what takes a value away, leave no value behind.
			effective := used[v] || v.Origin.Key == "inherit" || v.Kind == Null || v.rules
			for _, item := range v.items {
				effective = effective || used[item]
			}
			add(v, effective)
		}
	}
	walk(root)
	return out
}
