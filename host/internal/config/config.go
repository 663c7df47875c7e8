// Package config reads the host's configuration: it merges the layers of docs/config.md
// into one typed [Config] in which every value knows who wrote it, where.
//
// The way of a value: a file, variable or argument becomes a tree of [settings.Value] with an
// [settings.Origin] at each node; the schema (tagged structs in keys.go) checks the tree
// strictly and says how each key merges; the merged tree is decoded into [Tool] and
// [Sandbox]. The same schema writes docs/config.md and the JSON Schema for editors.
//
// Nothing here is lenient: a file that cannot be read or parsed, an unknown key, or a
// value of the wrong type is an error that names file, line, column, key and remedy, and
// never an empty layer, because a missing layer may be a missing restriction. All
// problems of a layer are reported at once.
//
// What it does not do: it resolves no path of a rule, so a link that leads elsewhere is
// found by the policy compiler; and it trusts no one less than another. Who may widen
// what is decided by the caller from [Config.History].
package config

import (
	"cmp"
	"slices"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/nearest"
)

// Config is the merged configuration. It is immutable and safe for concurrent use.
type Config struct {
	tools   []*Tool
	sandbox Sandbox
	undo    Undo
	merged  *settings.Value
	layers  []LayerInfo
}

// Tools lists all tools by name, those too that are off.
func (c *Config) Tools() []*Tool { return slices.Clone(c.tools) }

// Tool finds a tool by the name that the model uses.
func (c *Config) Tool(name string) (*Tool, bool) {
	for _, t := range c.tools {
		if t.Name == name {
			return t, true
		}
	}
	return nil, false
}

// Nearest is the name of the tool that was probably meant, or "".
func (c *Config) Nearest(name string) string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Name
	}
	return nearest.Name(name, names)
}

// Sandbox returns the settings of the sandbox.
func (c *Config) Sandbox() Sandbox { return c.sandbox }

// Undo returns what is kept of files that tools change.
func (c *Config) Undo() Undo { return c.undo }

// BuiltIn reports whether the command of the tool is the one that comes with the host, so that what it says of its calls
// can be believed: which paths they change, what its questions mean, what it wrote.
func (t *Tool) BuiltIn() bool {
	return t.Command != nil && t.Command.Origin.Layer == settings.LayerDefault
}

// Origin says where a key of the tool was set, such as "run" or "access.fs"; for a key
// that only the defaults set, where they do. It is zero for a key that nobody set.
func (t *Tool) Origin(key string) settings.Origin {
	parts, err := settings.SplitKey(key)
	if err != nil {
		return settings.Origin{}
	}
	if v := cmp.Or(t.tree.At(parts...), t.defaults.At(parts...)); v != nil {
		return v.Origin
	}
	return settings.Origin{}
}

// Overridden is what a higher layer sets of a key for all tools ('*'), and what the tool sets otherwise: that
// is what holds, however high the other stands. Both are nil where there is no such thing.
func (t *Tool) Overridden(key string) (all, own *settings.Value) {
	all, own = t.defaults.Get(key), t.tree.Get(key)
	if all == nil || own == nil || all.Origin.Layer <= own.Origin.Layer || all.Equal(own) {
		return nil, nil
	}
	return all, own
}

// Policy returns the declared policy in the form of the library, each rule with its
// Origin. A list that was declared without rules becomes a rule that denies all,
// because an empty list means unrestricted there. Of types that are not declared
// nothing is said: their defaults are the policy compiler's. A nil Access gives nil.
func (a *Access) Policy() *jptool.AccessPolicy {
	if a == nil {
		return nil
	}
	p := &jptool.AccessPolicy{}
	for _, r := range a.FS {
		p.FS = append(p.FS, r.FsRule)
	}
	for _, r := range a.Net {
		p.Net = append(p.Net, r.NetRule)
	}
	for _, r := range a.Env {
		p.Env = append(p.Env, r.EnvRule)
	}
	where := a.Origin.String()
	if a.FS != nil && len(a.FS) == 0 {
		p.FS = []jptool.FsRule{{Path: "", Origin: where}}
	}
	if a.Net != nil && len(a.Net) == 0 {
		p.Net = []jptool.NetRule{{Host: "*", Origin: where}}
	}
	if a.Env != nil && len(a.Env) == 0 {
		p.Env = []jptool.EnvRule{{Name: "*", Origin: where}}
	}
	if a.Commands != nil {
		p.Commands = make(map[string]jptool.CommandRule, len(a.Commands))
		for name, r := range a.Commands {
			p.Commands[name] = r.CommandRule
		}
	}
	return p
}
