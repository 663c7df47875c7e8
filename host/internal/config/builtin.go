package config

import (
	"embed"
	"io/fs"

	"github.com/jptools/jptools/host/internal/settings"
)

// shipped is the built-in layer: one file for each of the seven file tools. Everything in
// them is configuration that a person could have written, and higher layers change any of
// it key by key.
//
// The programs lie beside jphost, or else on PATH. A tool that only reads the workspace
// runs unattended; one that changes it asks. The parameters are those of each program's
// --schema, and a test compares them.
//
//go:embed builtin/*.toml
var shipped embed.FS

// builtIn stands for the file in origins of the built-in layer; lines are those of the
// file of the tool.
const builtIn = "built-in"

// builtIn reads and merges the files of the built-in layer, and makes them one layer.
func (l *loader) builtIn() error {
	files := l.BuiltIn
	if files == nil {
		files = shipped
	}
	names, err := fs.Glob(files, "builtin/*.toml")
	if err != nil {
		return err
	}
	for _, name := range names {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		tree, err := settings.ParseTOML(data, settings.LayerDefault, builtIn)
		if err != nil {
			return err
		}
		if err := checkLayer(tree); err != nil {
			return err
		}
		l.merged = merge(schema(), l.merged, tree)
	}
	l.layers = append(l.layers, LayerInfo{Layer: settings.LayerDefault, Source: builtIn, State: Loaded, tree: l.merged})
	return nil
}
