package search

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rgOutput is a search as ripgrep prints it.
type rgOutput struct{ bytes.Buffer }

func (o *rgOutput) Line(l *Line) {
	mark := ':'
	if l.Context {
		mark = '-'
	}
	fmt.Fprintf(o, "%d%c%s\n", l.Number, mark, l.Bytes)
}

func (o *rgOutput) Break() { o.WriteString("--\n") }

// TestRipgrep compares searches of ASCII text with those of ripgrep.
func TestRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("ripgrep (rg) is not installed: ", err)
	}
	r := rand.New(rand.NewSource(5))
	words := []string{
		"int", "return", "foo", "bar_baz", "PM_RESUME", "pm_suspend", "x12345", "42", "{", "}", "(", ")", ";", "\t", " ", " ", " ",
		"\"str\"", ":", "task", "\n", "\n", "\n", "\n\n", "\r\n", "/*", "*/", "a", "B", "END",
	}
	var text bytes.Buffer
	for range 20_000 {
		text.WriteString(words[r.Intn(len(words))])
	}
	text.WriteString("no end return")
	name := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(name, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, tt := range []struct {
		pattern     string
		fold, multi bool
	}{
		{pattern: "PM_RESUME"},
		{pattern: "return"},
		{pattern: "nowhere"},
		{pattern: ""},
		{pattern: "^$"},
		{pattern: "[A-Z]+_(RESUME|SUSPEND)", fold: true},
		{pattern: "foo|bar|42|task"},
		{pattern: "pm_resume", fold: true},
		{pattern: "[a-z]+[0-9]{5,}"},
		{pattern: `\bfoo\b`},
		{pattern: `\Bfoo`},
		{pattern: `"[^"]*"\s*:`},
		{pattern: `END$`},
		{pattern: `^\s+return`},
		{pattern: `\s$`},
		{pattern: `^[^a]*$`},
		{pattern: `a.*B.*;`},
		{pattern: `(int|foo)+\s*\(`, fold: true},
		{pattern: `\Aint`},
		{pattern: `return\z`},
		{pattern: `\w{5}\s\w{3}`},
		{pattern: `x*`},
		{pattern: `.`},
		{pattern: `foo\nbar`, multi: true},
		{pattern: `\{\s*\}`, multi: true},
		{pattern: `(?s)/\*.*?\*/`, multi: true},
		{pattern: `return$`, multi: true},
		{pattern: `^task`, multi: true},
		{pattern: `\n\n`, multi: true},
		{pattern: `end\s*int`, fold: true, multi: true},
	} {
		s := Searcher{Before: i % 3, After: (i + 1) % 4}
		args := []string{"--no-config", "--no-heading", "--no-filename", "--line-number", fmt.Sprint("-B", s.Before), fmt.Sprint("-A", s.After)}
		if tt.fold {
			args = append(args, "--ignore-case")
		}
		if tt.multi {
			args = append(args, "--multiline")
		}
		want, err := exec.Command(rg, append(args, "--", tt.pattern, name)...).Output()
		if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Fatalf("rg %q: %v", tt.pattern, err)
		}
		var got rgOutput
		m := mustCompile(t, tt.pattern, Options{CaseInsensitive: tt.fold, Multiline: tt.multi})
		if _, err := s.Search(bytes.NewReader(text.Bytes()), m, &got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%q: %s", tt.pattern, firstDifference(got.String(), string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("output line %d: got %q, ripgrep %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines of output, ripgrep %d", len(g), len(w))
}
