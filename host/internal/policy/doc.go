// Package policy compiles what people declared for a tool into the policy of one call:
// the declared policy, ready for the wire, every rule with the place where it was written. It
// implements RFD 076 "Rule path canonicalization", the approval lifecycle of RFD D43, the
// defaults of RFD 075, and what docs/decisions.md says beyond them.
//
// Compiling only ever takes away from what the rules say: rules whose targets are not
// approved grant nothing, the host's own files are protected, and what a tool never
// needs is not handed on. What a type of resource does not declare gets a written
// default, so that an empty list never opens anything.
//
// A Declared also answers why ([Declared.ExplainFS] and the others).
//
// It holds nothing by itself: that is done by the tools' own checks and by the sandbox.
// It states facts of the file system at one moment; the tools resolve every rule again.
package policy
