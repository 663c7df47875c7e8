package netrule

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jptools/jptools/jptool/netrule/weburl"
)

// Rule allows or denies requests to one host (RFD 076, "Network rules").
// Host "*" matches any host; a rule naming the host always beats it.
type Rule struct {
	Host       string  `json:"host" required:""`
	Scheme     *string `json:"scheme"`
	Port       *uint16 `json:"port"`
	PathPrefix *string `json:"path_prefix"`
	Allow      bool    `json:"allow"`

	// Origin is where a person wrote the rule; it never crosses the wire.
	Origin string `json:"-"`
}

// read checks a rule. The second line of an error says what to write.
func read(r *Rule) (c compiled, err error) {
	c.port, c.allow, c.text = noPort, r.Allow, r.Text()
	if c.host, err = ruleHost(r.Host); err != nil {
		return c, err
	}
	if r.Scheme != nil {
		if c.scheme, err = ruleScheme(*r.Scheme); err != nil {
			return c, err
		}
	}
	if r.Port != nil {
		if c.port = int32(*r.Port); c.port == 0 {
			return c, errors.New("port 0 cannot be connected to\n" +
				"leave port out for the default port of the scheme, or write one rule per port")
		}
	}
	if r.PathPrefix != nil {
		c.segments, err = rulePath(*r.PathPrefix)
	}
	return c, err
}

// ruleHost returns the host of a rule in the form that targets are compared in, or
// an error whose second line says what to write. What a person could mean as a
// pattern is refused: as a literal it would never match, and a deny that never
// matches is an open door.
func ruleHost(s string) (string, error) {
	if s == anyHost {
		return s, nil
	}
	switch {
	case s == "":
		return "", errors.New("host is empty\nname the host, or write host = \"*\" for any")
	case strings.Contains(s, "://"):
		help := "write host, scheme, port and path_prefix separately"
		if u, err := weburl.Parse(s); err == nil {
			help = fmt.Sprintf("write host = %q, scheme = %q", u.Host, u.Scheme)
		}
		return "", fmt.Errorf("host %q is a URL\n%s", s, help)
	case strings.Contains(s, "*"):
		return "", fmt.Errorf("host %q: only \"*\" alone stands for any host\nwrite one rule per host", s)
	case bareIPv6(s):
		return "", fmt.Errorf("host %q is an IPv6 address without brackets\nwrite host = \"[%s]\"", s, s)
	case strings.Contains(s, "@"):
		return "", fmt.Errorf("host %q: userinfo never takes part in a rule\nwrite only what follows the last @", s)
	case strings.Contains(s, "/"):
		return "", fmt.Errorf("host %q holds a path\nwrite it as path_prefix", s)
	case !strings.HasPrefix(s, "[") && strings.Contains(s, ":") || strings.Contains(s, "]:"):
		return "", fmt.Errorf("host %q holds a port\nwrite it as port", s)
	}
	host, err := weburl.ParseHost(s)
	if err != nil {
		return "", fmt.Errorf("%w\nwrite the host as it stands in a URL, such as \"api.example.com\"", err)
	}
	return comparableHost(host), nil
}

func bareIPv6(s string) bool {
	if strings.Count(s, ":") < 2 {
		return false
	}
	_, err := weburl.ParseHost("[" + s + "]")
	return err == nil
}

func ruleScheme(s string) (string, error) {
	switch {
	case s == "" || s == "*":
		return "", fmt.Errorf("scheme %q\nleave scheme out for any", s)
	case !weburl.ValidScheme(s):
		name, _, _ := strings.Cut(s, ":")
		return "", fmt.Errorf("scheme %q is not a scheme\nwrite only its name, such as %q", s,
			map[bool]string{true: name, false: "https"}[weburl.ValidScheme(name)])
	case strings.EqualFold(s, "file"):
		return "", errors.New("scheme \"file\" names no network host\ngrant files in access.fs")
	}
	return strings.ToLower(s), nil
}

// rulePath returns the decoded segments of a prefix. A prefix must have one reading:
// a rule that servers understand in two ways could not be held in both.
func rulePath(s string) ([]string, error) {
	if s == "" || s == "/" {
		return nil, nil
	}
	path := strings.TrimSuffix(s, "/")
	bad := func(what, help string) ([]string, error) {
		return nil, fmt.Errorf("path_prefix %q %s\n%s", s, what, help)
	}
	switch {
	case s[0] != '/':
		return bad("does not start with a slash", fmt.Sprintf("write %q", "/"+s))
	case strings.ContainsAny(s, "?#"):
		return bad("holds a query or fragment, which never take part", "write only the path")
	case strings.Contains(s, "*"):
		return bad("is no pattern: everything below it matches anyway",
			"write the prefix without *, or %2A for the character itself")
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return bad("holds a control character", "write it without")
	case strings.Contains(path, "//") || strings.HasSuffix(path, "/"):
		return bad("has an empty segment", "write single slashes")
	case weburl.StrayPercent(path):
		return bad("has a % that starts no encoded byte", "write %25 for the character itself")
	}
	var first []string
	var other string
	err := weburl.PathReadings(path, true, func(segments []string) bool {
		if first == nil {
			first = segments
		} else if !slices.Equal(first, segments) {
			other = weburl.JoinPath(segments)
		}
		return other == ""
	})
	switch {
	case err != nil || other != "":
		return bad("is read by some servers as another path"+map[bool]string{true: " (" + other + ")"}[other != ""],
			"write the prefix up to the segment before")
	case len(first) != strings.Count(path, "/"):
		return bad("has a dot segment", fmt.Sprintf("write %q", weburl.JoinPath(first)))
	}
	return first, nil
}

// Text is the rule as an inline table of TOML.
func (r *Rule) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "{ host = %q", r.Host)
	if r.Scheme != nil {
		fmt.Fprintf(&b, ", scheme = %q", *r.Scheme)
	}
	if r.Port != nil {
		fmt.Fprintf(&b, ", port = %d", *r.Port)
	}
	if r.PathPrefix != nil {
		fmt.Fprintf(&b, ", path_prefix = %q", *r.PathPrefix)
	}
	fmt.Fprintf(&b, ", allow = %t }", r.Allow)
	return b.String()
}
