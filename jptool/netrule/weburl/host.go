package weburl

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// browserIDNA is UTS #46 with the switches of the standard's "domain to ASCII" for
// lenient use. It is built on first use: most processes never see a name that is not
// plain ASCII.
var browserIDNA = sync.OnceValue(func() *idna.Profile {
	return idna.New(
		idna.MapForLookup(),
		idna.Transitional(false),     // ß stays a letter of its own
		idna.StrictDomainName(false), // _ and the like; forbidden bytes are checked below
		idna.CheckHyphens(false),     // r3---sn.example is in use
		idna.CheckJoiners(true),      // an invisible joiner must not make a second name
		idna.BidiRule(),
		idna.VerifyDNSLength(false),
	)
})

// maxHost is the longest host that is read, decoded, in bytes. DNS ends at 253 ASCII
// characters, which come from four times as many bytes at most. Punycode takes time
// with the square of the length, so there has to be an end.
const maxHost = 1024

// ParseHost returns the one ASCII spelling of a host: a domain name in lower case and
// Punycode, an IPv4 address as dotted quad, or an IPv6 address in brackets, compressed
// and without embedded dots. It refuses zone identifiers, every character that may not
// stand in a host, and empty labels, which DNS has not. The root dot of a domain name
// stays.
//
// It does not say whether two names lead to the same machine.
func ParseHost(s string) (string, error) {
	if strings.HasPrefix(s, "[") {
		if !strings.HasSuffix(s, "]") {
			return "", fmt.Errorf("host %q has an unclosed bracket", s)
		}
		return parseIPv6(s[1 : len(s)-1])
	}
	decoded := decode(s)
	if len(decoded) > maxHost {
		return "", fmt.Errorf("the host is %d bytes long, and no name in DNS is", len(decoded))
	}
	domain, err := domainToASCII(decoded)
	if err != nil {
		return "", fmt.Errorf("host %q: %w", s, err)
	}
	if strings.HasPrefix(domain, ".") || strings.Contains(domain, "..") || domain == "" {
		return "", fmt.Errorf("host %q is empty or has an empty label", s)
	}
	for i := range len(domain) {
		if c := domain[i]; c <= ' ' || c >= 0x7f || strings.IndexByte(`#%/:<>?@[\]^|`, c) >= 0 {
			return "", fmt.Errorf("host %q contains %q, which no host may", s, c)
		}
	}
	if endsInNumber(domain) {
		return parseIPv4(domain)
	}
	return domain, nil
}

func domainToASCII(s string) (string, error) {
	if !utf8.ValidString(s) {
		return "", errors.New("it is not valid UTF-8")
	}
	if plainASCII(s) {
		return strings.ToLower(s), nil
	}
	// Up to Unicode 15.0 this letter is ss, since then ß: two names for one URL.
	if strings.ContainsRune(s, '\u1e9e') {
		return "", errors.New("clients disagree on the letter U+1E9E; write ß or ss")
	}
	// The root dot is taken off before and put back after, so that an empty last
	// label can only come from what idna makes empty, such as a lone "xn--" (which
	// would turn example.com.xn-- into example.com.), and is refused.
	name := strings.NewReplacer("\u3002", ".", "\uff0e", ".", "\uff61", ".").Replace(s)
	name, root := strings.CutSuffix(name, ".")
	for label := range strings.SplitSeq(name, ".") {
		if hidesPunycode(label) {
			return "", fmt.Errorf("label %q turns into no name that browsers look up", label)
		}
	}
	domain, err := browserIDNA().ToASCII(name)
	if err == nil {
		// idna looks for right-to-left characters before it maps, so that those that
		// only the mapping makes (U+2138 becomes U+05D3) escape the bidi rule the
		// first time. A name has to stand on its own.
		var again string
		if again, err = browserIDNA().ToASCII(domain); err == nil && again != domain {
			err = errors.New("its ASCII form is not stable")
		}
	}
	if err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "idna: "))
	}
	if domain == "" || strings.HasSuffix(domain, ".") {
		return "", errors.New("its last label is empty")
	}
	if root {
		domain += "."
	}
	return domain, nil
}

// hidesPunycode reports whether label becomes something that starts with xn-- and still
// has characters beyond ASCII. UTS #46 refuses that; idna decodes the label all the same,
// to a name that a person did not write and a browser would not look up.
func hidesPunycode(label string) bool {
	if plainASCII(label) {
		return false
	}
	// The digit in front keeps idna from decoding, so that this is the mapped label.
	// Whether it is valid is not asked here, hence no error.
	mapped, _ := browserIDNA().ToUnicode("0" + label)
	mapped = strings.TrimPrefix(mapped, "0")
	if !strings.HasPrefix(mapped, "xn--") {
		return strings.Contains(mapped, ".") // a label that splits in two hides one
	}
	return strings.ContainsFunc(mapped, beyondASCII)
}

