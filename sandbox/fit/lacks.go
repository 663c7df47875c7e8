package fit

import (
	"github.com/jptools/jptools/jptool"
)

// leaks returns what the machine's Landlock cannot deny on any file that a program can see.
func (m Machine) leaks() jptool.Caps {
	if m.Landlock < TruncateABI {
		return jptool.Update
	}
	return 0
}

// machineLacks notes what is not enforced because the machine cannot.
func (h *fitting) machineLacks(p *Plan) {
	if p.Tier == TierNone {
		why, remedy := h.machine.Lacks("landlock")
		h.lacking(nil, Nothing, why, remedy, false)
		return
	}
	h.landlockLacks(p)
	h.filterLacks(p)
	if h.options.Tier == TierNamespace && p.Tier != TierNamespace {
		h.lacking(nil, "the namespace tier, which is asked for", h.noPrivateTree(), tierRemedy, false)
	}
	if p.Tier == TierLandlock && h.options.Temp != "" {
		if top := topOf(h.tops, h.options.Temp); top != "" {
			h.lacking(nil, "the private temporary directory, which lies in "+h.name(top), "the tool may do anything there", "", true)
		}
	}
	if h.d.Access.Commands != nil {
		h.lacking(nil, "which programs may be started, with which arguments", "rules for commands are not held by the operating system", "", false)
	}
	if p.Limits.Memory > 0 {
		h.lacking(nil, "the limit of memory for all of the call together", "it is held for each process", "", true)
	}
	if p.Limits.Processes > 0 {
		h.lacking(nil, "the limit of processes at each moment", "they are counted every 20 ms", "", true)
	}
}

// Nothing is what is not enforced where nothing is.
const Nothing = "anything: neither files nor network are held by the operating system"

// landlockLacks is for old versions of Landlock. That of TCP ports is told with the rules for
// the network.
func (h *fitting) landlockLacks(p *Plan) {
	// With namespaces too it is better than nothing that another kernel would do more.
	lacking := func(abi int, what string, known bool) {
		if p.ABI < abi {
			why, remedy := older(abi)
			h.lacking(nil, what, why, remedy, known)
		}
	}
	lacking(MoveABI, "moving and linking across directories, which is always refused", true)
	lacking(IoctlABI, "commands to the devices that every program gets, and to what it is handed", true)
	if p.Tier == TierLandlock {
		lacking(TruncateABI, "that files which may not be updated are not cut off, anywhere", false)
		lacking(ScopeABI, "signals to other processes of the same user", false)
	}
}

// filterLacks is for machines without system call filters.
func (h *fitting) filterLacks(p *Plan) {
	if !p.NoFilter {
		return
	}
	why, remedy := h.machine.Lacks("seccomp")
	lacking := func(what string) { h.lacking(nil, what, why, remedy, false) }
	switch {
	case p.Tier == TierLandlock && (p.ABI < NetABI || p.Net.Open):
		lacking("the network")
	case p.Tier == TierLandlock:
		lacking("the network, except for TCP: datagrams and local sockets")
	default:
		lacking("local sockets of other programs that lie in the granted directories")
	}
	if p.Frozen && p.Tier == TierLandlock {
		lacking("modes, owners, times and attributes of files")
	}
	lacking("system calls that no access rule speaks of (io_uring, keys, bpf, nested namespaces and the like)")
}
