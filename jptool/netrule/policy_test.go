package netrule

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/jptool/netrule/weburl"
)

func mustCompile(t testing.TB, rules ...Rule) *Policy {
	t.Helper()
	p, err := Compile(rules)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// ruleOf reads "allow|deny host [scheme=…] [port=…] [path=…]".
func ruleOf(t testing.TB, s string) Rule {
	t.Helper()
	words := strings.Fields(s)
	r := Rule{Host: words[1], Allow: words[0] == "allow"}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		switch k {
		case "scheme":
			r.Scheme = &v
		case "path":
			r.PathPrefix = &v
		case "port":
			var n uint16
			if _, err := fmt.Sscan(v, &n); err != nil {
				t.Fatal(err)
			}
			r.Port = &n
		}
	}
	return r
}

func policyOf(t testing.TB, rules string) *Policy {
	t.Helper()
	var list []Rule
	for _, s := range strings.Split(rules, "; ") {
		list = append(list, ruleOf(t, s))
	}
	return mustCompile(t, list...)
}

func TestEvaluate(t *testing.T) {
	const rfd = "allow api.github.com; deny api.github.com path=/admin"
	const local = "allow *; deny 127.0.0.1"
	for _, c := range []struct {
		rules, target string
		allowed       bool
		rule          int
	}{
		// RFD 076, "Network rules", literally.
		{rfd, "https://api.github.com/repos", true, 0},
		{rfd, "https://api.github.com/admin/users", false, 1},
		{rfd, "https://api.github.com.evil.com/", false, -1},
		{rfd, "https://example.com", false, -1},
		{rfd, "https://api.github.com/administration", true, 0},
		{rfd, "https://api.github.com/admin", false, 1},
		{rfd, "https://api.github.com/admin/", false, 1},
		{"allow münchen.de", "https://xn--mnchen-3ya.de/", true, 0},
		{"allow münchen.de", "https://MÜNCHEN.de/", true, 0},
		{"allow xn--mnchen-3ya.de", "https://m%C3%BCnchen.de/", true, 0},
		{"allow api.example.com scheme=https", "https://api.example.com/x", true, 0},
		{"allow api.example.com scheme=https", "http://api.example.com/x", false, -1},
		{"allow API.Example.COM. scheme=HTTPS", "HTTPS://api.example.com/x", true, 0},

		// Smuggling.
		{rfd, "https://api.github.com@evil.com/", false, -1},
		{rfd, `https://evil.com\@api.github.com/`, false, -1},
		{rfd, "https://evil.com#@api.github.com/", false, -1},
		{rfd, "https://api.github.com./admin", false, 1},
		{rfd, "https://ａpi.github。com/admin", false, 1},
		{rfd, "https://api.github.com:443/admin", false, 1},
		{rfd, "https://api.github.com:8443/repos", false, -1},
		{rfd, "https://api.github.com:0/repos", false, -1},

		// Paths: a deny cannot be dodged.
		{rfd, "https://api.github.com/%61dmin", false, 1},
		{rfd, "https://api.github.com/x/../admin", false, 1},
		{rfd, "https://api.github.com/x/%2e%2e/admin", false, 1},
		{rfd, "https://api.github.com/admin%2Fusers", false, 1},
		{rfd, "https://api.github.com/x%2f..%2fadmin", false, 1},
		{rfd, "https://api.github.com//admin", false, 1},
		{rfd, "https://api.github.com/a//../admin", false, 1},
		{rfd, `https://api.github.com/x\..\admin`, false, 1},
		{rfd, `https://api.github.com/admin/x\..\..\repos`, false, 1},
		{rfd, "https://api.github.com/x%5C..%5Cadmin", false, 1},
		{rfd, "https://api.github.com/admin;x=1", false, 1},
		{rfd, "https://api.github.com/x/..;/admin", false, 1},
		{rfd, "https://api.github.com/admin%00.png", false, 1},
		{rfd, "https://api.github.com/admin%3Fx", false, 1},
		{rfd, "https://api.github.com/%2561dmin", false, 1},
		{rfd, "https://api.github.com/ad\tmin", false, 1},
		{rfd, "https://api.github.com/p/a%2fb/../..%2fadmin", false, 1}, // the client resolves, then the server decodes
		{rfd, "https://api.github.com/admin/../repos", true, 0},
		{rfd, "https://api.github.com/repos?x=/admin#/admin", true, 0},
		{rfd, "https://api.github.com/ADMIN", true, 0},
		{rfd, "https://api.github.com/a//b;c%2Fd%20e", true, 0},

		// Paths: an allow is not widened.
		{"allow h path=/pub", "https://h/pub/a%2Fb", true, 0},
		{"allow h path=/pub", "https://h/pub//x", true, 0},
		{"allow h path=/pub", "https://h/pub/%2e%2e/x", false, -1},
		{"allow h path=/pub", "https://h/pub/..%2fx", false, -1},
		{"allow h path=/pub", `https://h/pub/..%5cx`, false, -1},
		{"allow h path=/pub", "https://h/pub/..;/x", false, -1},
		{"allow h path=/pub", "https://h/pub/%252e%252e/x", false, -1},
		{"allow h path=/pub", "https://h/pub%2fx", false, -1},
		{"allow h path=/pub", "https://h/pub;v=1/x", false, -1},
		{"allow h path=/pub", "https://h//pub", false, -1},
		{"allow h path=/pub", "https://h/publish", false, -1},
		{"allow h path=/pub", "https://h/pu", false, -1},
		{"allow h path=/a%20b/é", "https://h/a b/%C3%A9/c", true, 0},
		{"allow h path=/pub/", "https://h/pub", true, 0},
		{"allow h path=/", "https://h", true, 0},
		{"allow h path=", "https://h/x", true, 0},

		// Ports and schemes.
		{"allow h port=8443", "https://h:8443/", true, 0},
		{"allow h port=8443", "https://h/", false, -1},
		{"allow h port=443", "https://h/", true, 0},
		{"allow h port=443", "http://h/", false, -1},
		{"allow h", "http://h/", true, 0},
		{"allow h", "http://h:443/", false, -1},
		{"allow h", "wss://h/", true, 0},
		{"allow h", "ftp://h:21/", true, 0},
		{"allow h", "ssh://h/", false, -1},
		{"allow h", "ssh://h:22/", false, -1},
		{"allow h port=22", "ssh://h:22/", true, 0},
		{"allow h port=22", "ssh://H:22/", true, 0},
		{"allow h port=22", "ssh://h/", false, -1},
		{"allow * scheme=ssh", "ssh://h/", false, -1},

		// Specificity.
		{"deny h path=/a; allow h scheme=https port=443", "https://h/a", true, 1},
		{"allow h scheme=https; deny h port=443", "https://h/", false, 1},
		{"deny h port=443; allow h scheme=https", "https://h/", true, 1},
		{"allow h path=/a; deny h path=/a", "https://h/a", false, 1},
		{"deny h path=/a; allow h path=/a", "https://h/a", true, 1},
		{"allow h path=/a/b; deny h scheme=https path=/a", "https://h/a/b", false, 1},
		{"allow h path=/a/b/c; deny h scheme=https path=/a", "https://h/a/b/c", true, 0},
		{"deny h; allow * scheme=https port=443 path=/a/b", "https://h/a/b", false, 0},
		{"deny h path=/x; allow *", "https://h/a", true, 1},
		{"allow *; deny h", "https://other/", true, 0},
		{"allow *; deny h", "https://h/", false, 1},
		{"deny *", "https://h/", false, 0},
		{"allow *", "https://*/", true, 0},
		{"allow *", "https://h:8443/", false, -1},

		// Addresses.
		{local, "http://0x7f.1/", false, 1},
		{local, "http://2130706433/", false, 1},
		{local, "http://0177.0.0.1./", false, 1},
		{local, "http://[::ffff:127.0.0.1]/", false, 1},
		{local, "http://[::FFFF:7f00:1]/", false, 1},
		{local, "http://127.0.0.2/", true, 0},
		{"allow *; deny [::ffff:7f00:1]", "http://127.0.0.1/", false, 1},
		{"allow 2130706433", "http://127.0.0.1/", true, 0},
		{"allow [::1]", "http://[0:0::1]/", true, 0},
		{"allow [::1]", "http://127.0.0.1/", false, -1},
	} {
		d, err := policyOf(t, c.rules).Evaluate(c.target)
		if err != nil || d.Allowed != c.allowed || d.Rule != c.rule {
			t.Errorf("[%s] %q: allowed %t by %d (%v), want %t by %d", c.rules, c.target, d.Allowed, d.Rule, err, c.allowed, c.rule)
		}
	}
}

