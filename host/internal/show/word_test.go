package show

import (
	"os/exec"
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	for in, want := range map[string]string{
		"src/a.txt": "src/a.txt", "a.b=c:1": "a.b=c:1", "": "''", "a b": "'a b'", "$(touch x)": "'$(touch x)'", "it's": `'it'\''s'`, "~": "'~'", "x;y": "'x;y'",
		"größe": "'größe'", "a\x1b[2J": `"$(printf -- 'a\033\1332J')"`, "-v\x07%s\\": `"$(printf -- '-v\007\045s\134')"`,
	} {
		if got := Word(in); got != want {
			t.Errorf("Word(%q) = %s, want %s", in, got, want)
		}
	}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("there is no sh")
	}
	for _, in := range []string{"a", "", "a b", "'", "''", `"`, "$(echo x)", "`echo x`", "\\", "a\nb", "\x1b]0;x\x07", "\u202e", "\xff", "-n", "-n\x01", "%d\x01", "!", "*", "~", "{a,b}", "#", "&"} {
		out, err := exec.Command(sh, "-c", "printf '%s|' "+Word(in)).Output()
		if err != nil || strings.TrimSuffix(string(out), "|") != in {
			t.Errorf("%q is written %s, which is %q: %v", in, Word(in), out, err)
		}
	}
}
