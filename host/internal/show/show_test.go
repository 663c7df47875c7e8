package show

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

// What is drawn as nothing is written out, whatever makes it so.
func TestBlankLookAlikesAreWrittenOut(t *testing.T) {
	for _, r := range []rune{
		0x1d159, 0x13441, 0x13442, 0x16fe4, 0x2d7f, 0x1107f, 0xfffc, // symbols, letters, joiners
		0x2800, 0x3164, 0xffa0, 0x115f, 0x1160, 0x034f, 0x00ad, 0x200b, 0x2060, 0xfeff, // fillers and format characters
		0xfe0f, 0xe0100, 0x180b, 0x180f, 0xe0041, 0x2065, 0xe0fff, 0xfff0, // selectors, tags, what is to be ignored
		0x00a0, 0x2003, 0x3000, 0x1680, 0x2028, 0x0378, 0xe000, 0xffff, // spaces, what is not assigned, private use
	} {
		for _, text := range []string{"a" + string(r), string(r) + "a", "a" + string(r) + "b"} {
			if got := Line(text); strings.ContainsRune(got, r) || !strings.Contains(got, `\`) {
				t.Errorf("%U in %q is shown as %q", r, text, got)
			}
		}
	}
	// A mark of a script stands on letters of that script only; what people write stays as it is.
	for text, want := range map[string]string{
		"a\u0942": `a\u0942`, "क\u0942": "क\u0942", "é": "é", "e\u0301": "e\u0301",
		"ខ្មែរ": "ខ្មែរ", "မြန်မာ": "မြန်မာ", "हिन्दी": "हिन्दी", "עִבְרִית": "עִבְרִית", "العَرَبِيَّة": "العَرَبِيَّة", "한국어": "한국어", "ไทยนี้": "ไทยนี้", "தமிழ்": "தமிழ்",
		"a\u200b\u0301": `a\u200b\u0301`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is shown as %q", text, got)
		}
	}
}

// Nothing that reaches the terminal can act on it, and different values look different.
func FuzzVisible(f *testing.F) {
	for _, s := range []string{"a", "a\x1b[0m", "\u202e", "\xff\xfe", `"`, "\\x1b", "\u0301"} {
		f.Add(s, "b")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{Visible(a), Line(a), Text(a)} {
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
		shown := JSON(plain)
		if escape(string(shown), false) != string(shown) {
			t.Errorf("%q became %q", s, shown)
		}
		var back string
		if err := json.Unmarshal(shown, &back); err != nil || back != s {
			t.Errorf("%s means %q: %v", shown, back, err)
		}
	}
	if got := string(JSON([]byte("{\n\t\"größe\": \"\xff\"\n}"))); got != "{\n\t\"größe\": \"\\ufffd\"\n}" {
		t.Error(got)
	}
}
