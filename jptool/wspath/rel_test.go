package wspath

import (
	"errors"
	"path"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in, want string
		err      error
	}{
		{"", "", nil},
		{".", "", nil},
		{"./", "", nil},
		{"a/./b/../c", "a/c", nil},
		{"a/..", "", nil},
		{"a//b/", "a/b", nil},
		{"link/../x", "x", nil},
		{"...", "...", nil},
		{"a/..b", "a/..b", nil},
		{"~/x", "~/x", nil},
		{`a\b`, `a\b`, nil},
		{"C:/x", "C:/x", nil},
		{strings.Repeat("a/../", 5000) + "b", "b", nil},
		{strings.Repeat("x", 255), strings.Repeat("x", 255), nil},
		{"/", "", ErrAbsolute},
		{"/etc/passwd", "", ErrAbsolute},
		{"//x", "", ErrAbsolute},
		{"..", "", ErrEscape},
		{"../a", "", ErrEscape},
		{"a/../../b", "", ErrEscape},
		{"a/../../a", "", ErrEscape},
		{"a\x00b", "", ErrInvalid},
		{"\xff", "", ErrInvalid},
		{strings.Repeat("x", 256), "", ErrInvalid},
		{strings.Repeat("a/", 5000), "", ErrInvalid},
	} {
		got, err := Parse(c.in)
		if !errors.Is(err, c.err) || (err == nil) != (c.err == nil) || got.Slash() != c.want {
			t.Errorf("Parse(%.40q) = %q, %v; want %q, %v", c.in, got.Slash(), err, c.want, c.err)
		}
	}
}

// FuzzParse holds Parse to path.Clean, an independent reading of the same rules.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "a/../b", "../x", "/x", "a//b/./c", "..a/...", "a/../../b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Parse(in)
		clean := path.Clean(in)
		escapes := false
		depth := 0
		for part := range strings.SplitSeq(in, "/") {
			switch part {
			case "", ".":
			case "..":
				depth--
			default:
				depth++
			}
			escapes = escapes || depth < 0
		}
		switch {
		case errors.Is(err, ErrInvalid):
		case strings.HasPrefix(in, "/"):
			if !errors.Is(err, ErrAbsolute) {
				t.Errorf("Parse(%q) = %q, %v; want ErrAbsolute", in, got, err)
			}
		case escapes:
			if !errors.Is(err, ErrEscape) {
				t.Errorf("Parse(%q) = %q, %v; want ErrEscape", in, got, err)
			}
		case err != nil || got.String() != clean:
			t.Errorf("Parse(%q) = %q, %v; want %q", in, got, err, clean)
		default:
			again, err := Parse(got.Slash())
			if err != nil || again != got {
				t.Errorf("Parse(%q) is not stable: %q, %v", got, again, err)
			}
		}
	})
}

func TestWithin(t *testing.T) {
	for _, c := range []struct {
		dir, p, rest string
		ok           bool
	}{
		{"", "a", "a", true},
		{"", "", "", true},
		{"src", "src", "", true},
		{"src", "src/lib.rs", "lib.rs", true},
		{"src", "src_generated/x", "", false},
		{"src/a", "src", "", false},
	} {
		if rest, ok := Within(c.dir, c.p); rest != c.rest || ok != c.ok {
			t.Errorf("Within(%q, %q) = %q, %v; want %q, %v", c.dir, c.p, rest, ok, c.rest, c.ok)
		}
	}
}
