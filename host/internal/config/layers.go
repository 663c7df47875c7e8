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

// Rendering says how [Config.Render] shows a configuration.
type Rendering struct {
	JSON bool
	// Origins says where each value is from: as a comment in TOML. JSON is a list of {key, value, layer, origin} then,
	// one for each setting and each rule.
	Origins bool
	// All also shows what only the built-in layer says.
	All bool
}

// Render is the effective configuration. Lists are shown merged and without their strategies, so that what TOML
// shows can be read back as one layer.
func (c *Config) Render(r Rendering) ([]byte, error) {
	shown := c.merged
	if !r.All {
		shown = written(shown)
	}
	switch {
	case !r.JSON:
		return shown.TOML(r.Origins), nil
	case r.Origins:
		type setting struct {
			Key    string `json:"key"`
			Value  any    `json:"value"`
			Layer  string `json:"layer"`
			Origin string `json:"origin"`
		}
		list := []setting{}
		for _, s := range c.Effective() {
			if !r.All && s.Origin.Layer == settings.LayerDefault {
				continue
			}
			list = append(list, setting{s.Key, s.Value.Any(), s.Origin.Layer.String(), s.Origin.String()})
		}
		return strictjson.Marshal(list, "  ")
	}
	return strictjson.Marshal(shown.Any(), "  ")
}

// Written reports whether any layer but the built-in one says anything.
func (c *Config) Written() bool { return len(written(c.merged).Keys) > 0 }

// written is what of a table is not from the built-in layer alone. A list is shown whole.
func written(table *settings.Value) *settings.Value {
	out := settings.NewTable(table.Origin)
	for _, key := range table.Keys {
		v := table.Fields[key]
		own := v.Origin.Layer != settings.LayerDefault ||
			slices.ContainsFunc(v.Items, func(item *settings.Value) bool { return item.Origin.Layer != settings.LayerDefault })
		if v.Kind == settings.Table {
			below := written(v)
			if own = own && len(v.Keys) == 0 || len(below.Keys) > 0; own {
				v = below
			}
		}
		if own {
			out.Set(key, v)
		}
	}
	return out
}
