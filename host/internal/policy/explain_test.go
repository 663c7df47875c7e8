package policy

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/jptool"
)

func TestExplainText(t *testing.T) {
	w := newWorld(t, "dir src", "symlink out $OUT").mine(`
[conversation.tools.t.access]
fs = [
  { path = ".", read = true },
  { path = "src", read = true, write = true },
  { path = "src/lock", read = true },
]
net = [
  { host = "api.github.com", allow = true },
  { host = "api.github.com", path_prefix = "/admin" },
]
env = [{ name = "AWS_*", read = true }, { name = "AWS_SECRET_ACCESS_KEY" }]
commands.cargo = { args = [["check", "**"]] }
`)
	d := w.compile("t")
	for _, tt := range []struct {
		ask  func() (Explanation, error)
		want string
	}{
		{func() (Explanation, error) { return d.ExplainFS("update", "src/lib.rs") }, `allowed: update src/lib.rs
  rule      { path = "src", read = true, write = true }
  origin    USER:5:3 (user)
  because   the rule on "src" grants read, create, update, delete`},
		{func() (Explanation, error) { return d.ExplainFS("update", "src/lock/x") }, `not allowed: update src/lock/x
  rule      { path = "src/lock", read = true }
  origin    USER:6:3 (user)
  because   the rule on "src/lock" decides, and grants only read
  remedy    change that rule, or add a more specific one to conversation.tools.t.access.fs: { path = "src/lock/x", read = true, update = true }
  near miss { path = "src", read = true, write = true } (USER:5:3): grants it, but a more specific rule decides here`},
		{func() (Explanation, error) { return d.ExplainFS("update", "src/lock") }, `not allowed: update src/lock
  rule      { path = "src/lock", read = true }
  origin    USER:6:3 (user)
  because   the rule on "src/lock" decides, and grants only read
  remedy    change that rule: add update = true
  near miss { path = "src", read = true, write = true } (USER:5:3): grants it, but a more specific rule decides here`},
		{func() (Explanation, error) { return d.ExplainFS("create", "src/.jp/../new") }, `allowed: create src/.jp/../new
  judged as src/new
  rule      { path = "src", read = true, write = true }
  origin    USER:5:3 (user)
  because   the rule on "src" grants read, create, update, delete`},
		{func() (Explanation, error) { return d.ExplainFS("read", "out/x") }, `not allowed: read out/x
  because   path out/x resolves outside the workspace, to a place that is not an approved mount
  remedy    add a rule with external = true on the link itself to conversation.tools.t.access.fs, or mount the place: jphost mount NAME=PATH`},
		{func() (Explanation, error) { return d.ExplainFS("delete", ".") }, `not allowed: delete .
  rule      { path = ".", read = true }
  origin    USER:4:3 (user)
  because   it is the root of the workspace or of a mount, which is neither created nor removed
  remedy    name something in it
  near miss { path = "src", read = true, write = true } (USER:5:3): grants it, for another path`},
		{func() (Explanation, error) { return d.ExplainNet("https://user:pw@API.github.com/admin/users?q=1") }, `not allowed: https://user:pw@API.github.com/admin/users?q=1
  judged as https://api.github.com/admin/users?q=1
  rule      { host = "api.github.com", path_prefix = "/admin", allow = false }
  origin    USER:10:3 (user)
  because   https://api.github.com/admin/users is denied by access.net[1] (USER:10:3) { host = "api.github.com", path_prefix = "/admin", allow = false }
  remedy    change that rule, or add one after it that is as specific and has allow = true
  near miss { host = "api.github.com", allow = true } (USER:9:3): matches too, and is less specific or comes earlier`},
		{func() (Explanation, error) { return d.ExplainNet("https://api.github.com.evil.com/") }, `not allowed: https://api.github.com.evil.com/
  because   https://api.github.com.evil.com/ is denied: no rule of access.net names this host
  remedy    add { host = "api.github.com.evil.com", allow = true } to conversation.tools.t.access.net`},
		{func() (Explanation, error) { return d.ExplainEnv("AWS_SECRET_ACCESS_KEY") }, `not allowed: AWS_SECRET_ACCESS_KEY
  rule      { name = "AWS_SECRET_ACCESS_KEY", read = false }
  origin    USER:12:41 (user)
  because   "AWS_SECRET_ACCESS_KEY" is withheld by access.env[1] (USER:12:41) { name = "AWS_SECRET_ACCESS_KEY", read = false }
  remedy    change that rule, or add one with the same name and read = true after it`},
		{func() (Explanation, error) { return d.ExplainEnv("HOME") }, `allowed: HOME
  rule      { name = "HOME", read = true }
  origin    built-in default
  because   "HOME" may be read by access.env[3] (built-in default) { name = "HOME", read = true }`},
		{func() (Explanation, error) { return d.ExplainCommand([]string{"cargo", "build"}) }, `not allowed: cargo build
  rule      { args = [["check", "**"]] }
  origin    USER:13:10 (user)
  because   "cargo" may not be started with these arguments: access.commands."cargo" allows only ["check", "**"]
  remedy    add a list to its args`},
		{func() (Explanation, error) { return d.ExplainCommand([]string{"sh"}) }, `not allowed: sh
  because   "sh" may not be started: access.commands lists only "cargo"
  remedy    add conversation.tools.t.access.commands."sh"`},
	} {
		e, err := tt.ask()
		if err != nil {
			t.Error(err)
			continue
		}
		if diff := cmp.Diff(tt.want, strings.ReplaceAll(e.String(), w.user, "USER")); diff != "" {
			t.Error(diff)
		}
		if e.Allowed != (e.Remedy == "") || e.Allowed != (e.Code == "") {
			t.Errorf("%+v", e)
		}
	}
}

