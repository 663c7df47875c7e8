// Package defaults holds the built-in configuration layer: the seven file tools, ready to
// be used. Everything in it is configuration that a person could have written; there is
// nothing that a higher layer cannot change.
package defaults

import _ "embed"

// TOML is the layer, as config.Options.Defaults takes it. It must not be changed.
//
//go:embed defaults.toml
var TOML []byte
