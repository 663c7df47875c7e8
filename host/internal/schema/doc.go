// Package schema checks the arguments of a call against the parameters that a tool
// declares, before anything is started: types, enums, what is required and what
// is unknown, at every depth. All problems are reported at once, each with the path of
// the value (`patterns[0].old`), so that a model can correct all of them in its next call.
//
// It also completes the arguments, as existing configurations expect: defaults are
// filled in, null counts as absent where null is no value, and a string that holds the
// JSON of the declared type is taken for that (models send "10" and "[\"a\"]").
//
// Whether a value has a type and is in an enum is decided by a JSON Schema validator. The way through lists and
// objects is our own: the validator stops at the first problem, gives no path, and completes nothing.
package schema
