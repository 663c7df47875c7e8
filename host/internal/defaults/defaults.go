// Package defaults holds the built-in configuration layer: the seven file tools, ready to
// be used. Everything in it is configuration that a person could have written; there is
// nothing that a higher layer cannot change.
//
// The layer is written in defaults.toml. jphost does not read that file but [Layer], which
// `go test . -update` writes from it, and a test compares the two.
package defaults
