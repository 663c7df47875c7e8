// Package confine starts a program under a [sandbox.Plan] on Linux: it renders the plan as
// Landlock rules, mounts and a system call filter, and makes a [sysprog.Program] of them.
//
// # Both tiers
//
// Every path of the plan is opened once without following links and compared with what was
// found when the plan was made; a [*ChangedError] says that it is something else now. The program
// starts without capabilities and with no_new_privs, in a Landlock domain that handles every
// right of the plan's ABI, under the filter of package filter, with the descriptors of the
// command and no others.
//
// # Namespace tier
//
// A child in new namespaces, the init, makes a private tree: a small tmpfs with a private
// temporary directory, a new /proc, the devices, what the runtime needs (read-only), and the
// trees of the plan with their covers and pins. It leaves the host's tree, drops its
// capabilities and forks the program; then it only waits. The program cannot touch it: it is the first of
// its process space, outside of the program's domain and not dumpable. Its death ends
// everything, and the death of the thread that started it ends it.
//
// # What is not held
//
// A plan for an old version of Landlock, or for a machine without system call filters
// (NoFilter), is held by what is there: what that leaves open is told by the fitting, which
// made it so. Programs that were granted
// nothing still see names and metadata in the Landlock tier, and everybody can use up the
// processor. Masks are undone when somebody outside replaces the entry they lie on.
package confine
