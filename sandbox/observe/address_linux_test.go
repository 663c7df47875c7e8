//go:build amd64 || arm64

package observe

import (
	"net/netip"
	"testing"
)

// Addresses are written as people write them: IPv4 addresses in IPv6 as those of IPv4.
func TestEndpoint(t *testing.T) {
	for want, ip := range map[string]netip.Addr{
		"[::1]:443": netip.IPv6Loopback(), "[::]:443": netip.IPv6Unspecified(), "192.0.2.1:443": netip.MustParseAddr("::ffff:192.0.2.1"),
		"127.0.0.1:443": netip.MustParseAddr("127.0.0.1"), "[2001:db8::8:800:200c:417a]:443": netip.MustParseAddr("2001:db8:0:0:8:800:200c:417a"),
	} {
		if got := endpoint(ip.AsSlice(), 443); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
