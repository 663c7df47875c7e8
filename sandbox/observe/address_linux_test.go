//go:build amd64 || arm64

package observe

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

// Addresses are written as package net/netip writes them.
func TestEndpoint(t *testing.T) {
	group := rapid.SampledFrom([]byte{0, 0, 0, 1, 0xff})
	rapid.Check(t, func(t *rapid.T) {
		ip := rapid.SliceOfN(group, 16, 16).Draw(t, "ip")
		if rapid.Bool().Draw(t, "ipv4") {
			ip = ip[:4]
		}
		port := rapid.Uint16().Draw(t, "port")
		addr, _ := netip.AddrFromSlice(ip)
		if got, want := endpoint(ip, port), netip.AddrPortFrom(addr.Unmap(), port).String(); got != want {
			t.Errorf("%v: got %s, want %s", ip, got, want)
		}
	})
	for want, ip := range map[string]netip.Addr{
		"[::1]:443": netip.IPv6Loopback(), "[::]:443": netip.IPv6Unspecified(), "192.0.2.1:443": netip.MustParseAddr("::ffff:192.0.2.1"),
		"127.0.0.1:443": netip.MustParseAddr("127.0.0.1"), "[2001:db8::8:800:200c:417a]:443": netip.MustParseAddr("2001:db8:0:0:8:800:200c:417a"),
	} {
		if got := endpoint(ip.AsSlice(), 443); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
