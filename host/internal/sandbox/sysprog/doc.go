// Package sysprog runs a program of system calls between fork and exec.
//
// In a forked child of a Go program nothing of Go works: the other threads are gone and
// hold their locks for ever, and a child that shares the memory of its parent must not
// disturb it. The standard library therefore has a fixed list of things that a child can do
// (syscall.SysProcAttr). A sandbox needs more: mounts, rules, filters, a second fork. So a
// [Program] is written by the parent, as data, and a small interpreter carries it out in
// the child with raw system calls and nothing else: it does not allocate, does not grow its
// stack, takes no lock and writes no pointers.
//
// A program has instructions, memory (for paths, structures and results), and a result
// per instruction that later ones can use. It ends with execve; any instruction that fails
// ends the child, and the parent is told which one it was and why.
//
// There are two ways to start one. [Program.Exec] shares the memory with the child and
// holds the calling thread until execve (vfork), as the standard library does: fast, and for
// short programs only, because the garbage collector waits with it. [Program.Fork] gives
// the child a copy of the memory, without the heap; the child may then take its time and
// live on without execve.
//
// Signals are blocked around the fork, and in the child until [Program.Execve], which first
// sets all signals to their default action: a tool starts with none ignored or blocked.
//
// Where there is no interpreter (other systems and architectures) both return
// errors.ErrUnsupported.
package sysprog
