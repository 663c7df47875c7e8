package weburl

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

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
