// Package fit says what the operating system is to hold during one call, in terms of no
// particular system. Survey looks, Fit decides, a back end renders:
//
//	declared policy + Facts + Machine --Fit--> effective policy + Plan + narrowings
//
// Nothing here is ever wider than the declared policy.
package fit

import (
	"slices"
	"time"

	"github.com/jptools/jptools/jptool"
)

// Tier is a way to hold a policy. They are ordered by cost.
type Tier string

// The tiers; docs/sandbox.md says what each needs and holds.
const (
	// TierNone: nothing is held by the operating system.
	TierNone Tier = "none"
	// TierLandlock: a Landlock domain and a system call filter; the tool sees the host's tree.
	TierLandlock Tier = "landlock"
	// TierNamespace: a private tree made of mounts and a private process space, with
	// a Landlock domain and the filter inside.
	TierNamespace Tier = "namespace"
)

// ForcedTier is the tier that a setting forces: none where it is "auto".
func ForcedTier(setting string) Tier {
	if setting == "auto" {
		return ""
	}
	return Tier(setting)
}

// ID names a file system object. The zero ID is no object.
type ID struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Kind is what an entry is.
type Kind string

// The kinds that make a difference here.
const (
	Missing Kind = ""
	Dir     Kind = "dir"
	File    Kind = "file"
	Link    Kind = "link"
	// Special is a FIFO, socket or device.
	Special Kind = "special"
)

// Node is one entry as it was found: the back end opens Path without following any link
// and goes on only if it finds the same object.
type Node struct {
	// Path is canonical, absolute, with slashes.
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	ID   ID     `json:"id"`
}

// Machine is what this computer can hold. The zero value can hold nothing.
type Machine struct {
	// Landlock is the version of its interface, 0 without it.
	Landlock int `json:"landlock"`
	// Namespaces: a user namespace with mount, pid, ipc and net namespaces can be made.
	Namespaces bool `json:"namespaces"`
	// Seccomp: system call filters work, and this architecture has one.
	Seccomp bool `json:"seccomp"`
	// Notify: filters can announce calls to a process that answers them.
	Notify bool `json:"notify"`
	// Why says for what is missing why it is and what to change, by "landlock",
	// "namespaces", "seccomp", "notify".
	Why map[string]string `json:"why,omitempty"`
}

// Plan is all that a back end needs for one start: paths, numbers and capabilities. As JSON it crosses to the
// process that starts the program, and is shown to people.
type Plan struct {
	Tier Tier `json:"tier"`
	// ABI is the Landlock version to use: never more than the machine has.
	ABI int `json:"abi"`

	// Trees are the workspace, the approved targets and what else programs may write: what
	// of the host's tree appears in the private one, each at its own path, over what
	// Runtime puts there. None lies in another; the workspace is first unless it does.
	Trees []Node `json:"trees"`
	// Grants are what Landlock allows. Rights of ancestors add up.
	Grants []Grant `json:"grants"`
	// Covers are further mounts of the namespace tier, outer before inner.
	Covers []Cover `json:"covers,omitempty"`
	// Pins are entries that must keep their place, each bound on itself, outer before
	// inner; a link is pinned itself.
	Pins []Node `json:"pins,omitempty"`

	// Runtime is what programs need to start: present and granted in every tier, in the
	// namespace tier as read-only mounts. What may be written is among Trees and Grants.
	Runtime []Grant `json:"runtime"`
	// Devices are the nodes below /dev that a tool may use.
	Devices []string `json:"devices,omitempty"`
	// Temp is the private directory of the call, on which the back end grants
	// everything. In the namespace tier the back end makes it; it is `/tmp`, or a
	// directory elsewhere where a tree lies at, above or below `/tmp`, as rights on it
	// would add to those on the tree. Otherwise the caller makes and removes it.
	Temp string `json:"temp,omitempty"`
	// Scratch is a further private directory, `/tmp`, if Temp is elsewhere because trees lie below
	// `/tmp`. Everything but making FIFOs is granted on it. The rights add to those of the trees below
	// it; the plan has it only if its mounts take them away again.
	Scratch string `json:"scratch,omitempty"`

	// Staged are unnamed files to open for rules that grant create without update, handed
	// down as descriptors.
	Staged []Staged `json:"staged,omitempty"`

	Net Net `json:"net"`
	// Local: local sockets can be made, bound where files can be created, and connected to each other. Those
	// of other calls and programs are out of reach.
	Local  bool   `json:"local,omitempty"`
	Limits Limits `json:"limits"`
	// Frozen: no effective grant writes anywhere, so changing metadata is refused too.
	Frozen bool `json:"frozen,omitempty"`
	// NoFilter: the machine has no system call filter, and what only that holds is not held.
	NoFilter bool `json:"no_filter,omitempty"`
	// Observe: what is refused is to be found out (package observe). The last extra file of
	// the command is not handed down; the descriptor of the program's second filter goes there.
	Observe bool `json:"observe,omitempty"`
}

