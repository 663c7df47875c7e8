// Package safewrite makes and replaces the content of files so that nobody ever finds
// half of it (design, "Replacing content").
//
// A file is replaced by a temporary beside it and a rename wherever the policy grants
// create, update and delete on both, so that a process killed at any moment leaves the
// old or the new content, whole. Where that cannot be done without losing something (several hard
// links, a mount point, an owner that cannot be kept) or is not granted, it is written in
// place, with a copy of the old content kept until it is done: an error or a full disk
// brings the old content back, but a process killed in the middle leaves a mix. Which
// of the two happened is the [Method].
//
// Cooperating calls exclude each other by a lock on the file. Against others, who do not
// lock, content is compared just before it is replaced; what they write after that,
// within microseconds, or through a descriptor opened before, is lost.
package safewrite
