// Package call makes one call of a tool (docs/host.md, "run"). The steps of a [Request] are, in this order:
//
//   - the arguments are checked against the parameters;
//   - a person trusts what the repository's settings widen for the tool;
//   - the policy is compiled, and a person approves external paths that it needs;
//   - a person allows places of secrets, and the call itself, possibly after a preview;
//   - the tool is started, its questions are answered, and it is started again, until it has a result;
//   - a person hands the result on, if the tool is configured so.
//
// Everything that needs a person goes through a [term.Prompter] and fails closed where there is none.
//
// The package prints nothing: the [Report] says what happened, also when the call failed.
package call
