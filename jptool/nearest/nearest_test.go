package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"--format", "--no-input", "read", "create"}
	for word, want := range map[string]string{
		"--fromat": "--format", "--FORMAT": "--format", "raed": "read", "reed": "read", "craete": "create",
		"write": "", "": "", "x": "", "--no-inptu": "--no-input", "delete": "",
	} {
		if got := Word(word, known); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}
