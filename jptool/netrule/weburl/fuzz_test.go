package weburl

import (
	"math/rand/v2"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// checkURL holds for every input whatever: what is accepted has one spelling, and
// nothing in front of its path can be read in a second way.
func checkURL(t *testing.T, raw string) {
	t.Helper()
	u, err := Parse(raw)
	if err != nil {
		return
	}
	if strings.ContainsAny(u.Host, "#/<>?@\\^|% \t\r\n\x00") || u.Host != strings.ToLower(u.Host) {
		t.Fatalf("%q: host %q", raw, u.Host)
	}
	for i := range len(u.Host) {
		if u.Host[i] >= 0x7f || u.Host[i] < ' ' {
			t.Fatalf("%q: host %q", raw, u.Host)
		}
	}
	if strings.ContainsAny(u.Host, "[]:") && (u.Host[0] != '[' || strings.IndexByte(u.Host, ']') != len(u.Host)-1) {
		t.Fatalf("%q: host %q", raw, u.Host)
	}
	again, err := Parse(u.String())
	if err != nil && len(u.String()) <= MaxLength {
		t.Fatalf("%q: %q does not parse: %v", raw, u.String(), err)
	}
	again.RawPath = u.RawPath
	if err == nil && again != u {
		t.Fatalf("%q: parsed again\n%+v, was\n%+v", raw, again, u)
	}
	_ = PathReadings(u.RawPath, u.Special(), func(segments []string) bool {
		if slices.Contains(segments, ".") || slices.Contains(segments, "..") {
			t.Fatalf("%q: reading %q", raw, segments)
		}
		return true
	})
	checkAgainstNetURL(t, raw, u)
}

// checkAgainstNetURL is the differential check: where net/url reads a host too, it is
// the same host and port. Allowed differences, by the standard: net/url keeps backslashes
// (and so finds another host, or the same by chance), and takes a host after
// exactly two slashes only.
func checkAgainstNetURL(t *testing.T, raw string, u URL) {
	t.Helper()
	g, err := url.Parse(raw)
	if err != nil || g.Host == "" || strings.Contains(raw, `\`) {
		return
	}
	host := g.Hostname()
	if strings.HasPrefix(g.Host, "[") {
		host = "[" + host + "]"
	}
	host, err = ParseHost(host)
	if err != nil || host != u.Host {
		t.Fatalf("%q: net/url has host %q (%v), we have %q", raw, g.Host, err, u.Host)
	}
	if p, err := strconv.Atoi(g.Port()); g.Port() != "" && (err != nil || p != int(u.Port)) {
		t.Fatalf("%q: net/url has port %q, we have %d", raw, g.Port(), u.Port)
	}
	if g.Scheme != u.Scheme {
		t.Fatalf("%q: net/url has scheme %q, we have %q", raw, g.Scheme, u.Scheme)
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range hostCases {
		f.Add("https://" + c.in + "/a/../%2e/b?q#f")
		f.Add("ssh://u@" + c.in + ":22//x;y")
	}
	f.Fuzz(checkURL)
}

// TestRandomURLs is the part of the fuzzing that runs in every test run.
func TestRandomURLs(t *testing.T) {
	const seed, runs = 76, 20_000
	r := rand.New(rand.NewPCG(seed, seed))
	atoms := strings.Split("a B . .. %2e 0x7f 0177 127 1 256 4294967296 [::1] [ ] :: 。 ß ü \u200d \u00ad xn-- xn--mnchen-3ya "+
		"XN-- @ u:p@ : :80 :443 / // \\ ? # %2f %252f %00 %41 %zz % | ; * א ﷺ ℀ . com example", " ")
	schemes := []string{"https://", "http:", "ws:\\\\", "ssh://", "git:", ""}
	accepted := 0
	for range runs {
		raw := schemes[r.IntN(len(schemes))]
		for range 1 + r.IntN(8) {
			raw += atoms[r.IntN(len(atoms))]
		}
		if _, err := Parse(raw); err == nil {
			accepted++
		}
		checkURL(t, raw)
	}
	if accepted < runs/20 || accepted > runs*19/20 {
		t.Errorf("seed %d: %d of %d were accepted, too one-sided to mean anything", seed, accepted, runs)
	}
}
