package weburl

import (
	"fmt"
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
	return formatIPv4(uint32(ip)), nil
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
	for i := range len(s) {
		d := unhex(s[i])
		if d < 0 || d >= base {
			return 0, false
		}
		n = min(n*uint64(base)+uint64(d), 1<<32)
	}
	return n, true
}

// parseIPv6 reads an address without its brackets: up to eight groups, one `::` for at
// least one of them, and an IPv4 address as the last two.
func parseIPv6(s string) (string, error) {
	if strings.Contains(s, "%") {
		return "", fmt.Errorf("IPv6 address %q has a zone, which names a local interface", s)
	}
	bad := fmt.Errorf("%q is not an IPv6 address", s)
	var groups [8]uint16
	n, gap := 0, -1
	rest, ok := strings.CutPrefix(s, "::")
	if ok {
		gap = 0
		n++
	}
	for rest != "" {
		if n == len(groups) {
			return "", bad
		}
		group, after, more := strings.Cut(rest, ":")
		if !more && strings.Contains(group, ".") {
			v4, ok := parseQuad(group)
			if !ok || n > 6 {
				return "", bad
			}
			groups[n], groups[n+1] = uint16(v4>>16), uint16(v4)
			n += 2
			break
		}
		if group == "" || len(group) > 4 || more && after == "" {
			return "", bad
		}
		for i := range len(group) {
			d := unhex(group[i])
			if d < 0 {
				return "", bad
			}
			groups[n] = groups[n]<<4 | uint16(d)
		}
		n++
		rest = after
		if strings.HasPrefix(rest, ":") {
			if gap >= 0 || n == len(groups) {
				return "", bad
			}
			gap, rest = n, rest[1:]
			n++
		}
	}
	switch {
	case gap >= 0:
		// What follows the gap moves to the end; the gap itself counted as one.
		tail := n - gap - 1
		copy(groups[len(groups)-tail:], groups[gap+1:n])
		clear(groups[gap : len(groups)-tail])
	case n != len(groups):
		return "", bad
	}
	return formatIPv6(groups), nil
}

// parseQuad reads exactly four decimal numbers without leading zeros.
func parseQuad(s string) (ip uint32, ok bool) {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return 0, false
	}
	for _, part := range parts {
		n, err := strconv.ParseUint(part, 10, 8)
		if err != nil || len(part) > 1 && part[0] == '0' {
			return 0, false
		}
		ip = ip<<8 | uint32(n)
	}
	return ip, true
}

// Unmapped returns the IPv4 address of an IPv4-mapped IPv6 address in the form of
// [ParseHost], and any other host as it is.
func Unmapped(host string) string {
	groups, ok := strings.CutPrefix(host, "[::ffff:")
	if !ok {
		return host
	}
	high, low, ok := strings.Cut(strings.TrimSuffix(groups, "]"), ":")
	h, err1 := strconv.ParseUint(high, 16, 16)
	l, err2 := strconv.ParseUint(low, 16, 16)
	if !ok || err1 != nil || err2 != nil {
		return host
	}
	return formatIPv4(uint32(h<<16 | l))
}

func formatIPv4(ip uint32) string {
	return fmt.Sprintf("%d.%d.%d.%d", ip>>24, ip>>16&0xff, ip>>8&0xff, ip&0xff)
}

// formatIPv6 writes the standard's form: the first longest run of two or more zero
// groups is left out, and an embedded IPv4 address is not written with dots.
func formatIPv6(groups [8]uint16) string {
	start, length := -1, 1
	for i := 0; i < 8; {
		j := i
		for j < 8 && groups[j] == 0 {
			j++
		}
		if j-i > length {
			start, length = i, j-i
		}
		i = max(j, i+1)
	}
	b := append(make([]byte, 0, 41), '[')
	for i := 0; i < 8; i++ {
		if i == start {
			b = append(b, "::"...)
			i += length - 1
			continue
		}
		if i > 0 && i != start+length {
			b = append(b, ':')
		}
		b = strconv.AppendUint(b, uint64(groups[i]), 16)
	}
	return string(append(b, ']'))
}
