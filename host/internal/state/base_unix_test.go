//go:build unix

package state

import "testing"

func TestBase(t *testing.T) {
	for _, c := range []struct {
		system, want string
		env          map[string]string
	}{
		{"linux", "/d", map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}},
		{"linux", "/h/.local/share", map[string]string{"XDG_DATA_HOME": "d", "HOME": "/h"}}, // a relative one is ignored
		{"linux", "/h/.local/share", map[string]string{"HOME": "/h"}},
		{"linux", "", nil},
		{"darwin", "/h/Library/Application Support", map[string]string{"HOME": "/h"}},
		{"darwin", "/d", map[string]string{"XDG_DATA_HOME": "/d", "HOME": "/h"}},
		{"windows", "/l", map[string]string{"HOME": "/h", "LocalAppData": "/l"}},
		{"windows", "", map[string]string{"HOME": "/h"}},
	} {
		if got := dataHome(func(name string) string { return c.env[name] }, c.system); got != c.want {
			t.Errorf("%s %v: %q, want %q", c.system, c.env, got, c.want)
		}
	}
	if got, err := (System{Getenv: func(string) string { return "/d" }}).Base(); err != nil || got != "/d/jphost" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (System{Getenv: func(string) string { return "h" }}).Base(); err == nil {
		t.Errorf("below a home directory that is not absolute: %q", got)
	}
}
