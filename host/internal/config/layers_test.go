package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Each layer beats the one before it; the deeper .jp.toml beats the higher.
func TestOrderOfLayers(t *testing.T) {
	set := func(s string) string { return fmt.Sprintf("conversation.tools.x.summary = %q", s) }
	all := files{
		userFile:              set("user"),
		workspaceFile:         set("workspace"),
		"/ws/.jp.toml":        set("root"),
		"/ws/a/.jp.toml":      set("a"),
		"/ws/a/b/.jp.toml":    set("b"),
		"/ws/other/.jp.toml":  set("other"),
		"/ws/a/b/c/.jp.toml":  set("too deep"),
		"/.jp.toml":           set("above the workspace"),
		dataFile:              set("data"),
		talkFile:              set("talk"),
		"/ws/a/b/extra.toml":  set("file argument"),
		"/home/u/other/.toml": "not even TOML",
	}
	order := []struct {
		remove string
		want   string
	}{
		{"", "file argument"},
		{"file argument", "first argument"},
		{"args", "talk"},
		{talkFile, "env"},
		{"env", "data"},
		{dataFile, "b"},
		{"/ws/a/b/.jp.toml", "a"},
		{"/ws/a/.jp.toml", "root"},
		{"/ws/.jp.toml", "workspace"},
		{workspaceFile, "user"},
		{userFile, ""},
	}
	o := options(t, nil)
	o.Cwd = "/ws/a/b"
	o.Environ = []string{"JP_CFG_CONVERSATION_TOOLS_X_SUMMARY=env", "HOME=/home/u"}
	o.Args = []string{"conversation.tools.x.summary=first argument", "extra.toml"}
	for _, step := range order {
		switch step.remove {
		case "file argument":
			o.Args = o.Args[:1]
		case "args":
			o.Args = nil
		case "env":
			o.Environ = nil
		default:
			delete(all, step.remove)
		}
		o.FS = all.fs(t)
		c, err := Load(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustTool(t, c, "x").Summary; got != step.want {
			t.Errorf("without %q: got %q, want %q", step.remove, got, step.want)
		}
	}
}

// A working directory outside of the workspace adds no file, nor does one that only looks
// as if it were inside.
func TestDirectoriesOutside(t *testing.T) {
	for _, cwd := range []string{"/ws2", "/", "/ws/../ws2", "/home/u"} {
		o := options(t, files{"/ws2/.jp.toml": "x = 1", "/.jp.toml": "x = 1", "/home/u/.jp.toml": "x = 1"})
		o.Cwd = cwd
		if _, err := Load(o); err != nil {
			t.Errorf("%s: %v", cwd, err)
		}
	}
}

func TestInherit(t *testing.T) {
	summary := func(s, more string) string { return fmt.Sprintf("%s\nconversation.tools.x.summary = %q", more, s) }
	const stop = "inherit = false"
	tests := []struct {
		name, stop, want string
		skipped          []string
	}{
		{"the user stops everything after", userFile, "user", []string{workspaceFile, "/ws/.jp.toml", dataFile}},
		{"the repository stops only itself", workspaceFile, "data", []string{"/ws/.jp.toml"}},
		{"the last of the repository stops nothing of the user", "/ws/.jp.toml", "data", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := files{}
			for path, s := range map[string]string{userFile: "user", workspaceFile: "workspace", "/ws/.jp.toml": "root", dataFile: "data"} {
				f[path] = summary(s, map[bool]string{true: stop}[path == tt.stop])
			}
			c := load(t, f)
			if got := mustTool(t, c, "x").Summary; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			var skipped []string
			for _, l := range c.Layers() {
				if l.State == Skipped {
					skipped = append(skipped, l.Source)
					if l.Skipper.String() != tt.stop+":1:1" {
						t.Errorf("skipped by %v", l.Skipper)
					}
				}
			}
			if diff := cmp.Diff(tt.skipped, skipped); diff != "" {
				t.Error(diff)
			}
		})
	}
}

const origins = `# a comment
[conversation.tools.x]
  run = "unattended"
access.sensitive_paths = ["ä", "b"]
[[conversation.tools.x.access.fs]]
path = "a"
[[conversation.tools.x.access.fs]]
path = "b"
`

