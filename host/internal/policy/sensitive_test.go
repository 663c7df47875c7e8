package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

func TestSensitive(t *testing.T) {
	list := func(d *Declared) string {
		var parts []string
		for _, s := range d.Sensitive {
			parts = append(parts, s.Path+" by "+s.Rule)
		}
		return strings.Join(parts, ", ")
	}
	tree := []string{"file .env x", "file .env.local x", "file src/.env x", "file deep/er/.env x", "symlink home $OUT/../home", "file app/key.pem x"}
	for _, tt := range []struct{ name, mine, want string }{
		{"default", "", ""},
		// What a rule merely covers is withheld, so that there is nothing to ask about.
		{"root", `conversation.tools.t.access.fs = [{ path = ".", read = true }]`, ""},
		{"denied", `conversation.tools.t.access.fs = [{ path = ".", read = true }, { path = ".env" }]`, ""},
		{"rules", `conversation.tools.t.access.fs = [{ path = "src", write = true }, { path = "deep/er/.env", read = true }, { path = "app", execute = true }]`, "deep/er/.env by deep/er/.env"},
		{"execute only", `conversation.tools.t.access.fs = [{ path = ".", execute = true }]`, ""},
		{"a mount of home", `conversation.tools.t.access.fs = [{ path = "home", external = true, read = true }]`, ""},
		{"a rule in a mount of home", `conversation.tools.t.access.fs = [{ path = "home", external = true, read = true }, { path = "home/.ssh", read = true }]`, "home/.ssh by home/.ssh"},
		{"denied in the mount", `conversation.tools.t.access.fs = [{ path = "home", external = true, read = true }, { path = "home/.ssh" }, { path = "home/.aws" }]`, ""},
		{"a key below", `conversation.tools.t.access.fs = [{ path = "home", external = true, execute = true }, { path = "home/.ssh/id", read = true }]`, "home/.ssh/id by home/.ssh/id"},
		{"mine", "conversation.tools.'*'.access.sensitive_paths = [\"**/*.pem\", \"~/notes\"]\nconversation.tools.t.access = { sensitive_paths = [\"src\"], fs = [{ path = \"app\", read = true }, { path = \"src\", read = true }, { path = \"home\", external = true, read = true }] }", "src by src"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tree...)
			jptooltest.Tree(t, w.home, "file .ssh/id x", "file .aws/credentials x", "file .aws/config x", "file notes x")
			w.approved[w.home] = true
			if tt.mine != "" {
				w.mine(tt.mine)
			}
			d := w.compile("t")
			if diff := cmp.Diff(tt.want, list(d)); diff != "" {
				t.Error(diff)
			}
		})
	}
	// The workspace is the home directory: what it holds is in the default too.
	w := newWorld(t)
	jptooltest.Tree(t, w.home, "file .ssh/id x")
	w.root = w.home
	if d := w.compile("t"); list(d) != "" {
		t.Error(list(d))
	} else if e, err := d.ExplainFS("read", ".ssh/id"); err != nil || e.Allowed {
		t.Errorf("%+v, %v", e, err)
	}
}
