// Package wspath has the two forms of a path that access decisions are made on,
// and the means to act on a path without a race.
//
// [Rel] is lexical: what a caller typed, normalised without any I/O. [Canonicalize]
// resolves one against the file system into an absolute path without symlinks, for
// policy to judge. [Dir] is a held directory whose operations reach a canonical path
// without following any symlink, so that what was judged is what is used, however
// the tree changes in between.
//
// None of this stops hard links: a file is judged by the path it is reached by.
package wspath
