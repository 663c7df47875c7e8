package weburl

import (
	"slices"
	"strings"
	"testing"
)

func readings(t *testing.T, path string, special bool) []string {
	t.Helper()
	var all []string
	err := PathReadings(path, special, func(segments []string) bool {
		if all == nil {
			all = []string{}
		}
		if s := strings.Join(segments, "|"); len(all) < 2 || !slices.Contains(all, s) {
			all = append(all, s)
		}
		return true
	})
	if err != nil {
		t.Fatalf("%q: %v", path, err)
	}
	return all
}

func TestPathReadings(t *testing.T) {
	for _, c := range []struct {
		path  string
		first string
		// Other readings that have to be among the rest; empty means there is none.
		others []string
	}{
		{"", "", nil},
		{"/", "", nil},
		{"/admin/users", "admin|users", nil},
		{"/admin/", "admin|", nil},
		{"/administration", "administration", nil},
		{"/x/../admin", "admin", nil},
		{"/./admin", "admin", nil},
		{"/../admin", "admin", nil},
		{"/%61dmin", "admin", []string{"admin"}},
		{"/x/%2e%2E/admin", "admin", []string{"admin"}},
		{"/%C3%A9", "é", []string{"é"}},
		{"/a%zz", "a%zz", nil},
		{"/admin%2Fusers", "admin/users", []string{"admin|users"}},
		{"/x%2f..%2fadmin", "x/../admin", []string{"admin"}},
		{"/..%2fadmin", "../admin", []string{"admin"}},
		{"/x/..%5cadmin", `x|..\admin`, []string{"admin"}},
		{`/admin/x\..\..\pub`, "pub", []string{`admin|x\..\..\pub`}},
		{"//admin", "|admin", []string{"admin"}},
		{"/a//../admin", "a|admin", []string{"admin"}},
		{"/x//..//admin", "x||admin", []string{"admin", "x|admin"}},
		{"/x%2f%2f..%2f%2fadmin", "x//..//admin", []string{"x||admin", "admin", "x|admin"}},
		{"/p/a%2fb/../..%2fadmin", "p|../admin", []string{"admin", "p|admin"}},
		{"/admin;v=1/users", "admin;v=1|users", []string{"admin|users"}},
		{"/x/..;/admin", "x|..;|admin", []string{"admin"}},
		{"/;/admin", ";|admin", []string{"|admin", "admin"}},
		{"/admin%3b/users", "admin;|users", []string{"admin|users"}},
		{"/admin%00.png", "admin\x00.png", []string{"admin"}},
		{"/admin%3Fx", "admin?x", []string{"admin"}},
		{"/admin%23x", "admin#x", []string{"admin"}},
		{"/%2561dmin", "%61dmin", []string{"%61dmin", "admin"}},
		{"/x/%252e%252e/admin", "x|%2e%2e|admin", []string{"admin"}},
		{"/x%252f..%252fadmin", "x%2f..%2fadmin", []string{"admin"}},
	} {
		all := readings(t, c.path, true)
		if all[0] != c.first {
			t.Errorf("%q: first reading %q, want %q", c.path, all[0], c.first)
		}
		if c.others == nil && len(slices.Compact(all)) != 1 {
			t.Errorf("%q: readings %q, want one", c.path, all)
		}
		for _, want := range c.others {
			if !slices.Contains(all[1:], want) {
				t.Errorf("%q: readings %q lack %q", c.path, all, want)
			}
		}
	}
}

// In other schemes a backslash is data first, and a separator second.
func TestPathReadingsOfOtherSchemes(t *testing.T) {
	if got, want := readings(t, `/a\b`, false), []string{`a\b`, "a|b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPathReadingsAreBounded(t *testing.T) {
	nested := func(n int) string { return "/%" + strings.Repeat("25", n) + "61" }
	if err := PathReadings(nested(maxRounds-1), true, func([]string) bool { return true }); err != nil {
		t.Error(err)
	}
	called := false
	if err := PathReadings(nested(maxRounds), true, func([]string) bool { called = true; return true }); err == nil || called {
		t.Errorf("err = %v, called = %t", err, called)
	}
	n := 0
	err := PathReadings("/%25%25"+strings.Repeat(`//;x\..%2e%00`, 2000), true, func([]string) bool { n++; return true })
	if err != nil || n > 1000 {
		t.Errorf("%d readings, %v", n, err)
	}
}

func TestPathReadingsStop(t *testing.T) {
	n := 0
	_ = PathReadings("//a;b%2f", true, func([]string) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("yield was called %d times after it said stop at 3", n)
	}
}