// Occupied reports whether something of the host's tree comes to a path, or below it.
func (p *Plan) Occupied(at string) bool {
	return slices.ContainsFunc(p.Trees, func(n Node) bool { return Holds(at, n.Path) }) ||
		slices.ContainsFunc(p.Runtime, func(g Grant) bool { return Holds(at, g.Path) })
}

// Hidden reports whether a symlink at a canonical path is not there in the private tree: what is outside
// of all that it is made of, or masked. In the other tiers everything is there.
func (p *Plan) Hidden(link string) bool {
	if p.Tier != TierNamespace {
		return false
	}
	for dir := range Upward(link) {
		if i := slices.IndexFunc(p.Covers, func(c Cover) bool { return c.Path == dir }); i >= 0 {
			return p.Covers[i].Hide
		}
		if slices.ContainsFunc(p.Trees, func(n Node) bool { return n.Path == dir }) {
			return false
		}
		if i := slices.IndexFunc(p.Runtime, func(g Grant) bool { return g.Path == dir }); i >= 0 {
			return p.Runtime[i].Kind == Link && dir != link
		}
	}
	return true
}

// Granted returns what Landlock allows at a path: rights of ancestors add up, and mounts do not count.
func (p *Plan) Granted(at string) (caps jptool.Caps) {
	for _, g := range slices.Concat(p.Grants, p.Runtime) {
		if Holds(g.Path, at) {
			caps |= g.Caps
		}
	}
	return caps
}

// Grant allows Caps on a node and all below it.
type Grant struct {
	Node
	Caps jptool.Caps `json:"caps"`
}

// Cover is a mount over a place of a tree that takes something away, or gives it back. Its
// flags are all that holds there: what the mount above it takes does not count any more.
type Cover struct {
	Node
	// Hide puts something empty there: a directory without entries, or a file that
	// nobody can open.
	Hide bool `json:"hide,omitempty"`
	// Again mounts the original of a place that lies below something hidden or
	// read-only; that of a link only below something hidden. Without Hide and Again the
	// place is bound on itself.
	Again bool `json:"again,omitempty"`
	// ReadOnly takes all writing, metadata too; NoExec takes execution.
	ReadOnly bool `json:"read_only,omitempty"`
	NoExec   bool `json:"no_exec,omitempty"`
}

// Withholds returns what the mount takes away.
func (c *Cover) Withholds() (caps jptool.Caps) {
	if c.Hide {
		return jptool.AllCaps
	}
	if c.ReadOnly {
		caps |= jptool.Write
	}
	if c.NoExec {
		caps |= jptool.Execute
	}
	return caps
}

// Staged is one unnamed file to be opened in a directory.
type Staged struct {
	Node
	FD int `json:"fd"`
}

// Net is what of the network is open.
type Net struct {
	// Open: sockets of the internet families can be made, and use the network of the host.
	Open bool `json:"open,omitempty"`
	// Own: they can be made, and use a network of the call's own, which has a loopback and nothing
	// else. It excludes Open. Without either there are none.
	Own bool `json:"own,omitempty"`
	// Ports are the TCP ports that can be connected to; nil means any (only with Open).
	Ports []uint16 `json:"ports,omitzero"`
}

// Limits bound resources; 0 is no limit.
type Limits struct {
	// Memory is in bytes, FileSize in bytes per file, CPUSeconds per process.
	Memory     int64 `json:"memory,omitempty"`
	Processes  int64 `json:"processes,omitempty"`
	CPUSeconds int64 `json:"cpu_seconds,omitempty"`
	FileSize   int64 `json:"file_size,omitempty"`
	// Time is how long a call may take. The process that started it ends it, so no plan shows it.
	Time time.Duration `json:"-"`
}
