package schema

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// A name stands in a path as it is, or quoted where that could be misread.
func TestSimpleName(t *testing.T) {
	want := regexp.MustCompile(`^[\pL_][\pL\pN_-]*$`)
	check := func(t rapid.TB, name string) {
		if got := simpleName(name); got != want.MatchString(name) {
			t.Errorf("simpleName(%q) = %v", name, got)
		}
	}
	for _, name := range []string{"", "a", "_", "-", "a-b", "1", "a1", "é²", "a b", "a.b", "\xff", "a\xff", "\ufffd", "-a"} {
		check(t, name)
	}
	rapid.Check(t, func(t *rapid.T) {
		check(t, rapid.OneOf(rapid.String(), rapid.StringMatching(`[\pL\pN_ .-]{0,4}`)).Draw(t, "name"))
	})
}