// A path out of the workspace is denied like any other that no rule grants, as a tool denies it.
func TestExplainPathsOutside(t *testing.T) {
	d := newWorld(t).compile("t")
	for path, code := range map[string]jptool.Code{"/etc/passwd": jptool.CodeAbsolutePath, "a/../../x": jptool.CodePathEscape} {
		e, err := d.ExplainFS("read", path)
		if err != nil || e.Allowed || e.Code != code || e.Reason == "" || e.Remedy == "" {
			t.Errorf("%s: %+v, %v", path, e, err)
		}
	}
}

func TestExplainBadInput(t *testing.T) {
	d := newWorld(t).compile("t")
	for name, ask := range map[string]func() (Explanation, error){
		"capability": func() (Explanation, error) { return d.ExplainFS("own", "x") },
		"NUL":        func() (Explanation, error) { return d.ExplainFS("read", "a\x00") },
		"url":        func() (Explanation, error) { return d.ExplainNet("example.com") },
		"env":        func() (Explanation, error) { return d.ExplainEnv("A=b") },
		"no env":     func() (Explanation, error) { return d.ExplainEnv("") },
		"command":    func() (Explanation, error) { return d.ExplainCommand(nil) },
	} {
		if e, err := ask(); err == nil || e.Allowed {
			t.Errorf("%s: %v %v", name, e, err)
		}
	}
}

// What a hostile repository writes comes out visible.
func TestExplainIsVisible(t *testing.T) {
	w := newWorld(t).repo(`conversation.tools.t.access.fs = [{ path = "a\u001b[2Jb\nallowed", read = true }]`)
	d := w.compile("t")
	e, err := d.ExplainFS("update", "a\x1b[2Jb\nallowed")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{e.String(), b.String()} {
		if strings.Contains(text, "\x1b") || strings.Contains(text, "\nallowed") {
			t.Errorf("%q", text)
		}
	}
}

