package config

import "testing"

// On Windows LocalAppData stands as LOCALAPPDATA in the environment, and PATH as Path.
func TestLookup(t *testing.T) {
	environ := []string{"PATH=/old", "LOCALAPPDATA=/l", "PATH=/new", "EMPTY=", "noequals"}
	for _, c := range []struct {
		name, exact, folded string
	}{
		{"PATH", "/new", "/new"},
		{"Path", "", "/new"},
		{"LocalAppData", "", "/l"},
		{"EMPTY", "", ""},
		{"none", "", ""},
	} {
		if got := lookup(environ, c.name, false); got != c.exact {
			t.Errorf("%s: %q, want %q", c.name, got, c.exact)
		}
		if got := lookup(environ, c.name, true); got != c.folded {
			t.Errorf("%s on Windows: %q, want %q", c.name, got, c.folded)
		}
	}
}
