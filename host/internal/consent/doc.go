// Package consent remembers what a person consented to, per workspace and only on this
// machine: bindings of external mounts to their targets (RFD D43, approvals.json), the
// settings of a repository's own config that widen access (trust.json), and the paths
// found changed after a call that hold further writing calls back (holds.json).
//
// Every change is a locked load-modify-save and lands whole or not at all. What cannot be read grants
// nothing: a broken approvals.json or trust.json is set aside, never overwritten, and
// a broken holds.json holds everything.
package consent
