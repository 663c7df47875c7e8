package ignore

import (
	"strings"
	"testing"
)

func stackOf(content string) *Stack {
	var s *Stack
	return s.Push("", Parse([]byte(content)))
}

func TestMatch(t *testing.T) {
	tests := []struct {
		name    string
		file    string
		ignored string // space-separated; a trailing slash marks a directory
		kept    string
	}{
		{"name at any depth", "foo", "foo foo/ a/foo a/b/foo/", "foob afoo a/foo.c"},
		{"directory only", "foo/", "foo/ a/foo/", "foo a/foo"},
		{"leading slash anchors", "/foo", "foo foo/", "a/foo"},
		{"inner slash anchors", "a/foo", "a/foo", "foo b/a/foo a/b/foo"},
		{"anchored directory", "/a/foo/", "a/foo/", "a/foo b/a/foo/"},
		{"extension", "*.o", "a.o .o a/b.o a.c.o x.o/", "a.oo a.O o ao"},
		{"long extension", "*.tar.gz", "a.tar.gz .tar.gz", "a.gz a.tar tar.gz"},
		{"suffix", "*~", "a~ ~ b/a~", "~a"},
		{"prefix", ".#*", ".#a .#", "#a a.#"},
		{"everything", "*", "a a/b .a", ""},
		{"star stays in an element", "a/*/c", "a/b/c a/.b/c", "a/c a/b/b/c"},
		{"star in the middle", "/a*c", "ac abc a.c", "a/c ab xabc"},
		{"question mark", "a?c", "abc a.c b/axc", "ac abbc"},
		{"question mark never takes a slash", "/a?c\nb/?*d", "abc b/xd b/xyd", "a/c b/d"},
		{"question mark is a byte", "a?c\nb??d", "bßd", "aßc"},
		{"leading double star", "**/foo", "foo a/foo a/b/foo", "foob"},
		{"leading double star with path", "**/a/foo", "a/foo b/a/foo", "foo a/b/foo ba/foo"},
		{"trailing double star", "a/**", "a/b a/b/c a/b/", "a a/ ab/c"},
		{"inner double star", "a/**/c", "a/c a/b/c a/b/b/c", "ac a/xc a/b/cx"},
		{"two double stars", "a/**/c/**/e", "a/c/e a/b/c/d/d/e", "a/e a/c"},
		{"double star in an element", "a**c", "ac abbc", "a/c"},
		{"double star after the first literal, as in git", "foo**/bar", "foobar foo/bar foox/y/bar", "foo bar"},
		{"the same anchored", "/a**/b/\n/c**/**/d.e", "ab/ a/x/b/ cd.e c/d.e", "b/ d.e"},
		{"class", "[a-c]x[!0-9]", "axy cx_", "dxy ax1 ax"},
		{"posix class", "[[:upper:]_]*", "Abc _b", "abc"},
		{"class never takes a slash", "a[/]b\na[!x]c", "", "a/b a/c"},
		{"negation", "*.o\n!keep.o", "a.o", "keep.o a/keep.o"},
		{"last pattern wins", "!a\na\n!b\nb\n!b", "a", "b"},
		{"directory-only negation", "a\n!a/", "a", "a/"},
		{"comment", "#a\n\\#b", "#b", "#a a b"},
		{"escaped exclamation mark", `\!a`, "!a", "a"},
		{"escaped wildcards", `a\*b` + "\n" + `c\[d]`, "a*b c[d]", "axb cd"},
		{"CR LF", "a\r\n/b/c\r\n*.o\r\n", "a b/c x.o", ""},
		{"CR without LF at the end of the file", "a\r", "a", ""},
		{"CR inside is kept", "a\r\r\n", "a\r", "a"},
		{"no newline at the end", "a\nb", "a b", ""},
		{"byte order mark", "\xef\xbb\xbfa\n", "a", ""},
		{"byte order mark before comment", "\xef\xbb\xbf#a\nb", "b", "#a a"},
		{"NUL ends a pattern", "a\x00b\n", "a", "b ab"},
		{"tab is kept", "a\t\n", "a\t", "a"},
		{"slash that is escaped is still the end", `a\/`, "", `a/ a\/`},
		{"invalid patterns", "[a\na\\\n[[:nope:]]\n[!\n", "", `[a a a\ n [!`},
		{"empty patterns", "/\n!\n//\n!/\n\r\n", "", "a a/ a/b"},
		{"elements that no path has", "./a\na//b\n../c\n", "", "a a/b c"},
		{"invalid UTF-8", "\xff*", "\xff \xffa", "\xfe"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := stackOf(tt.file)
			check := func(paths string, want bool) {
				for p := range strings.SplitSeq(paths, " ") {
					path, isDir := strings.CutSuffix(p, "/")
					if got := s.Match(path, isDir) == Ignore; path != "" && got != want {
						t.Errorf("%q: ignored is %v, want %v", p, got, want)
					}
				}
			}
			check(tt.ignored, true)
			check(tt.kept, false)
		})
	}
}

