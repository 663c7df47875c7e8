package fit

import (
	"reflect"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// Unavailable is something that programs usually find around them, that no rule names, and that a call does not have.
type Unavailable struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
}

// What a call may be without.
const (
	loopback  = "a loopback of its own: no sockets of the internet families"
	noServers = "a loopback of its own: on the network of the host nothing can be listened on"
	local     = "local sockets between its own processes"
	terminals = "pseudo-terminals"
	hardTmp   = "a private /tmp"
)

// world decides what of its own the call gets besides what the rules grant, and says what it does not.
func (h *fitting) world(f *Fitted) {
	p := f.Plan
	f.Unavailable = []Unavailable{}
	lacks := func(why, remedy string, list ...string) {
		for _, what := range list {
			f.Unavailable = append(f.Unavailable, Unavailable{what, why, remedy})
		}
	}
	if p.Tier == TierNone {
		return // nothing is taken away either
	}
	tree := p.Tier == TierNamespace
	why, remedy := h.noTree, h.treeRemedy
	if why == "" {
		why, remedy = "a call that may write nothing has no private tree", `set sandbox.tier = "namespace", or use --tier namespace`
	}
	switch {
	case p.NoFilter: // sockets are not taken away, but nobody could say of those handed down where they may lead
		if tree && !p.Net.Open {
			why, remedy := h.machine.Lacks("seccomp")
			lacks(why, remedy, loopback)
		}
	case p.Net.Open:
		lacks("the call may use the network of the host", "leave the network closed (--net, access.net) where the program only speaks to itself",
			noServers, local)
	case tree && h.machine.Notify:
		p.Net.Own, p.Local = true, true
	case tree:
		why, remedy := h.machine.Lacks("notify")
		lacks(why, remedy, loopback, local)
	case p.ABI >= ResolveABI:
		p.Local = true
		lacks(why, remedy, loopback)
	default:
		lacks(why, remedy, loopback, local)
	}
	if !tree {
		lacks(why, remedy, hardTmp, terminals)
	}
	if tree && p.Temp != tmp && p.Scratch == "" {
		lacks("rules on /tmp, or below it, could not be enforced beside it", "use a workspace and grants that do not lie below /tmp", hardTmp)
	}
}

// tmp is where programs expect to be allowed temporary files if they do not look at TMPDIR.
const tmp = "/tmp"

// besideTmp fits once more with a private /tmp around the trees that lie below it, whose rights then add to theirs. It
// returns nil if mounts cannot take them away again, so that rules would grant something else, or more would be hidden.
func (in *input) besideTmp(h *fitting) *fitting {
	below := slices.ContainsFunc(in.tops, func(t string) bool { return t != tmp && Holds(tmp, t) })
	taken := slices.ContainsFunc(in.tops, func(t string) bool { return Holds(t, tmp) }) || in.runtime[tmp] != 0
	if !below || taken {
		return nil
	}
	beside := in.fitting()
	beside.scratch = true
	beside.byMounts()
	beside.freeze()
	if !reflect.DeepEqual(h.access(TierNamespace), beside.access(TierNamespace)) || !reflect.DeepEqual(h.grants, beside.grants) ||
		!reflect.DeepEqual(h.not, beside.not) {
		return nil
	}
	for _, path := range sorted(beside.covers) {
		if c := h.covers[path]; beside.covers[path].Hide && (c == nil || !c.Hide) {
			return nil
		}
	}
	return beside
}

// around is what a private /tmp grants on what lies below it.
func (h *fitting) around(p string) jptool.Caps {
	if h.scratch && p != tmp && Holds(tmp, p) {
		return jptool.AllCaps
	}
	return 0
}
