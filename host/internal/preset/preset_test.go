package preset

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}

// Each file says all that people are shown, and nothing that is not known.
func TestFiles(t *testing.T) {
	list := All()
	if len(list) != 9 {
		t.Fatalf("%d presets", len(list))
	}
	names := map[string]bool{}
	for _, p := range list {
		names[p.Name] = true
		if p.Summary == "" || !strings.HasSuffix(p.Summary, ".") || len(p.Programs) == 0 || len(p.LeftOut) == 0 || len(p.Net.Ports) == 0 || p.Net.What == "" {
			t.Errorf("%s lacks something: %+v", p.Name, p)
		}
		if !regexp.MustCompile(`^jphost sandbox exec (.* )?--preset ` + p.Name + `(:net)?[ ,]`).MatchString(p.Example) {
			t.Errorf("%s: example %q", p.Name, p.Example)
		}
		for _, l := range p.LeftOut {
			if l.What == "" || l.Why == "" {
				t.Errorf("%s: %+v", p.Name, l)
			}
		}
		answers := map[string]bool{}
		for _, a := range p.Ask {
			if len(a.Command) < 2 || len(a.Answers) == 0 {
				t.Errorf("%s: %+v", p.Name, a)
			}
			for _, name := range a.Answers {
				answers[name] = true
			}
		}
		for i, at := range p.Places {
			if at.Name == "" || at.What == "" || len(at.Find) == 0 {
				t.Errorf("%s: %+v", p.Name, at)
			}
			if at.Net && at.Own == "" || strings.Contains(at.Own, "/") || at.Own != "" && (at.Below != "" || at.Set == nil) {
				t.Errorf("%s: %s: %+v", p.Name, at.Name, at)
			}
			for _, text := range at.Set {
				for _, h := range hole.FindAllString(text, -1) {
					name := h[1 : len(h)-1]
					known := name == "" || name[0] == '$' || name[0] == '@' && answers[name[1:]] ||
						slices.ContainsFunc(p.Places[:i], func(o place) bool { return o.Name == name })
					if !known {
						t.Errorf("%s: %s sets %q", p.Name, at.Name, text)
					}
				}
			}
			for _, spec := range at.Find {
				if name, is := strings.CutPrefix(spec, "@"); is && !answers[name] || !is && !strings.ContainsAny(spec[:1], "$~/") {
					t.Errorf("%s: %s is found by %q, which nothing says", p.Name, at.Name, spec)
				}
			}
		}
		for _, name := range slices.Concat(p.Env, p.Net.Env) {
			if strings.Contains(name, "*") || regexp.MustCompile(`TOKEN$|SECRET|PASSWORD|_KEY$|AUTH$|ASKPASS|SOCK$`).MatchString(name) {
				t.Errorf("%s hands down %s", p.Name, name)
			}
		}
	}
	for _, want := range []string{"go", "node", "python", "rust", "java", "c", "git", "claude", "codex"} {
		if !names[want] {
			t.Errorf("there is no preset %s", want)
		}
	}
	if err := strict([]byte("summary = \"x\"\nplases = []\n"), &Preset{}); err == nil {
		t.Error("an unknown key is read")
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"go":               "go",
		"go,node:net":      "go node:net",
		"go, git":          "go git",
		"go|go:net":        "go:net",
		"go:net,go":        "go:net",
		"":                 "there is no preset \"\"\nknown are c, claude,",
		"gos":              "there is no preset \"gos\"\ndid you mean go? known are c, claude,",
		"pyton":            "there is no preset \"pyton\"\ndid you mean python?",
		"nod:net":          "did you mean node:net?",
		"go:network":       "did you mean go:net?",
		"go:":              "did you mean go:net?",
		"go,":              "there is no preset \"\"",
		"../go":            "there is no preset \"../go\"",
		"GO":               "there is no preset \"GO\"",
		"go:net:net":       "did you mean go:net?",
		"unlike anything!": "there is no preset \"unlike anything!\"\nknown are",
	} {
		var got string
		list, err := Parse(strings.Split(text, "|"))
		if err != nil {
			got = err.Error()
		}
		for i, c := range list {
			got += map[bool]string{true: " "}[i > 0] + c.Word()
		}
		if got != want && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for _, word := range Words() {
		if _, err := Parse([]string{word}); err != nil {
			t.Error(err)
		}
	}
}

// script writes a program of shell into a directory.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

// text is what was found, with $HOME and $WS for these directories.
func (w *world) text(f *Found) string {
	var lines []string
	for _, p := range f.Places {
		doing := p.Doing()
		if p.Refused != "" {
			doing = "refused: " + p.Refused
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s (%s)", p.Name, doing, p.Path, p.By))
	}
	text := strings.Join(append(lines, f.Notes...), "\n")
	return strings.NewReplacer(w.home, "~", w.ws, "$WS", w.dir, "$DIR", w.id(), "$ID").Replace(text)
}
