// Package schema checks the arguments of a call against the parameters that a tool
// declares, before anything is started: types, enums, what is required and what
// is unknown, at every depth. All problems are reported at once, each with the path of
// the value (`patterns[0].old`), because a model mends them in one go if it is told them
// in one go.
//
// It also completes what it checks, as existing configurations expect: defaults are
// filled in, null counts as absent where null is no value, and a string that holds the
// JSON of the declared type is taken for that (models send "10" and "[\"a\"]").
//
// It is a subset of JSON Schema with `required` at each parameter, chosen for messages
// and completion, which validators do not give; [Schema.JSON] writes the same as JSON
// Schema, and the tests hold a validator against it.
package schema
