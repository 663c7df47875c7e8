package fit

import (
	"reflect"
	"slices"

	"github.com/jptools/jptools/jptool"
)

// Unavailable is what programs usually find around them, what no rule names, and what a call does not have.
type Unavailable struct {
	What   []string `json:"what"`
	Why    string   `json:"why"`
	Remedy string   `json:"remedy,omitempty"`
}

// What a call may be without: servers and clients that speak to each other over TCP or UDP, and over sockets that are
// files; a directory that programs use without being asked; terminals that they make themselves.
const (
	loopback  = "loopback"
	local     = "local sockets"
	hardTmp   = "private /tmp"
	terminals = "pseudo-terminals"
)

// world decides what of its own the call gets besides what the rules grant, and says what it does not.
func (h *fitting) world(f *Fitted) {
	p := f.Plan
	f.Unavailable = []Unavailable{}
	lacks := func(why, remedy string, list ...string) {
		f.Unavailable = append(f.Unavailable, Unavailable{list, why, remedy})
	}
	switch tree := p.Tier == TierNamespace; {
	case p.Tier == TierNone: // nothing is taken away either
	case !tree:
		p.Local = !p.NoFilter && !p.Net.Open && p.ABI >= ResolveABI
		why, remedy := h.noTree, h.treeRemedy
		if why == "" {
			why = "a call that may write nothing has no private tree"
			remedy = `set sandbox.tier = "namespace", or use --tier namespace`
		}
		list := []string{loopback, hardTmp, terminals}
		if !p.Local && !p.NoFilter {
			list = slices.Insert(list, 1, local)
		}
		lacks(why, remedy, list...)
	case p.Net.Open:
		lacks("the call uses the network of the host",
			"leave the network closed where the program only speaks to itself", loopback, local)
	case p.NoFilter: // local sockets are not taken away, but nobody could say where sockets lead that were handed down
		why, remedy := h.machine.Lacks("seccomp")
		lacks(why, remedy, loopback)
	case !h.machine.Notify:
		why, remedy := h.machine.Lacks("notify")
		lacks(why, remedy, loopback, local)
	default:
		p.Net.Own, p.Local = true, true
	}
	if p.Tier == TierNamespace && p.Temp != tmp && p.Scratch == "" {
		lacks("rules on /tmp, or below it, could not be enforced beside it",
			"use a workspace that does not lie below /tmp, or grant read and execute together there", hardTmp)
	}
}

// tmp is where programs expect to be allowed temporary files if they do not look at TMPDIR.
const tmp = "/tmp"

// besideTmp puts a private /tmp around the trees that lie below it, whose rights then add to theirs. It fits once
// more for that, and takes the mounts that take those rights away again. If mounts cannot do that, so that rules
// would grant something else, or more would be hidden, there is no private /tmp.
func (in *input) besideTmp(h *fitting) {
	below := slices.ContainsFunc(in.tops, func(t string) bool { return t != tmp && Holds(tmp, t) })
	taken := slices.ContainsFunc(in.tops, func(t string) bool { return Holds(t, tmp) }) || in.runtime[tmp] != 0
	// What is granted besides the rules and no tree has mounts of its own, which take writing away and nothing else.
	more := slices.ContainsFunc(in.options.Runtime, func(g Grant) bool {
		return Holds(tmp, g.Path) && topOf(in.tops, g.Path) == "" && !in.runtime[g.Path].Has(jptool.Read|jptool.Execute)
	})
	if !below || taken || more {
		return
	}
	beside := in.fitting()
	beside.scratch = true
	beside.byMounts()
	beside.freeze()
	same := reflect.DeepEqual(h.access(TierNamespace), beside.access(TierNamespace))
	if !same || !reflect.DeepEqual(h.grants, beside.grants) {
		return
	}
	for _, path := range sorted(beside.covers) {
		if c := h.covers[path]; beside.covers[path].Hide && (c == nil || !c.Hide) {
			return
		}
	}
	h.scratch, h.covers, h.pins = true, beside.covers, beside.pins
	for i, s := range beside.zones { // the same ones
		h.zones[i].by = s.by
	}
}

// around is what a private /tmp grants on what lies below it.
func (h *fitting) around(p string) jptool.Caps {
	if h.scratch && p != tmp && Holds(tmp, p) {
		return jptool.AllCaps
	}
	return 0
}