func TestUnreadableTargetsAreDenied(t *testing.T) {
	for _, p := range []*Policy{mustCompile(t), policyOf(t, "allow *"), {}, nil} {
		for _, target := range []string{
			"", "api.github.com", "//api.github.com/", "/path", "file:///etc/passwd", "data:,x", "https://", "https://a b/",
			"https://h:65536/", "https://1.2.3.4.5/", "https://[::1%25lo]/", "https://h/\xff", "https://example.com.xn--/",
			`git://evil.com\@github.com/`,
		} {
			d, err := p.Evaluate(target)
			if err == nil || d.Allowed {
				t.Errorf("%q: allowed %t, %v", target, d.Allowed, err)
			}
			if d.Explain() == "" {
				t.Errorf("%q: no explanation", target)
			}
		}
	}
	if d, err := policyOf(t, "allow *").Evaluate("https://h/%" + strings.Repeat("25", 9) + "41"); err == nil || d.Allowed {
		t.Errorf("a path encoded nine times over: allowed %t, %v", d.Allowed, err)
	}
}

func TestUndeclared(t *testing.T) {
	for _, rules := range [][]Rule{nil, {}} {
		p := mustCompile(t, rules...)
		d, err := p.Evaluate("https://h:8443/")
		if err != nil || !d.Allowed || d.Rule != -1 || p.Declared() {
			t.Errorf("allowed %t by %d (%v), declared %t", d.Allowed, d.Rule, err, p.Declared())
		}
	}
	for _, p := range []*Policy{nil, {}} {
		if d, err := p.Evaluate("https://h/"); err != nil || d.Allowed || d.Rule != -1 || !p.Declared() {
			t.Errorf("a policy nobody compiled allows: %t (%v)", d.Allowed, err)
		}
	}
	if (Decision{}).Explain() == "" || (Decision{}).Allowed {
		t.Error("the zero decision")
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct{ rule, want string }{
		{"allow https://h/p", `write host = "h", scheme = "https"`},
		{"allow https://u:p@1.1/p", `write host = "1.0.0.1"`},
		{"allow ://", "separately"},
		{"allow *.github.com", "only \"*\" alone"},
		{"allow **", "only \"*\" alone"},
		{"allow h:80", "write it as port"},
		{"allow [::1]:80", "write it as port"},
		{"allow ::1", `write host = "[::1]"`},
		{"allow [::1", "unclosed bracket"},
		{"allow [fe80::1%eth0]", "zone"},
		{"allow h/p", "path_prefix"},
		{"allow u@h", "userinfo"},
		{"allow a|b", "which no host may"},
		{"allow 1.2.3.4.5", "no IPv4 address"},
		{"allow xn--", "empty"},
		{"allow a..b", "empty label"},
		{"allow h scheme=", "leave scheme out"},
		{"allow h scheme=*", "leave scheme out"},
		{"allow h scheme=https://", `such as "https"`},
		{"allow h scheme=8", `such as "https"`},
		{"allow h scheme=file", "access.fs"},
		{"allow h port=0", "leave port out"},
		{"allow h path=admin", `write "/admin"`},
		{"allow h path=/a/../b", `write "/b"`},
		{"allow h path=/a/./b", `write "/a/b"`},
		{"allow h path=/a/%2e%2e", "path_prefix"},
		{"allow h path=/a//b", "empty segment"},
		{"allow h path=//", "empty segment"},
		{"allow h path=/a//", "empty segment"},
		{"allow h path=/a?b", "query"},
		{"allow h path=/a#b", "query"},
		{"allow h path=/a/*", "no pattern"},
		{"allow h path=/a%2fb", "another path (/a/b)"},
		{"allow h path=/a%5cb", "another path"},
		{`allow h path=/a\b`, "another path"},
		{"allow h path=/a;b", "another path (/a)"},
		{"allow h path=/a%00", "another path"},
		{"allow h path=/a%3fb", "another path"},
		{"allow h path=/a%2541", "another path (/aA)"},
		{"allow h path=/%252525252541", "another path"},
		{"allow h path=/100%", "write %25"},
		{"allow h path=/a\x01", "control character"},
	} {
		bad := ruleOf(t, c.rule)
		bad.Origin = "x.toml:7"
		_, err := Compile([]Rule{{Host: "ok"}, bad})
		if err == nil {
			t.Errorf("%q is accepted", c.rule)
			continue
		}
		what, help, ok := strings.Cut(err.Error(), "\n")
		if !strings.HasPrefix(what, "access.net[1] (x.toml:7): ") || !strings.Contains(err.Error(), c.want) || !ok || help == "" {
			t.Errorf("%q: %q lacks %q", c.rule, err, c.want)
		}
	}
	if _, err := Compile([]Rule{{}}); err == nil || !strings.Contains(err.Error(), "host is empty") {
		t.Errorf("empty host: %v", err)
	}
}

func TestCompileCopies(t *testing.T) {
	path := "/a"
	rules := []Rule{{Host: "h", PathPrefix: &path, Allow: true}}
	p := mustCompile(t, rules...)
	path, rules[0].Host = "/b", "other"
	d, err := p.Evaluate("https://h/a")
	if err != nil || !d.Allowed || !strings.Contains(d.Explain(), `"/a"`) {
		t.Errorf("%v %v: %s", d.Allowed, err, d.Explain())
	}
}

func TestExplain(t *testing.T) {
	const rules = "allow api.github.com; deny api.github.com path=/admin; deny *"
	for _, c := range []struct{ rules, target, want string }{
		{rules, "https://api.github.com/x?secret#f", `https://api.github.com/x is allowed by access.net[0] { host = "api.github.com", allow = true }`},
		{rules, "https://u:secret@api.github.com/admin", "denied by access.net[1]"},
		{rules, "https://api.github.com/x%2f..%2fadmin", "which some servers read as /admin, is denied by access.net[1]"},
		{rules, "https://h/", `denied by access.net[2] { host = "*", allow = false }; to allow it, add { host = "h", allow = true }`},
		{"allow h", "https://h:8443/", "default port 443 only; to allow it, add { host = \"h\", port = 8443, allow = true }"},
		{"allow h port=1", "https://h/", "is for port 1 only"},
		{"allow h scheme=http", "https://h/", "is for scheme http only"},
		{"allow h path=/a", "https://h/b", `is for paths below "/a" only`},
		{"allow h path=/a", "https://h/a%2f..%2fb", "no rule matches"},
		{"allow h", "ssh://h/", "write the port in the URL"},
		{"allow h", "ssh://h:22/", "ssh has no default port"},
		{"allow h", "https://h:0/", "cannot match, because no rule can name port 0, which nothing listens on; to allow it, write another port than 0, or none"},
		{"allow h", "ssh://h:0/", "no rule can name port 0"},
		{"deny *", "https://h:0/", "to allow it, write another port than 0, or none"},
		{"allow github.com", "https://api.github.com/", "is for github.com, and a host matches only exactly"},
		{"allow github.com", "https://github.com.evil.com/", "no rule of access.net names this host"},
		{"allow github.com; allow api.github.com port=1", "https://api.github.com/", "access.net[1] is for port 1 only"},
	} {
		d, err := policyOf(t, c.rules).Evaluate(c.target)
		if got := d.Explain(); err != nil || !strings.Contains(got, c.want) || strings.Contains(got, "secret") {
			t.Errorf("[%s] %q: %s (%v); want %q", c.rules, c.target, got, err, c.want)
		}
	}
	d, _ := policyOf(t, rules).Evaluate("https://api.github.com/admin")
	want := []NearMiss{{0, "matches too, and is less specific or comes earlier"}, {2, "matches too, and is less specific or comes earlier"}}
	if got := d.NearMisses(); !slices.Equal(got, want) {
		t.Errorf("near misses: %v", got)
	}
	d, _ = mustCompile(t).Evaluate("https://h/")
	if !strings.Contains(d.Explain(), "has no rules") || d.NearMisses() != nil {
		t.Error(d.Explain())
	}
}

// What the decision tells the caller to request has the same verdict, and no userinfo.
func TestTargetURL(t *testing.T) {
	d, err := policyOf(t, "allow h").Evaluate("https://u:p@H.:443/a/../b?q#f")
	if u := d.Target; err != nil || u.Scheme != "https" || d.host != "h" || u.Port != 443 || u.Path != "/b" || u.String() != "https://h./b?q" {
		t.Errorf("%+v, %v", d, err)
	}
}

// netOracle decides by reading the rules one after the other, as RFD 076 has it.
func netOracle(t testing.TB, rules []Rule, target string) (bool, bool) {
	t.Helper()
	u, err := weburl.Parse(target)
	if err != nil {
		return false, false
	}
	def, special := weburl.DefaultPort(u.Scheme)
	prefixes := make([][]string, len(rules))
	candidates := make([]int, len(rules)) // the score of what matches but for the path, else -1
	for i, r := range rules {
		host, _ := ruleHost(r.Host)
		port, score := def, 0
		if r.PathPrefix != nil {
			prefixes[i], _ = rulePath(*r.PathPrefix)
			score += len(prefixes[i])
		}
		if r.Port != nil {
			port = *r.Port
			score++
		}
		if r.Scheme != nil {
			score++
		}
		if host != anyHost {
			score += 1000
		}
		if (host != anyHost && host != comparableHost(u.Host)) || (r.Scheme != nil && !strings.EqualFold(*r.Scheme, u.Scheme)) ||
			!u.HasPort || port != u.Port || (r.Port == nil && !special) {
			score = -1
		}
		candidates[i] = score
	}
	all := true
	err = weburl.PathReadings(u.RawPath, special, func(segments []string) bool {
		winner, best := -1, -1
		for i, prefix := range prefixes {
			if candidates[i] >= max(best, 0) && len(segments) >= len(prefix) && slices.Equal(segments[:len(prefix)], prefix) {
				winner, best = i, candidates[i]
			}
		}
		all = all && winner >= 0 && rules[winner].Allow
		return true
	})
	return all && err == nil, err == nil
}

// Random rules against the oracle, and: one more deny rule, anywhere, never opens
// anything.
func TestProperties(t *testing.T) {
	const seed, runs = 10, 4000
	r := rand.New(rand.NewPCG(seed, seed))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	rule := func() Rule {
		s := pick("allow", "deny") + " " + pick("a", "b", "a", "*", "127.0.0.1")
		for _, opt := range []string{pick("", " scheme=https", " scheme=ssh"), pick("", "", " port=443", " port=22"), pick("", " path=/x", " path=/x/y", " path=/y")} {
			s += opt
		}
		return ruleOf(t, s)
	}
	target := func() string {
		s := pick("https://", "https://", "http://", "ssh://", "wss:\\\\") + pick("a", "a", "B", "c", "b.", "0x7f.1", "[::ffff:127.0.0.1]", "a@b")
		s += pick("", "", ":443", ":22", ":80")
		for i := range r.IntN(7) {
			if i == 0 {
				s += "/"
			}
			s += pick("x", "y", "%78", "..", "%2e%2e", "", ";z", "x;z", "%2578", "z%00") + pick("/", "/", "//", "%2f", `\`)
		}
		return s
	}
	allowed := 0
	for range runs {
		var rules []Rule
		for range 1 + r.IntN(8) {
			rules = append(rules, rule())
		}
		p := mustCompile(t, rules...)
		deny := rule()
		deny.Allow = false
		stricter := mustCompile(t, slices.Insert(slices.Clone(rules), r.IntN(len(rules)+1), deny)...)
		for range 8 {
			url := target()
			d, err := p.Evaluate(url)
			want, ok := netOracle(t, rules, url)
			if d.Allowed != want || ok != (err == nil) {
				t.Fatalf("seed %d: %q: allowed %t (%v), oracle %t: %s", seed, url, d.Allowed, err, want, d.Explain())
			}
			if s, _ := stricter.Evaluate(url); s.Allowed && !d.Allowed {
				t.Fatalf("seed %d: %q is allowed after adding %+v: %s", seed, url, deny, s.Explain())
			}
			if d.Allowed {
				allowed++
				again, err := p.Evaluate(d.Target.String())
				if err != nil || !again.Allowed {
					t.Fatalf("seed %d: %q is allowed, what it says to request, %q, is not: %s", seed, url, d.Target.String(), again.Explain())
				}
			}
			_ = d.Explain()
		}
	}
	if allowed < runs/4 || allowed > runs*7 {
		t.Errorf("seed %d: %d of %d were allowed, too one-sided to mean anything", seed, allowed, runs*8)
	}
}

func TestEvaluateAllocates(t *testing.T) {
	p := policyOf(t, "allow api.github.com; deny api.github.com path=/admin")
	n := testing.AllocsPerRun(100, func() { _, _ = p.Evaluate("https://api.github.com/repos/x/y") })
	if n > 10 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEvaluate(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		rules := make([]Rule, n)
		for i := range rules {
			rules[i] = ruleOf(b, fmt.Sprintf("allow h path=/%d/x", i))
		}
		p := mustCompile(b, rules...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = p.Evaluate("https://h/5/x/y")
			}
		})
	}
}
