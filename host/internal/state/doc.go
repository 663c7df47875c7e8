// Package state finds and keeps the user-local state of the host: where a workspace's
// private files live, which conversation and which session a call belongs to, and how
// files there are read, locked and replaced.
//
// A workspace is its canonical root path and nothing else: no file inside a repository can claim the approvals of another one. State lives below the
// XDG data directory in jphost/<name>-<digest of the path>, directories 0700, files
// 0600, and a directory that somebody else owns or may write to is refused.
//
// It does not protect against the same user's other programs, and not against a workspace or
// mount that holds the state directory itself: [Dir.Base] tells where it is, and policy protects it.
package state
