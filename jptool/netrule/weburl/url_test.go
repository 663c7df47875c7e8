package weburl

import (
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		// What goes nowhere else than it says.
		{"https://api.github.com/repos", "https://api.github.com/repos"},
		{"HTTPS://API.GitHub.com", "https://api.github.com/"},
		{"https://h?q=1#f", "https://h/?q=1"},
		{"https://h#f?x", "https://h/"},
		{"https://h/?", "https://h/?"},
		{"https://h/a b\"<>`{}^é", "https://h/a%20b%22%3C%3E%60%7B%7D%5E%C3%A9"},
		{"https://h/?a'b\"é", "https://h/?a%27b%22%C3%A9"},
		{"ssh://h/?a'b", "ssh://h/?a'b"},

		// Userinfo.
		{"https://api.github.com@evil.com/", "https://evil.com/"},
		{"https://api.github.com:443@evil.com/", "https://evil.com/"},
		{"https://a@api.github.com@evil.com/", "https://evil.com/"},
		{"https://user:p%40ss@h/", "https://h/"},
		{"https://@h/", "https://h/"},
		{"https://:@h/", "https://h/"},
		{"https://1.1.1.1 &@2.2.2.2# @3.3.3.3/", "https://2.2.2.2/"},
		{"https://h/@evil.com", "https://h/@evil.com"},
		{"https://h?@evil.com", "https://h/?@evil.com"},
		{"https://h#@evil.com", "https://h/"},
		{"https://a[@h/", "https://h/"},
		{"https://user@/", ""},
		{"https://user@:80/", ""},

		// Slashes and backslashes.
		{`https:\\api.github.com\repos`, "https://api.github.com/repos"},
		{`https://api.github.com\@evil.com/`, "https://api.github.com/@evil.com/"},
		{`https://evil.com\.api.github.com/`, "https://evil.com/.api.github.com/"},
		{"https:h/p", "https://h/p"},
		{"https:/h/p", "https://h/p"},
		{"https:////h/p", "https://h/p"},
		{`https:/\/\h/p`, "https://h/p"},
		{`git://evil.com\@github.com/`, ""},
		{`git://github.com/a\b`, `git://github.com/a\b`},
		{"git:/h/p", ""},
		{"git:h", ""},

		// White space.
		{" \x00https://h/ \x1f", "https://h/"},
		{"ht\ntps://ev\til.c\rom/", "https://evil.com/"},
		{"https://h/ad\tmin", "https://h/admin"},
		{"https://h h/", ""},
		{"\u00a0https://h/", ""},

		// Ports.
		{"https://h:443/", "https://h/"},
		{"http://h:443/", "http://h:443/"},
		{"https://h:/", "https://h/"},
		{"https://h:00000000443/", "https://h/"},
		{"https://h:0/", "https://h:0/"},
		{"https://h:65535/", "https://h:65535/"},
		{"https://h:65536/", ""},
		{"https://h:99999999999999999999/", ""},
		{"https://h:-1/", ""},
		{"https://h:+1/", ""},
		{"https://h:8a/", ""},
		{"https://h:80:80/", ""},
		{"https://h: 80/", ""},
		{"https://h:８０/", ""},
		{"https://[::1]:8443/", "https://[::1]:8443/"},
		{"https://[::1]8443/", ""},
		{"https://:80/", ""},
		{"ws://h:80", "ws://h/"},
		{"wss://h:443", "wss://h/"},
		{"ftp://h:21", "ftp://h/"},
		{"ssh://h:22", "ssh://h:22"},
		{"ssh://h:", "ssh://h"},
		{"ssh://H.Example/", "ssh://h.example/"},

		// Paths.
		{"https://h/a/./b/../c", "https://h/a/c"},
		{"https://h/../../a", "https://h/a"},
		{"https://h/a/%2e%2E/b", "https://h/b"},
		{"https://h/a/.%2e", "https://h/"},
		{"https://h/a/b/..", "https://h/a/"},
		{"https://h/a/.", "https://h/a/"},
		{"https://h/a/...", "https://h/a/..."},
		{"https://h/a//../b", "https://h/a/b"},
		{`https://h/a\..\b`, "https://h/b"},
		{"https://h/%2fa%zz%", "https://h/%2fa%zz%"},
		{"https://h//", "https://h//"},

		// What names no host, or no URL.
		{"", ""},
		{"h", ""},
		{"/p", ""},
		{"//h/p", ""},
		{"h:8080/p", ""},
		{"api.github.com/repos", ""},
		{"https://", ""},
		{"https:", ""},
		{"https:///", ""},
		{"1http://h/", ""},
		{"ht_tp://h/", ""},
		{"://h/", ""},
		{"file:///etc/passwd", ""},
		{"FILE://h/share", ""},
		{"data:text/plain,x", ""},
		{"mailto:a@h", ""},
		{"javascript://h/%0aalert(1)", "javascript://h/%0aalert(1)"},
		{"foo:///p", ""},
		{"https://h/\xff", ""},
		{"https://h/" + strings.Repeat("a", MaxLength), ""},
	} {
		u, err := Parse(c.in)
		got := ""
		if err == nil {
			got = u.String()
		}
		if got != c.want {
			t.Errorf("Parse(%.80q) = %q, %v; want %q", c.in, got, err, c.want)
		}
	}
}

// Errors reach logs and models; what stands before the @ may be a password.
func TestParseErrorsKeepSecrets(t *testing.T) {
	for _, in := range []string{
		"https://user:hunter2@h h/", "https://user:hunter2@/", "https://user:hunter2@h:x/",
		"https://user:hunter2@h:99999/", "git://user:hunter2@h\\x/", "user:hunter2@h", "https://h:99999/?k=hunter2",
	} {
		if _, err := Parse(in); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("Parse(%q) = %v", in, err)
		}
	}
}
