package netrule

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/netrule/weburl"
)

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
