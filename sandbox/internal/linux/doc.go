// Package linux does what a [fit.Plan] says with the means of the Linux kernel: Landlock rules, mounts, and the
// last steps of a process before it becomes the tool.
//
// # Both tiers
//
// Every path of the plan is opened without following links and compared with what was found when the plan was
// made; an error of kind [failure.Changed] says that it is something else now. The tool has no capabilities and
// cannot gain any (no_new_privs), is in a Landlock domain that handles every right of the plan's ABI, and under the
// system call filter of package filter.
//
// # Namespace tier
//
// [BuildTree] makes a private tree: a small tmpfs with a private temporary directory, a new /proc, the devices, what
// the runtime needs (read-only), and the trees of the plan with their covers and pins.
//
// # What is not held
//
// A plan for an old version of Landlock, or for a machine without system call filters, is held by what is there;
// whoever made the plan says what that leaves open. Programs that were granted nothing still see names and metadata
// in the Landlock tier, and everybody can use up the processor. A mask is undone when somebody outside replaces the
// entry that it lies on: [Watcher] notices.
package linux
