// Package safewrite makes and replaces the content of files so that nobody ever finds
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
// Cooperating calls exclude each other by a lock on the file. Others do not ask for it: they
// may write to the file or put another one there at any moment. Content is compared just
// before it is replaced and, since old and new exchange their names, once more when nobody
// reaches the old file by its name any longer; then what is theirs goes back, or gets a name
// that can be seen where that is not possible, and the error says so. What is lost all the same:
// what is written later through a descriptor or a mapping opened before, and, where names cannot
// be exchanged or the file is written in place, what happens within microseconds after the
// comparison.
//
// A killed process can leave a temporary, which the next writing call in the directory removes if it
// can tell that it is one, see [Sweep].
package safewrite
