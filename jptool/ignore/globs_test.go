package ignore

import (
	"fmt"
	"strings"
	"testing"
)

func TestGlobs(t *testing.T) {
	tests := []struct {
		name     string
		globs    []string
		covered  []string
		not      []string
		notEntry []string // covered only because a parent is
	}{
		{"none", nil, nil, []string{"a", ""}, nil},
		{
			"directory",
			[]string{".git/"},
			[]string{".git", ".git/HEAD", "sub/.git", "sub/.git/refs/heads/main"},
			[]string{".github", "git", ".gitignore", ""},
			[]string{".git/HEAD"},
		},
		{"double star", []string{"**/target/"}, []string{"target", "a/b/target", "a/target/x"}, []string{"targets", "a/mytarget"}, []string{"a/target/x"}},
		{"anchored", []string{"/secret", "conf/*.key"}, []string{"secret", "secret/a", "conf/a.key", "conf/a.key/b"}, []string{"a/secret", "conf/a/b.key", "conf"}, nil},
		{"last one wins", []string{"*.env", "!example.env"}, []string{".env", "a/b.env"}, []string{"example.env", "a/example.env"}, nil},
		{"nothing below is taken back", []string{".git/", "!.git/HEAD"}, []string{".git/HEAD"}, nil, nil},
		{"number sign is no comment", []string{"#a"}, []string{"#a"}, []string{"a"}, nil},
		{"trailing space goes", []string{"a  "}, []string{"a"}, []string{"a  "}, nil},
		{"escaped braces", []string{`\{a,b\}`, "[{]c"}, []string{"{a,b}", "{c"}, []string{"a", "b"}, nil},
		{"case counts", []string{"Secret"}, []string{"Secret"}, []string{"secret"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := ParseGlobs(tt.globs)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range tt.covered {
				if !g.Match(p) {
					t.Errorf("%q is not covered", p)
				}
			}
			for _, p := range tt.not {
				if g.Match(p) {
					t.Errorf("%q is covered", p)
				}
			}
			for _, p := range tt.notEntry {
				if g.MatchEntry(p) {
					t.Errorf("%q is covered without its parents", p)
				}
			}
		})
	}
	var none *Globs
	if none.Match("a/b") || none.MatchEntry("a") {
		t.Error("nil covers something")
	}
}

func TestGlobErrors(t *testing.T) {
	const (
		errEmpty     = "it is empty"
		errBackslash = "it ends in a backslash"
		errBracket   = "a bracket is never closed"
		errClass     = "a [:class:] in it does not exist"
		errReversed  = "a range in it goes backwards"
		errNoByte    = "a bracket in it matches no character"
		errNUL       = "it contains a NUL byte"
		errLineBreak = "it contains a line break"
		errBraces    = "braces are not part of the syntax"
		errElement   = `it has an empty, "." or ".." element`
	)
	tests := []struct{ glob, want string }{
		{"", errEmpty},
		{" ", errEmpty},
		{"!", errEmpty},
		{"/", errEmpty},
		{"!/", errEmpty},
		{"//", errEmpty},
		{"a[", errBracket},
		{"a/[b", errBracket},
		{"[]", errBracket},
		{"[!]", errBracket},
		{"[[:alpha:]", errBracket},
		{`[a\`, errBracket},
		{"[[:letters:]]", errClass},
		{"[z-a]", errReversed},
		{"[!a-cz-x]", errReversed},
		{"x/[/]y", errNoByte},
		{`a\`, errBackslash},
		{`a\/`, errBackslash},
		{"a\x00", errNUL},
		{"\x00", errNUL},
		{".git/\nsecret", errLineBreak},
		{".git/\r", errLineBreak},
		{"*.{key,pem}", errBraces},
		{"a}", errBraces},
		{"./a", errElement},
		{"../a", errElement},
		{"a/../b", errElement},
		{"a//b", errElement},
		{"//a", errElement},
		{"a//", errElement},
		{".", errElement},
	}
	for _, tt := range tests {
		t.Run(tt.glob, func(t *testing.T) {
			g, err := ParseGlobs([]string{"fine", tt.glob, "also-fine"})
			if want := fmt.Sprintf("glob %q: %s", tt.glob, tt.want); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("got %v, want %s", err, want)
			}
			if g != nil {
				t.Error("an error and a list")
			}
			if strings.Contains(err.Error(), "fine") || !strings.HasPrefix(err.Error(), "glob ") {
				t.Errorf("the message names the wrong glob: %v", err)
			}
		})
	}
}
