// Package engine starts one program, under a [fit.Plan] or without one, and makes sure that nothing of
// it is left when it is over. It decides nothing: it is given a finished plan, command line, directory and
// environment. Limits of time and of output, and what a program's output means, are the caller's.
//
// # The processes
//
// On Linux this program starts itself again, twice, for each call (see [Main]):
//
//	host ──socket──▶ supervisor ──socket──▶ starter, which becomes the tool ──▶ …
//	  ╰──────── standard streams and other files ────────╯
//
// The supervisor ends what is to be ended. Under namespaces it is process 1 of its tree: it makes the
// private tree of mounts, and its death kills all. Elsewhere it is the subreaper of what the tool starts
// and, from Landlock 6 on, the one process that the tool's processes share a signal scope with, so that one
// kill(-1) reaches them all. Then it serves one call after the other. It learns of the death of the host,
// however it died, by the end of its socket, and then kills everything and ends.
//
// The starter is a child of the supervisor, started before the plan is known. It gets its orders and
// descriptors, restricts its one locked thread, and calls execve: no code of this package runs between fork
// and exec, and the tool is that very process, so that its limits and its /proc/self are exact.
//
// Both begin while the host still reads its configuration, if it calls [Engine.Warm] early.
//
// # What is not stopped
//
// Without a plan a program has all rights of the user. It can kill the supervisor (it dies too then, but
// what it has started may not), and it can ask a service to start something for it. A program that runs as
// another user (set-user-id) may be out of reach: [Process.Wait] says so. Where there are no supervisors
// (macOS, Windows) the program's process group is killed; what leaves the group survives, as does
// everything when the host dies, and a plan is refused.
package engine
