package diff

import (
	"strings"
	"testing"
)

func TestReplaced(t *testing.T) {
	for _, tt := range []struct{ old, text, want string }{
		{"a\n", "b\n", "--- f\n+++ f\n@@ -1 +1 @@\n-a\n+b\n"},
		{"a\n", "", "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\n"},
		{"a\x1b\n", "", "--- f\n+++ f\n@@ -1 +0,0 @@\n-a\u241b\n"},
		{"", "", ""},
		{"a\n", "a\n", ""},
	} {
		if got, ok := Replaced("f", []byte(tt.old), []byte(tt.text), Options{}); !ok || got != tt.want {
			t.Errorf("%q, %q: %q, %v", tt.old, tt.text, got, ok)
		}
	}
	for _, binary := range []string{"a\x00", "\xff"} {
		if got, ok := Replaced("f", []byte(binary), nil, Options{}); ok || got != "" {
			t.Errorf("%q is shown as %q", binary, got)
		}
	}
	got, _ := Replaced("f", []byte(strings.Repeat("line\n", 100)), nil, Options{MaxBytes: 100})
	if !strings.HasSuffix(got, " more changed lines are not shown\n") || len(got) > 200 {
		t.Errorf("%q", got)
	}
}
