// Package walk visits the files of a workspace that a tool may show: one walk, pruned
// by the access policy, by ignore files and by suppress patterns as it goes, so that
// what is left out costs nothing.
//
// It is free of races by construction: it starts at a directory that the workspace
// holds and reaches every entry by its name in a held directory, without following any
// symlink. If another process rearranges the tree meanwhile, the walk can miss files, but it
// never leaves the workspace. Only an approved mount leads outside, to its approved target.
//
// Files come in one order, component by component and byte by byte, however many
// goroutines read ahead, and what is read ahead is bounded: no listing but that of a
// single directory is ever held as a whole.
//
// What it does not stop: a process that may rename a directory out of the workspace during
// the walk can make the walk see what is put into that directory later. A hard link in the workspace
// shows its file, even if a rule denies another name of that file.
package walk