// Values stand where they were written, whatever layers come later.
func TestOrigins(t *testing.T) {
	c := load(t, files{
		workspaceFile: origins,
		dataFile: `
[conversation.tools.x]
access = { fs = [{ path = "c" }, { path = "d" }] }
[conversation.tools.'*']
result = "ask"`,
	}, withArgs(`conversation.tools.x.access.fs=e`), withEnv("JP_CFG_CONVERSATION__TOOLS__X__FORMAT=ask"))
	x := mustTool(t, c, "x")
	var got []string
	for _, r := range x.Access.FS {
		got = append(got, fmt.Sprintf("%s %s %s %s", r.Path, r.At, r.At.Layer, r.At.Key))
		if r.Origin != r.At.String() {
			t.Errorf("origin for the library %q, want %q", r.Origin, r.At)
		}
	}
	want := []string{
		"a /ws/.jp/config.toml:5:31 workspace conversation.tools.x.access.fs[0]",
		"b /ws/.jp/config.toml:7:31 workspace conversation.tools.x.access.fs[1]",
		"c " + dataFile + ":3:18 user-workspace conversation.tools.x.access.fs[0]",
		"d " + dataFile + ":3:34 user-workspace conversation.tools.x.access.fs[1]",
		"e --cfg conversation.tools.x.access.fs=e argument conversation.tools.x.access.fs[0]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for key, want := range map[string]string{
		"run":     workspaceFile + ":3:3",
		"source":  "built-in:12:1",
		"format":  "JP_CFG_CONVERSATION__TOOLS__X__FORMAT",
		"result":  dataFile + ":5:1",
		"summary": "",
	} {
		if got := x.Origin(key).String(); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	paths := c.merged.At("conversation", "tools", "x", "access", "sensitive_paths").Items
	if p := paths[1].Origin; p.Line != 4 || p.Column != 32 {
		t.Errorf("columns count characters: %v", p)
	}
}

func TestHistory(t *testing.T) {
	c := load(t, files{
		userFile:      `conversation.tools.x.run = "ask"`,
		workspaceFile: "conversation.tools.x.run = \"unattended\"\nconversation.tools.x.access.fs = [{ path = \"a\" }]",
		dataFile:      "conversation.tools.x.run = \"edit\"\n[conversation.tools.x.access]\nfs = { strategy = \"replace\", value = [{ path = \"b\" }] }",
	})
	show := func(key string) []string {
		list, err := c.History(key)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range list {
			out = append(out, fmt.Sprintf("%s = %s from %s %t", s.Key, s.Value, s.Origin.Layer, s.Effective))
		}
		return out
	}
	if diff := cmp.Diff([]string{
		`conversation.tools.x.run = "ask" from user false`,
		`conversation.tools.x.run = "unattended" from workspace false`,
		`conversation.tools.x.run = "edit" from user-workspace true`,
	}, show("conversation.tools.x.run")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{
		`conversation.tools.x.access.fs[0] = { path = "a" } from workspace false`,
		`conversation.tools.x.access.fs.strategy = "replace" from user-workspace true`,
		`conversation.tools.x.access.fs[0] = { path = "b" } from user-workspace true`,
	}, show("conversation.tools.x.access")); diff != "" {
		t.Error(diff)
	}
	if _, err := c.History("a..b"); err == nil {
		t.Error("a key that is none is an error")
	}
	if list, err := c.History("conversation.tools.x.ru"); err == nil || len(list) != 0 {
		t.Error("a key is matched by its parts, and an unknown one is an error")
	}
	if len(show("conversation.tools.x.access.fs.strategy")) != 1 || len(show("conversation.tools.x.summary")) != 0 {
		t.Error("what joins a list has its history too, and what nobody sets none")
	}
}

// The history of all keys has everything that a repository says, also what takes something away
// from the user's own rules and so leaves no value.
func TestHistoryOfARepository(t *testing.T) {
	f := files{
		userFile: "conversation.tools.x.access.fs = [{ path = \"secret\" }]",
		workspaceFile: `
inherit = true
[conversation.tools.x]
run = "unattended"
enable = "always"
access.fs = { strategy = "replace", value = [{ path = ".", read = true }] }
access.env = []
options.deep.list = [1, 2]
questions.q.answer = true
`,
		"/ws/.jp.toml": `conversation.tools.x.command = { program = "evil", args = ["1"], shell = true }
conversation.tools.x.access.commands = {}`,
		dataFile: `conversation.tools.x.run = "ask"`,
	}
	dump := func(c *Config) string {
		var b strings.Builder
		all, err := c.History("")
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if !s.Origin.Layer.Repository() {
				continue
			}
			fmt.Fprintf(&b, "%s = %s @%s %t\n", s.Key, s.Value, s.Origin, s.Effective)
		}
		return b.String()
	}
	want := `inherit = true @/ws/.jp/config.toml:2:1 true
conversation.tools.x.run = "unattended" @/ws/.jp/config.toml:4:1 false
conversation.tools.x.enable.state = "on" @/ws/.jp/config.toml:5:1 true
conversation.tools.x.enable.allow_toggle = "never" @/ws/.jp/config.toml:5:1 true
conversation.tools.x.access.fs.strategy = "replace" @/ws/.jp/config.toml:6:15 true
conversation.tools.x.access.fs[0] = { path = ".", read = true } @/ws/.jp/config.toml:6:46 true
conversation.tools.x.access.env = [] @/ws/.jp/config.toml:7:8 true
conversation.tools.x.options.deep.list = [1, 2] @/ws/.jp/config.toml:8:14 true
conversation.tools.x.questions.q.answer = true @/ws/.jp/config.toml:9:13 true
conversation.tools.x.command.program = "evil" @/ws/.jp.toml:1:34 true
conversation.tools.x.command.args = ["1"] @/ws/.jp.toml:1:52 true
conversation.tools.x.command.shell = true @/ws/.jp.toml:1:66 true
conversation.tools.x.access.commands = {} @/ws/.jp.toml:2:29 true
`
	for range 20 { // maps must not show
		if diff := cmp.Diff(want, dump(load(t, f))); diff != "" {
			t.Fatal(diff)
		}
	}
}

