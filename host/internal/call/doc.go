// Package call makes one call of a tool (docs/host.md, "run"): it checks the arguments, gets
// the consent that is needed, compiles the policy, starts the tool, and asks and answers
// until there is a result. Everything that needs a person goes through an term.Prompter
// and fails closed where there is none.
//
// It prints nothing: the [Report] says what happened, also when the call failed.
package call
