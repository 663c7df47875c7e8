// Package safewrite makes and replaces the content of files so that no process ever reads
// half of it.
//
// A file is replaced by a temporary beside it and a rename wherever the policy grants
// create, update and delete on both, so that a process killed at any moment leaves the
// old or the new content, whole. Where that cannot be done without losing something (several hard
// links, a mount point, an owner that cannot be kept) or is not granted, it is written in
// place, with a copy of the old content kept until it is done: an error, a full disk, or a
// signal that asks the process to end brings the old content back. A process that is killed in the middle
// (SIGKILL, power loss) leaves a mix, and the copy as jptool-*.old in the directory for temporary files. Which
// of the two happened is the [Method].
//
// Cooperating calls exclude each other by a lock on the file. Other programs do not take it: they
// may write to the file or put another one there at any moment. So content is compared just
// before it is replaced and, because old and new exchange their names, once more when the old
// file can no longer be reached by its name. If another program changed it, its version goes back or, where
// that is impossible, gets a visible name, and the error says so. This does not save what a program writes later
// through a descriptor or mapping that it opened before. Where names cannot be exchanged, or the file is written
// in place, it does not save what is written within microseconds after the comparison either.
//
// A killed process can leave a temporary, which the next writing call in the directory removes if it
// can tell that it is one, see [Sweep].
package safewrite
