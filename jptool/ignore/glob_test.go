package ignore

import (
	"strings"
	"testing"
)

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		onName  bool
		literal string
		yes, no string // paths, separated by blanks
	}{
		{".env", true, ".env", ".env a/.env a/b/.env", ".envrc env a/.env.x .ENV"},
		{"**/.env", true, ".env", ".env a/.env", ".envrc"},
		{"**/**/.env*", true, "", ".env .envrc a/.env.local", "env a/env"},
		{"secrets/", true, "secrets", "secrets a/secrets", "secret secrets.txt"},
		{"/secrets", false, "secrets", "secrets", "a/secrets"},
		{"a/b", false, "a/b", "a/b", "x/a/b a"},
		{"a/**", false, "", "a/b a/b/c", "a b/a/c"},
		{"**/a/b", false, "", "a/b x/a/b x/y/a/b", "a b xa/b"},
		{"a/**/b", false, "", "a/b a/x/b a/x/y/b", "b x/a/b"},
		{"*.pem", true, "", "x.pem a/.pem", "x.pem.txt"},
		{"[ab]c", true, "", "ac x/bc", "cc abc"},
		{`a\*`, true, "a*", "a* x/a*", "ab"},
		{`\!x`, true, "!x", "!x", "x"},
		{`a\ `, true, "a ", "a\u0020", "a"},
		{"*", true, "", "a a/b", ""},
	} {
		g, err := NewGlob(tt.pattern)
		if err != nil {
			t.Errorf("%q: %v", tt.pattern, err)
			continue
		}
		if g.OnName() != tt.onName || g.Literal() != tt.literal {
			t.Errorf("%q: on name %v, literal %q", tt.pattern, g.OnName(), g.Literal())
		}
		for want, list := range map[bool]string{true: tt.yes, false: tt.no} {
			for path := range strings.SplitSeq(list, " ") {
				path = strings.ReplaceAll(path, "\u0020", " ")
				if tt.pattern == `a\ ` && want {
					path = "a "
				}
				if path == "" || g.MatchPath(path) == want && (!g.OnName() || g.MatchName(path[strings.LastIndexByte(path, '/')+1:]) == want) {
					continue
				}
				t.Errorf("%q: %q matches: want %v", tt.pattern, path, want)
			}
		}
		if f := g.First(); f != 0 && tt.yes != "" && !strings.Contains(tt.yes, string(f)) {
			t.Errorf("%q begins with %q", tt.pattern, f)
		}
	}
	for _, bad := range []string{"", "!x", "!", "/", "//x", "a//b", "../x", "./x", "a/./b", "[", "[b-a]", "{a,b}", `x\`, "a\nb", "a\x00", " ", "**//x"} {
		if g, err := NewGlob(bad); err == nil {
			t.Errorf("%q is a pattern: %+v", bad, g)
		}
	}
}

func TestEscape(t *testing.T) {
	for _, path := range []string{"a", "a b ", "!x", `a\b`, "a*b?c[d]e{f}", "a\nb", "#x", "x/y z"} {
		g, err := NewGlob("/" + Escape(path))
		if err != nil || !g.MatchPath(path) || g.MatchPath(path+"x") || g.MatchPath("x"+path) {
			t.Errorf("%q: %v", path, err)
		}
	}
}
