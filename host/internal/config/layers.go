package config

import (
	"slices"
	"strings"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool/strictjson"
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
	Layer settings.Layer
	// Source is the file, variable or flag.
	Source string
	// File is the absolute path of the file, "" for a layer that comes from none.
	File  string
	State State
	// Skipper is the place of the `inherit = false` that kept a skipped layer out.
	Skipper settings.Origin

	tree *settings.Value // checked and normalised
}

// Setting is one value that one layer wrote.
type Setting struct {
	// Key is the full key; one rule of a list has its index within its layer.
	Key    string
	Value  *settings.Value
	Origin settings.Origin
	// Effective reports whether the value is still part of the merged result. What says
	// how to merge (strategy, dedup, inherit) always counts as effective: its effect
	// may be what is missing from the result.
	Effective bool
}

// Layers lists all layers low to high, those too that are absent or skipped.
func (c *Config) Layers() []LayerInfo { return slices.Clone(c.layers) }

// Effective lists what is in force, in the order of the merged tree: each scalar, each
// list, and each item of a list of rules on its own.
func (c *Config) Effective() []Setting { return flatten(c.merged, nil) }

// History lists every setting of a key or below it in any layer, low to high and in the order
// of the files, so that the last effective one is what holds. Values that a higher layer replaced
// are in the list, with Effective false. The key is in TOML's notation, "" for all; the error
// says that it is none, or that there is no such key.
func (c *Config) History(key string) ([]Setting, error) {
	parts, err := settings.SplitKey(key)
	if err != nil {
		return nil, err
	}
	want := settings.JoinKey(parts...)
	var out []Setting
	used := map[*settings.Value]bool{} // the merged tree shares its values with their layers
	c.merged.Walk(func(v *settings.Value) { used[v] = true })
	for _, layer := range c.layers {
		if layer.tree == nil {
			continue
		}
		for _, s := range flatten(layer.tree, used) {
			rest, below := strings.CutPrefix(s.Key, want)
			if below && (rest == "" || rest[0] == '.' || rest[0] == '[') || want == "" {
				out = append(out, s)
			}
		}
	}
	if len(out) == 0 {
		_, err = nodeAt(parts, settings.Origin{})
	}
	return out, err
}

// flatten flattens a tree; with nil, everything counts as used.
func flatten(root *settings.Value, used map[*settings.Value]bool) []Setting {
	var out []Setting
	add := func(v *settings.Value, effective bool) {
		out = append(out, Setting{v.Origin.Key, v, v.Origin, used == nil || effective})
	}
	var walk func(v *settings.Value)
	walk = func(v *settings.Value) {
		if v.Merge != nil {
			for _, note := range v.Merge.Notes {
				add(note, true)
			}
		}
		switch {
		case v.Kind == settings.Table:
			for _, k := range v.Keys {
				walk(v.Fields[k])
			}
			if len(v.Keys) == 0 && v != root {
				add(v, true)
			}
		case v.Rules && len(v.Items) > 0:
			for _, item := range v.Items {
				add(item, used[item])
			}
		default:
			// An empty list of rules, and what takes a value away, leave no value behind.
			add(v, used[v] || v.Origin.Key == "inherit" || v.Kind == settings.Null || v.Rules ||
				slices.ContainsFunc(v.Items, func(item *settings.Value) bool { return used[item] }))
		}
	}
	walk(root)
	return out
}

// Render is the effective configuration as TOML or JSON. With origins, TOML has a comment at
// each value, and JSON is a list of {key, value, layer, origin}, one for each setting and
// each rule. Lists are shown merged and without their strategies, so that what TOML
// shows can be read back as one layer.
func (c *Config) Render(asJSON, origins bool) ([]byte, error) {
	switch {
	case !asJSON:
		return c.merged.TOML(origins), nil
	case origins:
		type setting struct {
			Key    string `json:"key"`
			Value  any    `json:"value"`
			Layer  string `json:"layer"`
			Origin string `json:"origin"`
		}
		list := []setting{}
		for _, s := range c.Effective() {
			list = append(list, setting{s.Key, s.Value.Any(), s.Origin.Layer.String(), s.Origin.String()})
		}
		return strictjson.Marshal(list, "  ")
	}
	return strictjson.Marshal(c.merged.Any(), "  ")
}
