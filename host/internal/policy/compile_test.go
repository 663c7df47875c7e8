package policy

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
)

// The examples of RFD 076, "Evaluation: longest prefix match" and "Filesystem rules".
func TestExamplesOf076(t *testing.T) {
	w := newWorld(t, "dir src/generated", "file .env x", "symlink alias src").mine(`
[conversation.tools.t]
access.fs = [
  { path = ".", read = true, write = true },
  { path = "alias", read = true },
  { path = "src/generated", read = true, write = true, delete = false },
  { path = ".env" },
]`)
	d := w.compile("t")
	w.check(d, `
		read README.md
		update README.md
		create tests/main.rs
		read src/lib.rs
		update src/generated/schema.rs
		create src/generated/new`, `
		execute README.md
		update src/lib.rs
		update alias/lib.rs
		delete src/generated/schema.rs
		write src/generated/x
		read .env
		delete alias
		create .git/hooks/pre-commit
		create .jp/config.toml`)
	e, err := d.ExplainFS("update", "alias/lib.rs")
	if err != nil {
		t.Fatal(err)
	}
	if e.Rule == nil || e.Rule.Name != "src" || e.Rule.Written != "alias" || !strings.HasSuffix(e.Origin, "config.toml:5:3") || e.Canonical != "src/lib.rs" {
		t.Errorf("%+v\n%+v", e, e.Rule)
	}
}