func TestReport(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT", "symlink alias src", "dir src").mine(`
conversation.tools.fs_read_file.access.fs = [{ path = "alias", read = true, write = true }, { path = "fork", external = true, read = true }]
conversation.tools.fs_read_file.access.commands.git = { args = [[]], envs = ["HOME"] }
`)
	w.approved[w.root+"/src"] = true
	d := w.compile("fs_read_file")
	var b bytes.Buffer
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := `policy of fs_read_file in WS
needs: read (built-in:9:7)

fs:
  { path = "src", read = true }   (USER:2:46, user)
    written as alias
    narrowed to what the tool needs
  { path = "fork" }   (USER:2:93, user)
    dropped: it has no approved target

net:
  { host = "*", allow = false }   (built-in default)

env:
  { name = "PATH", read = true }   (built-in default)
  { name = "HOME", read = true }   (built-in default)
  { name = "USER", read = true }   (built-in default)
  { name = "LANG", read = true }   (built-in default)
  { name = "LC_*", read = true }   (built-in default)
  { name = "TMPDIR", read = true }   (built-in default)
  { name = "TERM", read = true }   (built-in default)
  { name = "COLORTERM", read = true }   (built-in default)
  { name = "NO_COLOR", read = true }   (built-in default)
  { name = "COLUMNS", read = true }   (built-in default)
  { name = "LINES", read = true }   (built-in default)
  { name = "TZ", read = true }   (built-in default)

commands:
  git = { args = [[]], envs = ["HOME"] }   (USER:3:49, user)

places of secrets, withheld unless a rule names them:
  ~/.ssh, ~/.gnupg, ~/.gpg, ~/.aws/credentials, ~/.config/gcloud,
  ~/.kube/config, ~/.docker/config.json, **/.env, **/.env.*,
  !**/.env.example, !**/.env.sample, !**/.env.template, !**/.env.dist,
  !**/.env.defaults   (built-in default)

kept in place:
  alias
  fork

dropped:
  fork   (USER:2:93)
    it has no approved target
    approve it with: jphost approvals approve fork
`
	got := strings.NewReplacer(w.user, "USER", w.root, "WS").Replace(b.String())
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	raw, err := json.Marshal(d.Report)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"tool":"fs_read_file"`, `"needs":["read"]`, `"sensitive":[]`, `"rules":[{"type":"fs","index":0,"name":"src","written":"alias"`} {
		if !bytes.Contains(raw, []byte(part)) {
			t.Errorf("no %s in %s", part, raw)
		}
	}
}

func TestFromWire(t *testing.T) {
	w := newWorld(t, "symlink fork $OUT", "symlink inner a", "dir a")
	read := func(access string) *Declared {
		t.Helper()
		d, err := FromWire([]byte(strings.ReplaceAll(access, "$OUT", w.outside)), w.root)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	w.check(read("null"), "read x\nwrite .jp/x\nexecute a", "read fork/x\ndelete .")
	w.check(read(`{}`), "write .jp/x", "read fork/x")
	d := read(`{"fs":[{"lexical_path":"fork","external":true,"approved_target":"$OUT","read":true},{"path":"` + w.root + `/inner","write":true}],"pinned":["a/b"]}`)
	w.check(d, "read fork/x\ncreate a/x\ndelete inner/x", "create a/b\nread a\ndelete fork")
	if e, err := d.ExplainNet("https://x.example/"); err != nil || !e.Allowed || e.Rule != nil {
		t.Error(e, err)
	}
	if e, _ := d.ExplainFS("update", "fork/x"); e.Origin != Wire || !strings.Contains(e.Remedy, "access.fs: {") || strings.Contains(e.Remedy, "conversation") {
		t.Errorf("%+v", e)
	}
	d = read(`{"fs":[{"path":"fork","external":true,"approved_target":"$OUT/other","read":true}],"net":[{"host":"*"}],"env":[{"name":"A"}],"commands":{"x":{"args":null,"envs":[]}}}`)
	w.check(d, "", "read fork/x\nread a")
	if len(d.Dropped) != 1 || len(d.Warnings) != 1 {
		t.Errorf("%+v", d)
	}
	for _, bad := range []string{
		``, `[]`, `{"fs":[{"path":"../x"}]}`, `{"unknown":1}`, `{"fs":[{"path":"fork","read":true}]}`, `{"fs":[{"path":"a","external":true,"read":true}]}`,
		`{"fs":[{"path":"fork","external":true,"approved_target":"x","read":true}]}`, `{"net":[{"host":""}]}`, `{"pinned":["/etc"]}`,
	} {
		if d, err := FromWire([]byte(bad), w.root); err == nil {
			t.Errorf("%s: accepted: %s", bad, shown(d))
		}
	}
	if _, err := FromWire([]byte(`null`), w.root+"/none"); err == nil {
		t.Error("no such workspace")
	}
}

func TestWireForm(t *testing.T) {
	d := newWorld(t, "dir .git", "dir .jp").compile("fs_read_file")
	raw, err := json.Marshal(d.Access)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := jptool.DecodeAccess(raw); err != nil {
		t.Error(err)
	}
	if strings.Contains(string(raw), "built-in") {
		t.Errorf("origins cross the wire: %s", raw)
	}
}
