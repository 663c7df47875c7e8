// Package observe finds out what the sandbox refuses a program, for `--explain-denials`.
//
// Besides its boundary filter an observed program gets a second one, which decides nothing: the
// calls that name files or addresses are announced to an observer (seccomp user notification),
// which looks at their arguments, predicts from the plan whether the kernel will refuse them, notes
// it, and answers each with "go on" (SECCOMP_USER_NOTIF_FLAG_CONTINUE), never with anything else.
// The kernel then decides as it would have without.
//
// # Who observes
//
// The observer is a process of its own: the jphost that a person started. It starts itself a
// second time ([Under]), and the second one does all the work of the call; so the observer is an
// ancestor of the program and may read its memory also where only ancestors may (Yama). It
// is not the one that starts the program: that holds still until execve, which would wait for it.
//
//	jphost (observer) ──▶ jphost ──▶ … ──▶ program
//	     ▲──── plan, results ──╯               │
//	     ╰──── notifications ──────────────────╯
//
// # What it is not
//
// It is no part of the boundary. What it notes is a prediction from what it could read: a
// program can change its arguments after they were looked at, and can make refused calls to look
// guilty; nothing is granted by either. When the observer ends, announced calls fail with
// ENOSYS, and the second jphost, told by a signal and the end of its socket, ends the call. Each announced call costs some
// microseconds, and a stopped observer holds the program up until its time limit.
//
// # What it does not see
//
// What the boundary filter refuses is refused before anybody is told, sockets among it: [Unseen]
// names these in words. Refusals by ordinary permissions, and renames and links that fail because
// they would gain rights or cross a mount (EXDEV), are not predicted. What is done through
// descriptors that are open already is not looked at, except below a directory.
package observe