func TestUndeclaredTypes(t *testing.T) {
	for _, tt := range []struct{ name, user string }{
		{"nothing", ""},
		{"net", `conversation.tools.t.access.net = [{ host = "a.example", allow = true }]`},
		{"env", `conversation.tools.t.access.env = [{ name = "TOKEN", read = true }]`},
		{"fs", `conversation.tools.t.access.fs = [{ path = "src", read = true }]`},
		{"commands", `conversation.tools.t.access.commands = {}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t).mine(tt.user)
			d := w.compile("t")
			fs := tt.name == "fs"
			e, _ := d.ExplainFS("write", "x")
			if e.Allowed == fs {
				t.Errorf("write x: %v", e)
			}
			net, err := d.ExplainNet("https://a.example/")
			if err != nil || net.Allowed != (tt.name == "net") {
				t.Errorf("net: %v %v", net, err)
			}
			if net, _ := d.ExplainNet("https://b.example/"); net.Allowed {
				t.Errorf("net: %v", net)
			}
			for name, want := range map[string]bool{"PATH": true, "LC_ALL": true, "TOKEN": tt.name == "env", "OTHER": false} {
				if e, _ := d.ExplainEnv(name); e.Allowed != want {
					t.Errorf("env %s: %v", name, e)
				}
			}
			if e, _ := d.ExplainCommand([]string{"sh", "-c", "x"}); e.Allowed == (tt.name == "commands") {
				t.Errorf("command: %v", e)
			}
			if len(d.Access.FS) == 0 || len(d.Access.Net) == 0 || len(d.Access.Env) == 0 {
				t.Errorf("an empty list opens everything: %+v", d.Access)
			}
		})
	}
}

func TestRestrictedToNothing(t *testing.T) {
	w := newWorld(t).mine(`conversation.tools.t.access = { fs = [], net = [], env = [] }`)
	d := w.compile("t")
	w.check(d, "", "read .\nread x\ncreate x\nexecute x")
	if e, _ := d.ExplainNet("http://x/"); e.Allowed {
		t.Error(e)
	}
	if e, _ := d.ExplainEnv("PATH"); e.Allowed {
		t.Error(e)
	}
}

// A tool that declares nothing is not restricted only where there is no sandbox (RFD 075). Places of secrets are withheld
// even there, by the tool's own check.
func TestNoSandbox(t *testing.T) {
	w := newWorld(t)
	w.sandbox = false
	only := func(d *Declared) bool {
		a := d.Access
		return a != nil && len(a.FS)+len(a.Net)+len(a.Env)+len(a.Pinned) == 0 && a.Commands == nil && slices.Contains(a.Secrets, "**/.env")
	}
	if d := w.compile("t"); !only(d) {
		t.Errorf("%+v", d.Access)
	} else if e, err := d.ExplainFS("read", "a/.env"); err != nil || e.Allowed {
		t.Error(e, err)
	} else if e, err := d.ExplainFS("write", "x"); err != nil || !e.Allowed {
		t.Error(e, err)
	} else if e, err := d.ExplainFS("read", "../x"); err != nil || e.Allowed {
		t.Error("an escape is allowed", e, err)
	}
	w.mine(`conversation.tools.'*'.access.sensitive_paths = ["x"]`)
	if d := w.compile("t"); !only(d) || !slices.Contains(d.Access.Secrets, "x") {
		t.Errorf("%+v", d.Access)
	}
	w.mine(`conversation.tools.t.access.net = []`)
	if d := w.compile("t"); d.Access == nil || len(d.Access.FS) == 0 {
		t.Error("a declared tool has no policy")
	}
}

// The launcher gives a tool what the policy says it may read, no more and no less.
func TestEnvironmentAsLaunched(t *testing.T) {
	names := []string{"PATH", "HOME", "USER", "LANG", "LC_ALL", "LC_TIME", "TMPDIR", "TOKEN", "SECRET", "PA"}
	environ := make([]string, len(names))
	for i, n := range names {
		environ[i] = n + "=v"
	}
	for _, rules := range []string{
		"", `[]`, `[{ name = "TOKEN", read = true }]`, `[{ name = "PATH" }]`, `[{ name = "*" }]`, `[{ name = "P*" }]`,
		`[{ name = "LC_*" }]`, `[{ name = "L*" }]`, `[{ name = "LC_ALL" }]`, `[{ name = "LC_T*" }]`, `[{ name = "*", read = true }]`,
	} {
		w := newWorld(t)
		if rules != "" {
			w.mine("conversation.tools.t.access.env = " + rules)
		}
		d := w.compile("t")
		var declared []jptool.EnvRule
		if tool := w.request("t").Tool; tool.Access != nil {
			declared = tool.Access.Policy().Env
		}
		raw, err := jptool.CompileEnv(declared)
		if err != nil {
			t.Fatal(err)
		}
		if len(declared) == 0 {
			raw = nil
		}
		want, _ := sandbox.Environment(environ, raw)
		full, err := jptool.CompileEnv(d.Access.Env)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := sandbox.Environment(environ, full)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the written policy launches otherwise:\n%s", rules, diff)
		}
		for _, name := range names {
			e, err := d.ExplainEnv(name)
			if err != nil {
				t.Fatal(err)
			}
			launched := strings.Contains("\n"+strings.Join(want, "\n"), "\n"+name+"=")
			if e.Allowed != launched {
				t.Errorf("%s: %s is launched %v, explained %v", rules, name, launched, e)
			}
		}
	}
}

// What a tool itself can bring about must not end all later calls: a rule on a path that cannot be walked any more
// grants nothing, at its own path and where it was heading, as the library has it.
func TestRulesOnBrokenPathsGrantNothing(t *testing.T) {
	w := newWorld(t, "symlink x r/s", "dir r", "file plain f", "symlink out $OUT").mine(`
[conversation.tools.t.access]
fs = [
  { path = ".", read = true, write = true },
  { path = "x/deny" },
  { path = "x/grant", read = true, write = true },
  { path = "plain/grant", read = true },
]`)
	d := w.compile("t")
	got := map[string]jptool.Caps{}
	for _, p := range d.Places() {
		got[strings.TrimPrefix(p.Abs, w.root)] = p.Caps
	}
	for _, path := range []string{"/x/deny", "/r/s/deny", "/x/grant", "/r/s/grant", "/plain/grant"} {
		if caps, ok := got[path]; !ok || caps != 0 {
			t.Errorf("%s: a rule %v, %v; want one that grants nothing", path, ok, caps)
		}
		e, err := d.ExplainFS("create", strings.TrimPrefix(path, "/"))
		if err != nil || e.Allowed {
			t.Errorf("create %s: %+v, %v", path, e, err)
		}
	}
	for _, path := range []string{"r/new", "r/s/new"} {
		if e, err := d.ExplainFS("create", path); err != nil || !e.Allowed {
			t.Errorf("create %s: %+v, %v; want it allowed", path, e, err)
		}
	}
	var warned []string
	for _, warning := range d.Warnings {
		warned = append(warned, warning.Message)
	}
	if text := strings.Join(warned, "\n"); !strings.Contains(text, `the rule on "x/grant" grants nothing: a link on the way leads to nothing`) || !strings.Contains(text, `"plain/grant"`) || strings.Contains(text, "x/deny") {
		t.Errorf("warnings %q", warned)
	}
	// The policy means the same once it has gone over the wire.
	wire, err := json.Marshal(d.Access)
	if err != nil {
		t.Fatal(err)
	}
	again, err := FromWire(wire, w.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range again.Places() {
		if caps, ok := got[strings.TrimPrefix(p.Abs, w.root)]; !ok || caps != p.Caps {
			t.Errorf("%s: %v over the wire, %v before", p.Abs, p.Caps, caps)
		}
	}
}

func TestProblems(t *testing.T) {
	tree := []string{
		"symlink out $OUT", "symlink out2 $OUT/sub", "symlink broken nowhere", "symlink loop loop",
		"dir real", "symlink inner real", "file plain x",
	}
	for _, tt := range []struct{ rules, want string }{
		{`{ path = "real", external = true, read = true }`, `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "real" is external but lies in the workspace
  declare a rule on the link itself that leads outside, or remove external = true`},
		{`{ path = "inner", external = true }`, `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "inner" is external but lies in the workspace
  declare a rule on the link itself that leads outside, or remove external = true`},
		{`{ path = "out/x", read = true }`, `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "out/x" leads outside the workspace
  if that is meant, add external = true to a rule on the link itself`},
		{`{ path = "broken", read = true }`, `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "broken" is on a link that leads nowhere
  repair the link, or remove the rule`},
		{`{ path = "loop", read = true }`, `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "loop" cannot be resolved (too many symlinks on the way)
  remove the rule, or repair the path`},
		// Every problem, not only the first.
		{"{ path = \"broken\", read = true },\n{ path = \"ok\", read = true },\n{ path = \"out\", write = true }", `WS/.jp/config.toml:3:1: conversation.tools.t.access.fs[0]: the rule on "broken" is on a link that leads nowhere
  repair the link, or remove the rule
WS/.jp/config.toml:5:1: conversation.tools.t.access.fs[2]: the rule on "out" leads outside the workspace
  if that is meant, add external = true to a rule on the link itself`},
		{"{ path = \"out\", external = true, read = true },\n{ path = \"out2\", external = true, read = true, write = true }", `WS/.jp/config.toml:4:1: conversation.tools.t.access.fs[1]: the rule on "out2" reaches the same files as the one on "out" (WS/.jp/config.toml:3:1) with other rights
  give both the same rights, or remove one`},
	} {
		w := newWorld(t, tree...).write("../out/sub/f", "").repo("[conversation.tools.t]\naccess.fs = [\n" + tt.rules + "\n]")
		w.approved[w.outside], w.approved[w.outside+"/sub"] = true, true
		if diff := cmp.Diff(tt.want, w.fails("t")); diff != "" {
			t.Errorf("%s\n%s", tt.rules, diff)
		}
		_, err := Compile(context.Background(), w.request("t"))
		if p := (*settings.Problem)(nil); !errors.As(err, &p) || p.Origin.Line == 0 {
			t.Errorf("%s: no place: %v", tt.rules, err)
		}
	}
	if err := newWorld(t).fails("mcp"); !strings.Contains(err, "not local") {
		t.Error(err)
	}
}

// Deny rules never disappear.
func TestDenyRulesStay(t *testing.T) {
	w := newWorld(t, "symlink out $OUT", "symlink broken nowhere", "symlink loop loop").mine(`
[conversation.tools.t]
access.fs = [
  { path = ".", read = true, write = true },
  { path = "out" },
  { path = "broken" },
  { path = "loop" },
  { path = "ext", external = true },
  { path = "none/at/all" },
]`)
	d := w.compile("t")
	if len(w.asked) != 0 || len(d.Dropped) != 0 || len(d.Warnings) != 0 {
		t.Errorf("a rule that grants nothing was asked for: %v %v %v", w.asked, d.Dropped, d.Warnings)
	}
	w.check(d, "read x\ncreate y", "delete out\ndelete broken\ncreate broken\ndelete loop\ncreate ext\nread ext/x\ncreate none/at/all\nread none/at/all/x")
}

func TestApprovals(t *testing.T) {
	rules := `
[conversation.tools.t]
access.fs = [{ path = "fork", external = true, read = true, write = true }, { path = "fork/secrets" }]
[conversation.tools.fs_read_file]
access.fs = [{ path = "fork", external = true, read = true, write = true }]
`
	fork := func(t *testing.T) *world {
		return newWorld(t, "symlink fork $OUT").write("../out/secrets/key", "").write("../out/a", "").mine(rules)
	}
	t.Run("approved", func(t *testing.T) {
		w := fork(t)
		w.approved[w.outside] = true
		d := w.compile("t")
		w.check(d, "read fork/a\nwrite fork/b", "read fork/secrets/key\nread x\ndelete fork\nexecute fork/a")
		want := []consent.Request{{Binding: consent.Binding{RulePath: "fork", Target: w.outside}, Grants: []consent.Grant{
			{Tool: "fs_read_file", Caps: jptool.Read}, {Tool: "t", Caps: jptool.Read | jptool.Write},
		}}}
		if diff := cmp.Diff(want, w.asked); diff != "" {
			t.Error(diff)
		}
		if got := d.Access.FS[0]; !got.External || got.ApprovedTarget == nil || *got.ApprovedTarget != w.outside {
			t.Errorf("%+v", got)
		}
	})
	t.Run("not approved", func(t *testing.T) {
		w := fork(t)
		d := w.compile("t")
		w.check(d, "", "read fork/a\nread fork\nread x\nread .\ncreate y\ndelete fork")
		if len(d.Dropped) != 1 || d.Dropped[0].Command != "jphost approvals approve fork" || d.Dropped[0].Reason != "it has no approved target" {
			t.Errorf("%+v", d.Dropped)
		}
		if len(d.Warnings) != 1 || !strings.HasSuffix(d.Warnings[0].String(), "the rule on \"fork\" grants nothing: it has no approved target\n  approve it with: jphost approvals approve fork") {
			t.Errorf("%v", d.Warnings)
		}
		e, err := d.ExplainFS("read", "fork/a")
		if err != nil || e.Remedy != "approve its target: jphost approvals approve fork" {
			t.Errorf("%v %+v", err, e)
		}
		for _, r := range d.Access.FS {
			if r.ApprovedTarget != nil || r.Caps() != 0 {
				t.Errorf("on the wire: %+v", r)
			}
		}
	})
	t.Run("nobody to ask", func(t *testing.T) {
		w := fork(t)
		r := w.request("t")
		r.Approve = nil
		d, err := Compile(context.Background(), r)
		if err != nil || len(d.Warnings) != 1 || len(d.Dropped) != 1 || d.Dropped[0].Command == "" {
			t.Errorf("%v %+v", err, d)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		r := fork(t).request("t")
		r.Approve = func(context.Context, consent.Request) (consent.Result, error) {
			return consent.Result{}, term.ErrCancelled
		}
		if d, err := Compile(context.Background(), r); !errors.Is(err, term.ErrCancelled) || d != nil {
			t.Error(d, err)
		}
	})
	t.Run("refused without a reason", func(t *testing.T) {
		r := fork(t).request("t")
		r.Approve = func(context.Context, consent.Request) (consent.Result, error) { return consent.Result{}, nil }
		d, err := Compile(context.Background(), r)
		if err != nil || len(d.Dropped) != 1 || d.Dropped[0].Reason == "" || len(d.Mounts()) != 0 {
			t.Fatal(d, err)
		}
	})
	t.Run("store fails", func(t *testing.T) {
		r := fork(t).request("t")
		r.Approve = func(context.Context, consent.Request) (consent.Result, error) {
			return consent.Result{Approved: true}, errors.New("disk full")
		}
		d, err := Compile(context.Background(), r)
		if err != nil || len(d.Dropped) != 1 {
			t.Fatal(d, err)
		}
	})
	for name, tree := range map[string]string{"missing": "dir x", "broken": "symlink fork nowhere", "missing in the target": "symlink fork $OUT/none"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tree).mine(strings.Replace(rules, `{ path = "fork/secrets" }`, `{ path = "fork/src", read = true, write = true }, { path = ".", read = true, write = true }`, 1))
			d := w.compile("t")
			if len(w.asked) != 0 || len(d.Dropped) != 1 || d.Dropped[0].Command != "" || len(d.Warnings) != 2 {
				t.Errorf("%v %+v %v", w.asked, d.Dropped, d.Warnings)
			}
			w.check(d, "read x\nwrite y", "read fork/a\ncreate fork\ncreate fork/src\ncreate fork/src/x")
		})
	}
	t.Run("into an approved mount", func(t *testing.T) {
		w := newWorld(t, "symlink fork $OUT", "symlink sub $OUT/secrets").write("../out/secrets/key", "").mine(`
conversation.tools.t.access.fs = [
  { path = ".", read = true, write = true },
  { path = "fork", external = true, read = true },
  { path = "sub", external = true, read = true },
]`)
		w.approved[w.outside] = true
		d := w.compile("t")
		// What was approved stays, and the link that was not stays in its place.
		w.check(d, "read fork/secrets/key\nread fork", "delete sub\ncreate sub\ndelete fork")
	})
	t.Run("links above the link", func(t *testing.T) {
		w := newWorld(t, "dir real", "symlink via real", "symlink real/fork $OUT").mine(`
conversation.tools.t.access.fs = [{ path = "via/fork", external = true, read = true }, { path = ".", write = true }]`)
		w.approved[w.outside] = true
		d := w.compile("t")
		if w.asked[0].RulePath != "real/fork" {
			t.Errorf("%+v", w.asked)
		}
		w.check(d, "read via/fork/a\nread real/fork/a\ncreate real/x", "delete via\ndelete real/fork")
	})
}

// What a mount kept in a conversation does not survive a list that says nothing is allowed.
func TestTightened(t *testing.T) {
	talk := `
[[conversation.tools.t.access.fs]]
path = "."
read = true
write = true
execute = true
[[conversation.tools.t.access.fs]]
path = "fork"
external = true
read = true
`
	for _, tt := range []struct {
		name, mine, talk string
		open             bool
	}{
		{"alone", "", talk, true},
		{"a rule", `conversation.tools.t.access.fs = [{ path = "src", read = true }]`, talk, false},
		{"the same row, meant", `conversation.tools.t.access.fs = [{ path = ".", read = true, write = true, execute = true }]`, talk, true},
		{"an empty list", `conversation.tools.t.access.fs = []`, talk, false},
		{"replaced", `conversation.tools.t.access.fs = []`, `conversation.tools.t.access.fs = { strategy = "replace", value = [{ path = ".", read = true, write = true }] }`, true},
	} {
		w := newWorld(t, "symlink fork $OUT").mine(tt.mine).write("../data/talk.toml", tt.talk)
		w.approved[w.outside] = true
		d := w.compile("t")
		if e, _ := d.ExplainFS("write", "x"); e.Allowed != tt.open {
			t.Errorf("%s: %v", tt.name, e)
		}
	}
}

func TestNeeds(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT", "dir src").mine(`
[conversation.tools.fs_read_file]
access.fs = [
  { path = ".", read = true, write = true },
  { path = "src", execute = true },
  { path = "fork", external = true, execute = true },
  { path = "fork/sub", read = true },
]`)
	w.approved[w.outside] = true
	d := w.compile("fs_read_file")
	w.check(d, "read x", "update x\nread src/x\nexecute src/x\nread fork/x\nread fork/sub/x")
	for _, r := range d.Rules {
		if r.Origin == SelfProtection {
			t.Errorf("protects against nothing: %+v", r)
		}
	}
	e, _ := d.ExplainFS("update", "x")
	if !strings.Contains(e.Reason, "needs only read (needs.fs, built-in") || !strings.Contains(e.Remedy, `"update"`) {
		t.Errorf("%+v", e)
	}
}
