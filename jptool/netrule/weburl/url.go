// Package weburl reads absolute URLs and host names the way browsers do (WHATWG
// URL Standard), so that a rule and a target mean the same host and path however
// either is spelled (RFD 076, "Network rules"). It does no I/O and resolves no name.
//
// It accepts less than the standard, never more. Refused are:
//
//   - URLs that name no host (file:, data:, mailto:) and relative references;
//   - hosts with an empty label, hosts longer than DNS can hold, and names that the
//     versions of Unicode in use today read differently (U+1E9E);
//   - URLs longer than [MaxLength], and URLs that are not UTF-8;
//   - a backslash in the authority of a scheme that the standard does not call special,
//     because clients disagree on what it ends.
//
// Hosts of those schemes are read as domain names too, where the standard keeps them as
// opaque text: DNS ignores case, and a rule on github.com has to catch git://GITHUB.com.
//
// It does not stop a client that reads URLs differently from reaching something
// else than what was judged. A caller that must be sure sends [URL.String], not the
// text it was given.
package weburl

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxLength is the longest URL that is read, in bytes. Servers stop far earlier; the
// bound keeps a hostile URL from costing more than its length is worth.
const MaxLength = 64 << 10

// URL is one parsed absolute URL that names a host. Userinfo and fragment are
// dropped: the first never says where a request goes, the second never leaves the
// client.
type URL struct {
	// Scheme is in lower case, without the colon.
	Scheme string
	// Host is what [ParseHost] returns.
	Host string
	// Port is the written port, else the default of the scheme, else 0.
	Port uint16
	// HasPort is false when no port is written and the scheme has no default.
	HasPort bool
	// Path is free of dot segments and percent-encoded as browsers send it.
	Path string
	// RawPath is the path as it was written, for [PathReadings].
	RawPath string
	// Query is without the question mark, which HasQuery says was there.
	Query    string
	HasQuery bool
}

// DefaultPort returns the default port of a special scheme in lower case (http,
// https, ws, wss, ftp); the second result is false for every other scheme.
func DefaultPort(scheme string) (uint16, bool) {
	switch scheme {
	case "http", "ws":
		return 80, true
	case "https", "wss":
		return 443, true
	case "ftp":
		return 21, true
	}
	return 0, false
}

// ValidScheme reports whether s is a scheme: a letter, then letters, digits, `+`, `-`
// and `.`, in any case.
func ValidScheme(s string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	return strings.IndexAny(s, letters) == 0 && strings.Trim(s, letters+"0123456789+.-") == ""
}

// Parse reads an absolute URL that names a host. Every error means that the URL must
// not be used; none repeats userinfo or query, which may hold secrets.
func Parse(raw string) (URL, error) {
	if len(raw) > MaxLength {
		return URL{}, fmt.Errorf("it is %d bytes long, and %d are the limit", len(raw), MaxLength)
	}
	if !utf8.ValidString(raw) {
		return URL{}, errors.New("it is not valid UTF-8")
	}
	scheme, rest, ok := strings.Cut(strip(raw), ":")
	if !ok || !ValidScheme(scheme) {
		return URL{}, errors.New(`it has no scheme: write it in full, such as "https://example.com/"`)
	}
	u := URL{Scheme: strings.ToLower(scheme)}
	u.Port, u.HasPort = DefaultPort(u.Scheme)
	special, ends := u.HasPort, "/?#"
	switch {
	case u.Scheme == "file":
		return URL{}, errors.New("a file: URL names no network host")
	case special:
		// Browsers take any number of slashes of either kind, also none.
		rest, ends = strings.TrimLeft(rest, `/\`), `/\?#`
	case strings.HasPrefix(rest, "//"):
		rest = rest[2:]
	default:
		return URL{}, fmt.Errorf(`"%s:" is not followed by "//" and a host`, u.Scheme)
	}

	authority, tail := rest, ""
	if i := strings.IndexAny(rest, ends); i >= 0 {
		authority, tail = rest[:i], rest[i:]
	}
	if strings.Contains(authority, `\`) {
		return URL{}, errors.New("its host part has a backslash, which clients read differently")
	}
	if err := u.parseAuthority(authority); err != nil {
		return URL{}, err
	}
	tail, _, _ = strings.Cut(tail, "#")
	u.RawPath, u.Query, u.HasQuery = strings.Cut(tail, "?")
	u.Path = normalPath(u.RawPath, special)
	if u.HasQuery {
		set := queryEscapes
		if special {
			set = specialQueryEscapes
		}
		u.Query = escape(u.Query, set)
	}
	return u, nil
}

// parseAuthority sets host and port from what stands between the slashes and the path.
func (u *URL) parseAuthority(authority string) error {
	// The last @ counts: api.github.com@evil.com and a@api.github.com@evil.com
	// are both evil.com.
	hostport := authority[strings.LastIndexByte(authority, '@')+1:]
	bracket := strings.LastIndexByte(hostport, ']') + 1 // colons inside brackets are the address's own
	host, port, _ := strings.Cut(hostport[bracket:], ":")
	host = hostport[:bracket] + host
	if host == "" {
		return errors.New("it names no host")
	}
	var err error
	if u.Host, err = ParseHost(host); err != nil {
		return err
	}
	if port == "" {
		return nil
	}
	n, err := strconv.ParseUint(port, 10, 16)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("port %s is above 65535", port)
	case err != nil:
		return fmt.Errorf("port %q is not a number", port)
	}
	u.Port, u.HasPort = uint16(n), true
	return nil
}

// Special reports whether the scheme is one the standard treats specially: it has a
// default port, and a backslash is a slash.
func (u URL) Special() bool {
	_, ok := DefaultPort(u.Scheme)
	return ok
}

// Origin returns scheme, host and port, without the port when it is the default.
func (u URL) Origin() string {
	def, special := DefaultPort(u.Scheme)
	if !u.HasPort || special && def == u.Port {
		return u.Scheme + "://" + u.Host
	}
	return u.Scheme + "://" + u.Host + ":" + strconv.Itoa(int(u.Port))
}

// String returns the URL as it should be requested: what was parsed, and nothing that
// another parser could read in a second way in front of the path. Parsing it again
// gives the same URL but for RawPath.
func (u URL) String() string {
	s := u.Origin() + u.Path
	if u.HasQuery {
		s += "?" + u.Query
	}
	return s
}

// strip removes what browsers remove before they parse: controls and spaces at both
// ends, tabs and line ends everywhere.
func strip(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' })
	if !strings.ContainsAny(s, "\t\n\r") {
		return s
	}
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(s)
}

// Bytes that are percent-encoded besides controls, the space and all above 0x7e.
const (
	pathEscapes         = "\"#<>?^`{}"
	queryEscapes        = `"#<>`
	specialQueryEscapes = `"#<>'`
)

// escape percent-encodes s. It leaves every % alone, as browsers do.
func escape(s, set string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || strings.IndexByte(set, c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
