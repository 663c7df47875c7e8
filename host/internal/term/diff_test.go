package term

import (
	"strings"
	"testing"
)

// marked shows a diff with its colours as letters before the lines, and what stands out in brackets.
func marked(text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	for i, look := range paint(lines) {
		b.WriteString(map[string]string{"": " ", inkAdded: "A", inkRemoved: "R", inkHunk: "H", inkHeader: "N"}[look.code])
		at := 0
		for _, m := range look.marks {
			b.WriteString(lines[i][at:m.from] + "[" + lines[i][m.from:m.to] + "]")
			at = m.to
		}
		b.WriteString(lines[i][at:] + "\n")
	}
	return b.String()
}

func TestDiffsAreColoured(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"words": {
			"--- f\n+++ f\n@@ -1,3 +1,3 @@\n a\n-the quick fox\n+the slow fox\n b\nafter",
			"N--- f\nN+++ f\nH@@ -1,3 +1,3 @@\n  a\nR-the [quick] fox\nA+the [slow] fox\n  b\n after\n",
		},
		"nothing in common": {"@@ -1 +1 @@\n-alpha\n+beta", "H@@ -1 +1 @@\nR-alpha\nA+beta\n"},
		"pairs in order": {
			"@@ -1,2 +1,3 @@\n-a = one\n-b = two\n+a = ONE\n+b = TWO\n+c = 3",
			"H@@ -1,2 +1,3 @@\nR-a = [one]\nR-b = [two]\nA+a = [ONE]\nA+b = [TWO]\nA+c = 3\n",
		},
		"added words":         {"@@ -1 +1 @@\n-f(a)\n+f(a, b)", "H@@ -1 +1 @@\nR-f(a)\nA+f(a[, b])\n"},
		"a header is a line":  {"@@ -1,2 +1 @@\n--- f\n+++ f\n-x", "H@@ -1,2 +1 @@\nR-[--] f\nA+[++] f\nR-x\n"},
		"no hunk, no colours": {"- a list\n+ of signs\n--- f\n+++ f\nplain", " - a list\n + of signs\n --- f\n +++ f\n plain\n"},
		"behind a hunk":       {"@@ -1 +1 @@\n-a\n+b\n+c\n-d", "H@@ -1 +1 @@\nR-a\nA+b\n +c\n -d\n"},
		"no end of line":      {"@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b", "H@@ -1 +1 @@\nR-a\n \\ No newline at end of file\nA+b\n"},
	} {
		if got := marked(c.in); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, c.want)
		}
	}
}
