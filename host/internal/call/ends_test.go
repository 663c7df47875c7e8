package call

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestBothEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{"a", "é", "🙂", "\xff", "\x80\x80\x80\x80", "\n"})).Draw(t, "text"), "")
		most := rapid.IntRange(1, 40).Draw(t, "most")
		got := bothEnds([]byte(text), most)
		if !utf8.ValidString(got) || len(got) > 3*most+len("\n… 1000 bytes left out …\n") {
			t.Fatalf("%q", got)
		}
		if len(text) <= most && got != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("changed a short text to %q", got)
		}
		if utf8.ValidString(text) && strings.Contains(got, "\ufffd") {
			t.Fatalf("a character was cut: %q", got)
		}
	})
}