// What TOML shows is what is in force: read back as one layer it gives the same tree.
func TestRender(t *testing.T) {
	c := load(t, files{workspaceFile: origins, dataFile: `
[conversation.tools.x]
options = { "a b" = [1, { c = 2.0 }], d = 1979-05-27, e = "quote \" \u0007" }
parameters.p = { type = ["string", "null"], enum = ["a"] }
access.fs = { value = [{ path = "z", write = true }], strategy = "prepend", dedup = true }`})
	for _, origins := range []bool{false, true} {
		b, err := c.Render(Rendering{Origins: origins, All: true})
		if err != nil {
			t.Fatal(err)
		}
		again, err := Load(Options{FS: files{talkFile: string(b)}.fs(t), BuiltIn: builtInLayer(""), Root: "/ws", Conversation: talkFile})
		if err != nil {
			t.Fatalf("%v\n%s", err, string(b))
		}
		if !again.merged.Equal(c.merged) {
			t.Errorf("read back differently:\n%s", string(b))
		}
		if has := strings.Contains(string(b), `run = "unattended"  # workspace /ws/.jp/config.toml:3:3`); has != origins {
			t.Errorf("origins %t:\n%s", origins, string(b))
		}
		if b, err = c.Render(Rendering{JSON: true, Origins: origins, All: true}); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(b) || strings.Contains(string(b), `"layer": "workspace"`) != origins {
			t.Errorf("JSON, origins %t:\n%s", origins, string(b))
		}
	}
}

// A directory's name cannot speak to the terminal through a message.
func TestOriginIsPrintable(t *testing.T) {
	o := options(t, files{"/ws/\x1b[31m/.jp.toml": "x = 1"})
	o.Cwd = "/ws/\x1b[31m"
	_, err := Load(o)
	if err == nil || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%q", err)
	}
}

func TestUserGlobalPath(t *testing.T) {
	for env, want := range map[string]string{
		"XDG_CONFIG_HOME=/c HOME=/h":  "/c/jphost/config.toml",
		"XDG_CONFIG_HOME=rel HOME=/h": "/h/.config/jphost/config.toml",
		"XDG_CONFIG_HOME= HOME=/h":    "/h/.config/jphost/config.toml",
		"HOME=":                       "",
	} {
		if got := filepath.ToSlash(UserGlobalPath(strings.Fields(env))); got != want && os.PathSeparator == '/' {
			t.Errorf("%s: %q, want %q", env, got, want)
		}
	}
}
