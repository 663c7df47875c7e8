package netrule

import (
	"fmt"
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
	// hosts maps a host to its root node; node 0 is the root of `*`. A child is a
	// node one path segment deeper. entries holds the last rule of each node,
	// scheme and port, so that a lookup costs the depth of the path.
	hosts    map[string]int32
	children map[edge]int32
	entries  map[key]int32
}

type compiled struct {
	wire Rule
	host string // canonical, or "*"
}

type edge struct {
	node    int32
	segment string
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
		hosts:        map[string]int32{},
		children:     map[edge]int32{},
		entries:      map[key]int32{},
	}
	nodes := int32(1)
	for i := range rules {
		r := &rules[i]
		host, k, segments, err := read(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name(i, r.Origin), err)
		}
		if host != anyHost {
			var ok bool
			if k.node, ok = p.hosts[host]; !ok {
				k.node = nodes
				p.hosts[host] = nodes
				nodes++
			}
		}
		for _, s := range segments {
			edge := edge{k.node, s}
			next, ok := p.children[edge]
			if !ok {
				next = nodes
				p.children[edge] = next
				nodes++
			}
			k.node = next
		}
		// Equal keys are equally specific, and then the last rule wins.
		p.entries[k] = int32(i)
		p.rules = append(p.rules, compiled{wire: clone(r), host: host})
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
// requested, request Target.URL of the decision.
func (p *Policy) Evaluate(unsafeURL string) (Decision, error) {
	if p == nil {
		p = &Policy{}
	}
	d := Decision{Rule: -1, policy: p}
	u, err := weburl.Parse(unsafeURL)
	if err != nil {
		return d, fmt.Errorf("this URL cannot be used: %w", err)
	}
	d.Target = Target{
		Scheme: u.Scheme, Host: comparableHost(u.Host), Port: int(u.Port),
		Path: u.Path, URL: u.String(), origin: u.Origin(),
	}
	if !p.Declared() {
		d.Allowed = true
		return d, nil
	}
	q := p.query(u, d.Target.Host)
	first := true
	err = weburl.PathReadings(u.RawPath, u.Special(), func(segments []string) bool {
		rule := q.winner(segments)
		allowed := rule >= 0 && p.rules[rule].wire.Allow
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

// query is a target with everything resolved that does not depend on the path.
type query struct {
	p       *Policy
	root    int32
	named   bool
	schemes [2]string
	ports   []int32
}

func (p *Policy) query(u weburl.URL, host string) *query {
	q := &query{p: p, schemes: [2]string{"", u.Scheme}}
	q.root, q.named = p.hosts[host]
	if u.HasPort {
		q.ports = append(q.ports, int32(u.Port))
		if def, ok := weburl.DefaultPort(u.Scheme); ok && def == u.Port {
			q.ports = append(q.ports, noPort)
		}
	}
	return q
}

// winner returns the index of the rule that decides for these segments, or -1.
func (q *query) winner(segments []string) int32 {
	if q.named {
		if rule := q.below(q.root, segments); rule >= 0 {
			return rule
		}
	}
	return q.below(0, segments)
}

func (q *query) below(node int32, segments []string) int32 {
	rule, best := int32(-1), -1
	for depth := 0; ; depth++ {
		for _, scheme := range q.schemes {
			for _, port := range q.ports {
				i, ok := q.p.entries[key{node, scheme, port}]
				if !ok {
					continue
				}
				score := depth
				if scheme != "" {
					score++
				}
				if port != noPort {
					score++
				}
				if score > best || score == best && i > rule {
					rule, best = i, score
				}
			}
		}
		if depth == len(segments) {
			return rule
		}
		next, ok := q.p.children[edge{node, segments[depth]}]
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

// name is what messages call a rule.
func name(index int, origin string) string {
	name := fmt.Sprintf("access.net[%d]", index)
	if origin != "" {
		name += " (" + origin + ")"
	}
	return name
}