func TestTrailingSpaces(t *testing.T) {
	for line, want := range map[string]string{
		"a":        "a",
		"a  ":      "a",
		"a b ":     "a b",
		`a\ `:      `a\ `,
		`a\  `:     `a\ `,
		`a\\ `:     `a\\`,
		`a\\\ `:    `a\\\ `,
		"   ":      "",
		`\ `:       `\ `,
		"a \t":     "a \t",
		`a  \`:     `a  \`,
		`a\ b   `:  `a\ b`,
		`a \  \  `: `a \  \ `,
	} {
		if got := trimTrailingSpaces(line); got != want {
			t.Errorf("trimTrailingSpaces(%q) = %q, want %q", line, got, want)
		}
	}
}

func TestStack(t *testing.T) {
	var none *Stack
	if got := none.Match("a", false); got != None {
		t.Errorf("empty stack: %v", got)
	}
	if none.MatchWithParents("a/b", false) {
		t.Error("empty stack ignores a/b")
	}
	if got := none.Push("", Parse([]byte("# nothing\n\n"))); got != nil {
		t.Error("a file without patterns was pushed")
	}

	root := none.Push("", Parse([]byte("*.log\n/out\nsub/x\n")))
	git := root.Push("sub", Parse([]byte("!a.log\n/out\n/y/z\ntmp\n")))
	both := git.Push("sub", Parse([]byte("a.log\n")))
	tests := []struct {
		name  string
		stack *Stack
		path  string
		want  Decision
	}{
		{"root pattern at depth", root, "sub/a.log", Ignore},
		{"deeper file wins", git, "sub/a.log", Include},
		{"second file of a directory wins", both, "sub/a.log", Ignore},
		{"anchored at the root", both, "out", Ignore},
		{"anchored at the directory", both, "sub/out", Ignore},
		{"not anchored below it", both, "sub/deep/out", None},
		{"root pattern with path", both, "sub/x", Ignore},
		{"pattern with path in the directory", both, "sub/y/z", Ignore},
		{"the directory itself", both, "sub", None},
		{"another directory", both, "other/a.log", Ignore},
		{"a directory with the same prefix", both, "subs/tmp", None},
		{"the root", both, "", None},
		{"an older stack does not change", root, "sub/out", None},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.stack.Match(tt.path, false); got != tt.want {
				t.Errorf("Match(%q) = %v, want %v", tt.path, got, tt.want)
			}
		})
	}
}

func TestMatchWithParents(t *testing.T) {
	s := stackOf("/a/\n!/a/keep\nb/*\n!b/keep\n")
	// A file of an ignored directory is never read by a walk, so it has no say.
	s = s.Push("a", Parse([]byte("!*\n")))
	for path, want := range map[string]bool{
		"a/x": true, "a/keep": true, "a/x/y/z": true, "b/x": true, "b/x/y": true, "b/keep": false, "b/keep/x": false, "c": false, "": false,
	} {
		if got := s.MatchWithParents(path, false); got != want {
			t.Errorf("MatchWithParents(%q) = %v, want %v", path, got, want)
		}
	}
	if s.MatchWithParents("a", false) || !s.MatchWithParents("a", true) {
		t.Error("/a/ must ignore a directory and keep a file")
	}
}

// TestManyStars takes far longer than a test may if a star can make matching
// exponential.
func TestManyStars(t *testing.T) {
	for _, pattern := range []string{
		strings.Repeat("*a", 40) + "b",
		strings.Repeat("**/", 40) + "b",
		strings.Repeat("**/a*", 40) + "b",
		"x/" + strings.Repeat("*a*/", 40) + "b",
	} {
		s := stackOf(pattern)
		for _, path := range []string{strings.Repeat("a", 4000), strings.Repeat("a/", 2000) + "c", "x/" + strings.Repeat("aaaa/", 40) + "c"} {
			if got := s.Match(path, false); got != None {
				t.Errorf("%.20q matches", pattern)
			}
		}
	}
}
