package fit

import (
	"fmt"
	"slices"
	"strings"
)

// The first versions of Landlock that hold something (reported as the ABI); all hold files.
const (
	MoveABI     = 2 // moving and linking across directories; refused before
	TruncateABI = 3
	NetABI      = 4 // TCP ports
	IoctlABI    = 5 // commands to devices
	ScopeABI    = 6 // signals to processes outside, and their abstract sockets
	ResolveABI  = 9 // local sockets, by their paths
)

// linux is the kernel that a version of Landlock came with, of those that plans ask for.
var linux = [ScopeABI + 1]string{MoveABI: "5.19", TruncateABI: "6.2", NetABI: "6.7", IoctlABI: "6.10", ScopeABI: "6.12"}

// older says that the machine's Landlock is too old, and what to do.
func older(abi int) (why, remedy string) {
	return fmt.Sprintf("the kernel's Landlock is older than version %d", abi), "use Linux " + linux[abi] + " or newer"
}

// Nothing is what is not enforced where nothing is.
const Nothing = "anything: neither files nor network are held by the operating system"

// machineLacks notes what is not enforced because the machine cannot. What old versions of Landlock do not know of
// TCP ports is told with the rules for the network.
func (h *fitting) machineLacks(p *Plan) {
	if p.Tier == TierNone {
		why, remedy := h.machine.Lacks("landlock")
		h.lacking(nil, Nothing, why, remedy, false)
		return
	}
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
	if p.NoFilter {
		h.filterLacks(p)
	}
	if h.options.Tier == TierNamespace && p.Tier != TierNamespace {
		h.lacking(nil, "the namespace tier, which is asked for", h.noTree, tierRemedy, false)
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

// filterLacks is for machines without system call filters.
func (h *fitting) filterLacks(p *Plan) {
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

// schemePorts are the schemes with a default port, as rules know them (docs/wire.md).
var schemePorts = map[string]uint16{"http": 80, "ws": 80, "https": 443, "wss": 443, "ftp": 21}

// net opens the network as far as some rule allows anything, and says what is not held.
func (h *fitting) net(p *Plan) {
	rules := h.d.Access.Net
	if len(rules) == 0 {
		p.Net = Net{Open: true}
		return
	}
	ports := []uint16{}
	finer := false // than ports
	for i := range rules {
		r := &rules[i]
		switch {
		case !r.Allow:
			finer = finer || r.Host != "*" || r.Port != nil || r.Scheme != nil || r.PathPrefix != nil
			continue
		case r.Port != nil:
			ports = append(ports, *r.Port)
		default:
			// A scheme without a default port matches nothing.
			for scheme, port := range schemePorts {
				if r.Scheme == nil || strings.ToLower(*r.Scheme) == scheme {
					ports = append(ports, port)
				}
			}
		}
		finer = finer || r.Host != "*" || r.PathPrefix != nil || r.Scheme != nil || r.Port == nil
	}
	if p.Net.Open = len(ports) > 0; !p.Net.Open {
		return
	}
	slices.Sort(ports)
	ports = slices.Compact(ports)
	if p.Tier == TierNone || p.ABI < NetABI {
		why, remedy := older(NetABI)
		if p.Tier == TierNone {
			why, remedy = h.machine.Lacks("landlock")
		}
		h.lacking(nil, fmt.Sprintf("that only these ports are connected to: %v", ports), why, remedy, false)
	} else {
		p.Net.Ports = ports
	}
	only := "the operating system knows TCP ports only"
	if p.Tier == TierNone {
		only = strings.TrimPrefix(Nothing, "anything: ")
	}
	if finer {
		h.lacking(nil, "hosts, schemes and paths of requests", only, "allow no network where that matters", false)
	}
	h.lacking(nil, "datagrams: what may be reached by UDP", only, "allow no network where that matters", false)
}

// netBy says what holds the net rules.
func (h *fitting) netBy(p *Plan) string {
	switch {
	case p.Tier == TierNone:
	case p.Net.Open && p.Net.Ports != nil:
		return "landlock (TCP ports only)"
	case p.Net.Open:
	case p.Net.Own:
		return "a network of its own"
	case !p.NoFilter && p.Local:
		return "local sockets of the call only"
	case !p.NoFilter:
		return "no sockets"
	case p.Tier == TierNamespace:
		return "an empty network"
	case p.ABI >= NetABI:
		return "landlock (TCP only)"
	}
	return OwnCheck
}