func beyondASCII(r rune) bool { return r >= utf8.RuneSelf }

// plainASCII reports whether IDNA would do nothing to s but lower its case.
func plainASCII(s string) bool {
	return !strings.ContainsFunc(s, beyondASCII) && !strings.Contains("."+strings.ToLower(s), ".xn--")
}

// encoded matches a percent-encoded byte.
var encoded = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("%[0-9A-Fa-f]{2}") })

// decode replaces each %XX once; a % that two hexadecimal digits do not follow stays.
func decode(s string) string {
	if !strings.Contains(s, "%") {
		return s // most have none, and a pattern allocates
	}
	return encoded().ReplaceAllStringFunc(s, func(code string) string {
		b, _ := hex.DecodeString(code[1:]) // two digits, as the pattern says
		return string(b)
	})
}

// StrayPercent reports whether s has a % that starts no percent-encoded byte.
func StrayPercent(s string) bool { return strings.Contains(encoded().ReplaceAllString(s, ""), "%") }

// endsInNumber is the standard's test for what has to be an IPv4 address or nothing.
func endsInNumber(domain string) bool {
	s := strings.TrimSuffix(domain, ".")
	last := s[strings.LastIndexByte(s, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := parseIPv4Part(last)
	return ok
}

// parseIPv4 reads one to four parts in decimal, octal or hexadecimal, the last of
// which fills all bytes that are left: 127.1, 0x7f.1, 017700000001, 2130706433.
func parseIPv4(s string) (string, error) {
	parts := strings.Split(strings.TrimSuffix(s, "."), ".")
	if len(parts) > 4 {
		return "", fmt.Errorf("host %q ends in a number and is no IPv4 address", s)
	}
	var ip uint64
	for i, part := range parts {
		n, ok := parseIPv4Part(part)
		limit, shift := uint64(256), 8*(3-i)
		if i == len(parts)-1 {
			limit, shift = 1<<(8*(5-len(parts))), 0
		}
		if !ok || n >= limit {
			return "", fmt.Errorf("host %q ends in a number and is no IPv4 address", s)
		}
		ip |= n << shift
	}
	return netip.AddrFrom4([4]byte{byte(ip >> 24), byte(ip >> 16), byte(ip >> 8), byte(ip)}).String(), nil
}

// parseIPv4Part reads one part. A number too large for any part saturates: it still
// is a number, and so the host is an invalid address and not a domain name.
func parseIPv4Part(s string) (n uint64, ok bool) {
	base := 10
	switch {
	case s == "":
		return 0, false
	case len(s) >= 2 && (s[:2] == "0x" || s[:2] == "0X"):
		s, base = s[2:], 16
	case len(s) >= 2 && s[0] == '0':
		s, base = s[1:], 8
	}
	if strings.Trim(strings.ToLower(s), "0123456789abcdef"[:base]) != "" {
		return 0, false
	}
	n, _ = strconv.ParseUint(s, base, 64) // 0 for nothing, the largest number for one that is too large
	return n, true
}

// parseIPv6 reads an address without its brackets and writes the standard's form, which has no embedded dots.
func parseIPv6(s string) (string, error) {
	if strings.Contains(s, "%") {
		return "", fmt.Errorf("IPv6 address %q has a zone, which names a local interface", s)
	}
	ip, err := netip.ParseAddr(s)
	switch {
	case err != nil || !ip.Is6():
		return "", fmt.Errorf("%q is not an IPv6 address", s)
	case ip.Is4In6():
		b := ip.As16()
		return fmt.Sprintf("[::ffff:%x:%x]", uint16(b[12])<<8|uint16(b[13]), uint16(b[14])<<8|uint16(b[15])), nil
	}
	return "[" + ip.String() + "]", nil
}

// Unmapped returns the IPv4 address of an IPv4-mapped IPv6 address in the form of
// [ParseHost], and any other host as it is.
func Unmapped(host string) string {
	if inner, ok := strings.CutPrefix(host, "["); ok {
		if ip, err := netip.ParseAddr(strings.TrimSuffix(inner, "]")); err == nil && ip.Is4In6() {
			return ip.Unmap().String()
		}
	}
	return host
}
