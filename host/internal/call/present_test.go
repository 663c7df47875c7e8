package call

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/term"
)

// Who is asked sees each argument once: in the command line, or below it.
func TestArgumentsAreShownOnce(t *testing.T) {
	const parameters = "parameters = { path = { type = \"string\" }, list = { type = \"array\", items = { type = \"string\" } }, n = { type = \"integer\", default = 3 } }"
	for name, c := range map[string]struct {
		words []string
		args  string
		want  string
	}{
		"in the line":          {[]string{"{{tool.arguments.path}}"}, `{"path":"my file","n":4}`, "'my file'It also gets:\n{\n  \"n\": 4\n}\n"},
		"by default":           {[]string{"{{tool.arguments.path}}"}, `{"path":"f"}`, " fIt also gets by default: n = 3\n"},
		"a part of it":         {[]string{"{{tool.arguments.list.0}}"}, `{"list":["a","b"],"n":3}`, " aIt also gets (by default: n = 3):\n{\n  \"list\": [\n    \"a\",\n    \"b\"\n  ]\n}\n"},
		"in the whole request": {[]string{"{{tool}}{{tool.arguments.path}}"}, `{"path":"f","n":4}`, "It also gets:\n{\n  \"n\": 4,\n  \"path\": \"f\"\n}\n"},
	} {
		w := newWorld(t, one("echo", c.words, `run = "ask"`, parameters))
		p := w.says("y")
		w.run(c.args)
		if len(p.asked) != 1 || !strings.HasPrefix(p.asked[0], "t runs:\n") || !strings.Contains(p.asked[0], c.want+"Let t run") {
			t.Errorf("%s: asked %q, want one with %q", name, p.asked, c.want)
		}
	}
}

// What a preview calls a diff is one, and nothing else is, whatever it looks like: others choose what stands in files.
func TestPreviewsAreShownAsTheyAre(t *testing.T) {
	const lines = "mkdir -p build\n```touch pwned;`diff\n--- a\n+++ a\n@@ -1 +1 @@\n```\n"
	const diff = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n --- b\n-```diff\n+x\n"
	got := quoted("t", []shown{{Text: "Would create a."}, {Text: lines}, {Text: diff, Diff: true}}, true)
	want := term.Message{Body: "t:\n", Quoted: "Would create a.", Then: []term.Message{
		{Body: "\n", Quoted: lines}, {Body: "\n", Quoted: "@@ -1,2 +1,2 @@\n --- b\n-```diff\n+x\n", Diff: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := quoted("t", []shown{{Text: diff, Diff: true}}, false); got.Quoted != diff {
		t.Errorf("of several files: %q", got.Quoted)
	}
	if got := WithoutDiffs("Would modify a:\n\n````diff\n" + diff + "````\n\nnote\n"); got != "Would modify a:\n\nnote" {
		t.Errorf("without diffs it is %q", got)
	}
}
