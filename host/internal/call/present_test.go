package call

import (
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/config"
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

// Only what fs_modify_file itself puts around its diffs is left out.
func TestDiffsAreShownWithoutFences(t *testing.T) {
	const preview = "Would modify a:\n\n````diff\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n --- b\n-```diff\n+x\n````\n\nnote\n"
	modify := &call{Request: Request{Tool: &config.Tool{Name: "fs_modify_file"}}}
	for _, c := range []struct {
		k    *call
		one  bool
		want string
	}{
		{modify, true, "Would modify a:\n\n@@ -1,2 +1,2 @@\n --- b\n-```diff\n+x\n\nnote\n"},
		{modify, false, "Would modify a:\n\n--- a\n+++ a\n@@ -1,2 +1,2 @@\n --- b\n-```diff\n+x\n\nnote\n"},
		{&call{Request: Request{Tool: &config.Tool{Name: "fs_create_file"}}}, true, preview},
	} {
		if got := c.k.unfenced(preview, c.one); got != c.want {
			t.Errorf("%s, one file %v:\n%s\nwant\n%s", c.k.Tool.Name, c.one, got, c.want)
		}
	}
	if got := WithoutDiffs(preview); got != "Would modify a:\n\nnote" {
		t.Errorf("without diffs it is %q", got)
	}
}
