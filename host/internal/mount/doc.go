// Package mount makes and removes external mounts (RFD D43, "--mount and --no-mount"): a symlink in
// the workspace, an approval of its target, and rules for the tools that may use it.
//
// Planning changes nothing: [NewPlan] reads the facts and decides everything,
// including what a person must confirm. [Plan.Confirm] asks, [Plan.Apply] does all of it or nothing.
//
// It does not stop somebody who can write in the workspace from replacing a link afterwards:
// that is what approvals and the check at compile time are for.
package mount
