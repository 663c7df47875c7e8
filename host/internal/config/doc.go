// Package config reads the host's configuration: it merges the layers of docs/config.md
// into one typed [Config] in which every value knows who wrote it, where.
//
// The way of a value: a file, variable or argument becomes a tree of [Value] with an
// [Origin] at each node; the schema (tagged structs in keys.go) checks the tree
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
