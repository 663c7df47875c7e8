// Package netrule evaluates the net rules of an access policy (RFD 076, "Network rules"): may this URL be
// requested?
//
// Hosts of rules and targets are read as browsers read them (package weburl), paths in every way that servers are
// known to read them. It does no I/O and resolves no name.
package netrule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/netrule/weburl"
)

// Policy is a compiled list of net rules (RFD 076, "Network rules"). It is
// immutable and safe for concurrent use. The zero value denies everything.
//
// It judges names, not machines: it does not stop a request to an allowed name that
// resolves to some other address, to localhost or 0.0.0.0 when 127.0.0.1 is denied,
// or one that an allowed server redirects. Whoever follows a redirect asks again.
type Policy struct {
	unrestricted bool
	rules        []compiled
	// children is a tree: below node 0 are the hosts, and below each host the segments of paths. entries holds
	// the last rule of each node, scheme and port, so that a lookup costs the depth of the path.
	children map[edge]int32
	entries  map[key]int32
}

// compiled is a rule in the form that targets are compared in.
type compiled struct {
	host     string // or "*"
	key             // without its node
	segments []string
	allow    bool
	name     string // in messages
	text     string // as the config file has it
}

type edge struct {
	node  int32
	label string
}

// key finds a rule; scheme "" and port noPort stand for fields that are absent.
type key struct {
	node   int32
	scheme string
	port   int32
}

const (
	anyHost = "*"
	noPort  = int32(-1)
)

