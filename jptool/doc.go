// Package jptool is what a host and the tools it runs share: the wire types (Context,
// AccessPolicy, Outcome, Question), and the evaluation of an access policy.
//
// A tool opens the Context it was given and asks for each path:
//
//	ws, err := ctx.Open()
//	target, err := ws.CheckRead("src/lib.rs")
//	file, err := target.Open()
//
// The checks are the cooperative layer of RFD 076. They decide on canonical paths, so that
// no symlink dodges a rule, and return a [Target] that acts on what was checked and
// nothing else. They do not stop a program that does not ask; that is the sandbox's part.
//
// docs/wire.md is the contract in words, with the numbered steps of evaluation.
package jptool
