package fskit

import "testing"

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nü€ c":      "a\tb\nü€ c",
		"\x1b[31mred\r\n": `\x1b[31mred\r` + "\n",
		"\u202egnp":       `\u202egnp`,
		"a\x00b":          `a\x00b`,
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
