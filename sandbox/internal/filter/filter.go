// Package filter makes the system call filter of a confined program: what a
// Landlock domain and a private tree do not hold, because it goes around the file system, or
// would change what they are made of. It is a list of what is refused; what it does not name is
// judged by the rest of the sandbox. Numbers above those that it knows, and the entry points
// of other ABIs, do not exist for the program: it sees ENOSYS, and for a foreign
// architecture it is killed.
//
// Refused are namespaces and mounts, other processes' memory, kernel facilities with a policy
// of their own (bpf, keys, io_uring, performance counters, userfaultfd, modules), the limits of
// other processes, shared System V objects, the clock and names of the machine, pushing input into a terminal and
// changing its line discipline, leases on files, set-user-id files, commands by
// which file systems make snapshots and the like past Landlock, and sockets: without a network
// all but connected pairs, with one all but TCP and UDP. Local sockets with a name are
// refused unless something else judges their connections, because services that answer there (container engines,
// agents) act with their own rights. Local datagram sockets are always refused: each message can go elsewhere.
//
// # What it does not stop
//
// It cannot follow pointers, so it does not know paths and addresses, nor the mode of a file that openat2(2) makes:
// an empty one with a set-user-id mark can be made by that, and what somebody with capabilities writes to it later runs as its owner. TCP ports are Landlock's part;
// UDP is not held to ports. With a network, name service over netlink or local sockets
// does not work; over UDP it does. A descriptor that was handed down keeps its use.
package filter

import "errors"

// Options are the choices that a plan makes.
type Options struct {
	// Net allows TCP and UDP sockets in the network of the host. Own allows them in a network of the program's
	// own, and to ask about that network (netlink): there is nobody else in it.
	Net, Own bool
	// Local allows local stream and sequenced sockets. Something else has to judge what they connect to.
	Local bool
	// Frozen refuses changes of metadata: mode, owner, times, attributes.
	Frozen bool
	// Namespaces: the program is in namespaces of its own. Without them, System V objects and
	// POSIX message queues are refused: they have no path, and those of every other process of the
	// user could be read, emptied and removed. So is reading extended attributes by path, since all files
	// of the machine have names there.
	Namespaces bool
}

// ErrArchitecture says that there is no table of system calls for this machine.
var ErrArchitecture = errors.New("there is no system call filter for this architecture (amd64 and arm64 have one)")
