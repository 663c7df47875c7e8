// Package policy compiles the access rules that people declared for a tool into the policy of one call. The result
// is ready for the wire, and each rule knows where it was written. Package jptool finds the place of each rule;
// this package adds configuration layers, approvals (RFD D43), the defaults of RFD 075, self-protection, what a
// tool needs, and explanations.
//
// Compiling only takes away from what the rules say. A rule whose target is not approved grants nothing, the
// host's own files are protected, and a capability that the tool never needs is not granted. A type of resource
// without rules gets its default as written rules, because an empty list on the wire would open everything.
//
// The package enforces nothing: the tools' own checks and the sandbox do. It describes the file system at one
// moment, and the tools resolve every rule again.
package policy