// Compile checks and indexes rules. An empty list is a policy that restricts
// nothing (RFD 076, "Configuration"). Rules are not kept: changing them later changes
// nothing. The error names the first bad rule by its index and says what to write
// instead; then there is no policy, and nothing may run.
func Compile(rules []Rule) (*Policy, error) {
	p := &Policy{
		unrestricted: len(rules) == 0,
		children:     map[edge]int32{},
		entries:      map[key]int32{},
	}
	for i := range rules {
		r := &rules[i]
		c, err := read(r)
		c.name = fmt.Sprintf("access.net[%d]", i)
		if r.Origin != "" {
			c.name += " (" + r.Origin + ")"
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		k := c.key
		for _, label := range append([]string{c.host}, c.segments...) {
			edge := edge{k.node, label}
			if _, ok := p.children[edge]; !ok {
				p.children[edge] = int32(len(p.children) + 1)
			}
			k.node = p.children[edge]
		}
		// Equal keys are equally specific, and then the last rule wins.
		p.entries[k] = int32(i)
		p.rules = append(p.rules, c)
	}
	return p, nil
}

// Declared reports whether there are rules, and so whether what no rule matches is
// denied.
func (p *Policy) Declared() bool { return p == nil || !p.unrestricted }

// Evaluate decides whether a request to an absolute URL is allowed (RFD 076, "Rule
// evaluation"). Among the rules that match, one that names the host beats `*`, then
// the one with most of scheme, port and path segments wins, then the last.
//
//   - host: equal after browser parsing of both, without the root dot; userinfo never
//     counts. An IPv4-mapped IPv6 address is the IPv4 address, as for the kernel.
//   - scheme, port: equal. A rule without port means the default port of the target's
//     scheme, so a target with another port, or of a scheme without a default, is
//     matched only by rules that name the port.
//   - path_prefix: whole leading segments, decoded and free of dot segments. Where
//     servers read a path in more than one way, all readings must be allowed
//     (weburl.PathReadings has the list, and what it does not cover).
//
// A URL that cannot be read is an error, also when nothing
// is declared, and is not allowed. To be sure that what was checked is what is
// requested, request the String of the decision's Target.
func (p *Policy) Evaluate(unsafeURL string) (Decision, error) {
	if p == nil {
		p = &Policy{}
	}
	d := Decision{Rule: -1, policy: p}
	u, err := weburl.Parse(unsafeURL)
	if err != nil {
		return d, fmt.Errorf("this URL cannot be used: %w", err)
	}
	d.Target, d.host = u, comparableHost(u.Host)
	if !p.Declared() {
		d.Allowed = true
		return d, nil
	}
	first := true
	err = weburl.PathReadings(u.RawPath, u.Special(), func(segments []string) bool {
		rule := int32(-1)
		for _, host := range []string{d.host, anyHost} {
			if root, ok := p.children[edge{0, host}]; ok && rule < 0 {
				rule = p.winner(u, root, segments)
			}
		}
		allowed := rule >= 0 && p.rules[rule].allow
		if first || !allowed {
			d.Rule, d.Allowed = int(rule), allowed
			if !first {
				d.OtherReading = weburl.JoinPath(segments)
			}
		}
		first = false
		return allowed
	})
	if err != nil {
		d.Rule, d.Allowed, d.OtherReading = -1, false, ""
		return d, fmt.Errorf("this URL cannot be used: %w", err)
	}
	return d, nil
}

// winner returns the index of the rule at or below a node that decides for these segments, or -1.
func (p *Policy) winner(u weburl.URL, node int32, segments []string) int32 {
	ports := make([]int32, 0, 2)
	if u.HasPort {
		ports = append(ports, int32(u.Port))
		if def, ok := weburl.DefaultPort(u.Scheme); ok && def == u.Port {
			ports = append(ports, noPort)
		}
	}
	rule, best := int32(-1), -1
	for depth := 0; ; depth++ {
		for _, scheme := range []string{"", u.Scheme} {
			for _, port := range ports {
				i, ok := p.entries[key{node, scheme, port}]
				score := depth
				if scheme != "" {
					score++
				}
				if port != noPort {
					score++
				}
				if ok && (score > best || score == best && i > rule) {
					rule, best = i, score
				}
			}
		}
		if depth == len(segments) {
			return rule
		}
		next, ok := p.children[edge{node, segments[depth]}]
		if !ok {
			return rule
		}
		node = next
	}
}

// comparableHost is the form in which hosts of rules and targets are compared.
func comparableHost(host string) string {
	return strings.TrimSuffix(weburl.Unmapped(host), ".")
}

// Decision is what the net rules say about one target. The zero value denies.
type Decision struct {
	Allowed bool
	// Rule is the index of the rule that decided, or -1 when none matched.
	Rule int
	// Target is the URL as it was read. Request its String, so that no other parser can take it for another host.
	Target weburl.URL
	// OtherReading is the path as some servers would read it, when that reading
	// is denied and the plain one is not; else it is empty.
	OtherReading string

	host   string // of Target, as rules are compared with it
	policy *Policy
}

// NearMiss is a rule that did not decide, and why.
type NearMiss struct {
	Rule int
	Why  string
}

// Explain says in one sentence which rule decided and, for a denial, what would have
// to change. It holds no query and no userinfo of the target.
func (d Decision) Explain() string {
	if d.Target.Scheme == "" {
		return "the target is denied because it is not a URL that names a host"
	}
	target := d.Target.Origin() + d.Target.Path
	if !d.policy.Declared() {
		return target + " is allowed because access.net has no rules"
	}
	if d.OtherReading != "" {
		target += fmt.Sprintf(", which some servers read as %s,", d.OtherReading)
	}
	switch {
	case d.Allowed:
		return fmt.Sprintf("%s is allowed by %s", target, d.policy.describe(d.Rule))
	case d.Rule >= 0 && d.policy.rules[d.Rule].host == anyHost:
		return fmt.Sprintf("%s is denied by %s; to allow it, %s", target, d.policy.describe(d.Rule), d.remedy())
	case d.Rule >= 0:
		return fmt.Sprintf("%s is denied by %s; to allow it, change that rule, or add one after it that is as specific and has allow = true",
			target, d.policy.describe(d.Rule))
	}
	if misses := d.NearMisses(); len(misses) > 0 {
		// A rule for this very host says more than one for its parent domain.
		i := max(slices.IndexFunc(misses, func(m NearMiss) bool { return d.policy.rules[m.Rule].host == d.host }), 0)
		target += " is denied: no rule matches, " + d.policy.rules[misses[i].Rule].name + " " + misses[i].Why
	} else {
		target += " is denied: no rule of access.net names this host"
	}
	return target + "; to allow it, " + d.remedy()
}

func (d Decision) remedy() string {
	switch {
	case d.zeroPort():
		return "write another port than 0, or none"
	case d.Target.Port == 0:
		return "write the port in the URL and in a rule"
	}
	// A rule, in the form of the config file, that would match the target.
	port := ""
	if def, ok := weburl.DefaultPort(d.Target.Scheme); !ok || def != d.Target.Port {
		port = fmt.Sprintf(", port = %d", d.Target.Port)
	}
	return fmt.Sprintf("add { host = %q%s, allow = true }", d.host, port)
}

// zeroPort reports whether the target names port 0, other than by naming none.
func (d Decision) zeroPort() bool {
	return d.Target.Port == 0 && strings.HasSuffix(d.Target.Origin(), ":0")
}

// NearMisses lists, in order, the rules for the target's host that did not decide, and
// rules for a parent or child domain of it, which people take for matches.
func (d Decision) NearMisses() []NearMiss {
	var misses []NearMiss
	if d.Target.Scheme == "" {
		return nil
	}
	for i := range d.policy.rules {
		if why := d.missed(&d.policy.rules[i]); i != d.Rule && why != "" {
			misses = append(misses, NearMiss{Rule: i, Why: why})
		}
	}
	return misses
}

// missed says why r did not decide, or "" for a rule about another host.
func (d Decision) missed(r *compiled) string {
	def, special := weburl.DefaultPort(d.Target.Scheme)
	switch {
	case strings.HasSuffix(d.host, "."+r.host) || strings.HasSuffix(r.host, "."+d.host):
		return fmt.Sprintf("is for %s, and a host matches only exactly", r.host)
	case r.host != d.host && r.host != anyHost:
		return ""
	case r.scheme != "" && r.scheme != d.Target.Scheme:
		return fmt.Sprintf("is for scheme %s only", r.scheme)
	case d.zeroPort():
		return "cannot match, because no rule can name port 0, which nothing listens on"
	case d.Target.Port == 0:
		return fmt.Sprintf("cannot match, because the target names no port and %s has no default", d.Target.Scheme)
	case r.port != noPort && r.port != int32(d.Target.Port):
		return fmt.Sprintf("is for port %d only", r.port)
	case r.port == noPort && !special:
		return fmt.Sprintf("names no port, and %s has no default port that it could mean", d.Target.Scheme)
	case r.port == noPort && def != d.Target.Port:
		return fmt.Sprintf("names no port and so is for the default port %d only", def)
	}
	matches := false
	_ = weburl.PathReadings(d.Target.Path, special, func(segments []string) bool {
		matches = len(segments) >= len(r.segments) && slices.Equal(segments[:len(r.segments)], r.segments)
		return false
	})
	switch {
	case !matches:
		return fmt.Sprintf("is for paths below %q only", weburl.JoinPath(r.segments))
	case d.Rule < 0:
		return "matches the plain reading of the path only"
	}
	return "matches too, and is less specific or comes earlier"
}

// describe names a rule and writes it as the config file has it.
func (p *Policy) describe(i int) string { return p.rules[i].name + " " + p.rules[i].text }
