package fit

import (
	"fmt"
	"slices"
	"strings"
)

// schemePorts are the schemes with a default port, as rules know them (docs/wire.md).
var schemePorts = []struct {
	scheme string
	port   uint16
}{{"http", 80}, {"ws", 80}, {"https", 443}, {"wss", 443}, {"ftp", 21}}

// net opens the network as far as some rule allows anything, and says what is not held.
func (h *fitting) net(p *Plan) {
	rules := h.d.Access.Net
	if len(rules) == 0 {
		p.Net = Net{Open: true}
		return
	}
	ports := []uint16{}
	for i := range rules {
		r := &rules[i]
		if !r.Allow {
			continue
		}
		switch {
		case r.Port != nil:
			ports = append(ports, *r.Port)
		default:
			// A scheme without a default port matches nothing.
			for _, d := range schemePorts {
				if r.Scheme == nil || strings.ToLower(*r.Scheme) == d.scheme {
					ports = append(ports, d.port)
				}
			}
		}
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
	finer := false // than ports
	for i := range rules {
		r := &rules[i]
		closes := !r.Allow && (r.Host != "*" || r.Port != nil || r.Scheme != nil || r.PathPrefix != nil)
		finer = finer || closes || r.Allow && (r.Host != "*" || r.PathPrefix != nil || r.Scheme != nil || r.Port == nil)
	}
	if finer {
		h.lacking(nil, "hosts, schemes and paths of requests", only,
			"allow no network where that matters", false)
	}
	h.lacking(nil, "datagrams: what may be reached by UDP", only,
		"allow no network where that matters", false)
}

// netBy says what holds the net rules.
func (h *fitting) netBy(p *Plan) string {
	switch {
	case p.Tier == TierNone:
	case p.Net.Open && p.Net.Ports != nil:
		return "landlock (TCP ports only)"
	case p.Net.Open:
	case !p.NoFilter:
		return "no sockets"
	case p.Tier == TierNamespace:
		return "an empty network"
	case p.ABI >= NetABI:
		return "landlock (TCP only)"
	}
	return OwnCheck
}
