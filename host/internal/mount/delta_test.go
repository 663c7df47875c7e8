package mount

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool"
)

// What is read in part could lack a restriction: all that TOML does not write is an error.
func TestParse(t *testing.T) {
	for _, bad := range []string{
		"[", "x = 1", "[conversation]\nx = 1", "[conversation.tools.t]", "[conversation.tools.t]\nrun = 'skip'", "[conversation.tools.t.access]",
		"[conversation.tools.t.access]\nfs = 1", "[conversation.tools.t.access]\nnet = []", "[conversation.tools.t.access]\nfs = ['src']",
		"[[conversation.tools.t.access.fs]]\nread = true", "[[conversation.tools.t.access.fs]]\npath = ''", "[[conversation.tools.t.access.fs]]\npath = 'x'\nraed = true",
		"[[conversation.tools.t.access.fs]]\npath = 'x'\nread = 1", "[[conversation.tools.t.access.fs]]\npath = 1",
		"[conversation.tools.t.access.fs]\nstrategy = 'prepend'\nvalue = []", "[conversation.tools.t.access.fs]\nstrategy = 'replace'",
		"[conversation.tools.t.access.fs]\nstrategy = 'replace'\nvalue = []\ndedup = true",
	} {
		if got, err := parseDelta([]byte(bad), "f"); err == nil {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
	no := false
	for text, want := range map[string]map[string]ToolDelta{
		"":                                       {},
		"[conversation.tools.t.access]\nfs = []": {"t": {}},
		"[conversation.tools.t.access.fs]\nstrategy = 'replace'\nvalue = [{path = '.', read = false}]": {
			"t": {Replace: true, FS: []jptool.FsRule{{Path: ".", Read: &no}}},
		},
	} {
		got, err := parseDelta([]byte(text), "f")
		if diff := cmp.Diff(want, got.Tools); err != nil || diff != "" {
			t.Errorf("%q: %v %s", text, err, diff)
		}
	}
}
