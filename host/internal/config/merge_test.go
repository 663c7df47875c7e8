package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The merging of rules (docs/config.md). Layers are access.fs of one tool in the order user,
// workspace, user-workspace; `a b` stands for plain rules on these paths.
func TestMergeRules(t *testing.T) {
	ann := func(paths, rest string) string {
		var items []string
		for _, p := range strings.Fields(paths) {
			items = append(items, fmt.Sprintf("{ path = %q }", p))
		}
		return "{ value = [" + strings.Join(items, ", ") + "]" + rest + " }"
	}
	plain := func(paths string) string {
		s := ann(paths, "")
		return s[len("{ value = ") : len(s)-2]
	}
	tests := []struct {
		name   string
		layers []string
		want   string
	}{
		// The seven pairs of strategies.
		{"plain onto plain appends", []string{plain("a"), plain("b")}, "a b"},
		{"append onto plain", []string{plain("a"), ann("b", `, strategy = "append"`)}, "a b"},
		{"prepend onto plain", []string{plain("a"), ann("b c", `, strategy = "prepend"`)}, "b c a"},
		{"replace onto plain", []string{plain("a"), ann("b", `, strategy = "replace"`)}, "b"},
		{"plain onto replace", []string{ann("a", `, strategy = "replace"`), plain("b")}, "a b"},
		{"prepend onto replace", []string{ann("a", `, strategy = "replace"`), ann("b", `, strategy = "prepend"`)}, "b a"},
		{"replace onto prepend", []string{ann("a", `, strategy = "prepend"`), ann("b", `, strategy = "replace"`)}, "b"},
		{"replace with nothing", []string{plain("a"), ann("", `, strategy = "replace"`)}, ""},
		{"annotated without strategy appends", []string{plain("a"), ann("b", "")}, "a b"},

		// discard_when_merged.
		{"a default is discarded", []string{ann("a", ", discard_when_merged = true"), plain("b")}, "b"},
		{"a default that nobody touches stays", []string{ann("a", ", discard_when_merged = true")}, "a"},
		{"discarded whatever next says", []string{ann("a", ", discard_when_merged = true"), ann("b", `, strategy = "prepend"`)}, "b"},
		{"what was merged before stacks", []string{ann("a", ", discard_when_merged = true"), plain("b"), plain("c")}, "b c"},
		{"next as default: merged now, discarded by the next", []string{plain("a"), ann("b", ", discard_when_merged = true")}, "a b"},
		{"next as default, third layer", []string{plain("a"), ann("b", ", discard_when_merged = true"), plain("c")}, "c"},

		// dedup; of equal items the last stays.
		{"no dedup without the flag", []string{plain("a b"), plain("a")}, "a b a"},
		{"dedup on append keeps the last", []string{plain("a b"), ann("a", ", dedup = true")}, "b a"},
		{"dedup on prepend keeps the last", []string{plain("a b"), ann("b c", `, strategy = "prepend", dedup = true`)}, "c a b"},
		{"dedup on replaced lists", []string{plain("z"), ann("a b a", `, strategy = "replace", dedup = true`)}, "b a"},
		{"dedup of a first layer", []string{ann("a b a", ", dedup = true")}, "b a"},
		{"dedup is sticky", []string{ann("a", ", dedup = true"), plain("b a"), plain("b")}, "a b"},
		{"dedup inherit is sticky", []string{ann("a", ", dedup = true"), ann("a b", `, dedup = "inherit"`), ann("b a", "")}, "b a"},
		{"dedup false switches it off", []string{ann("a", ", dedup = true"), ann("a", ", dedup = false")}, "a a"},
		{"after dedup false there is no opinion", []string{ann("a", ", dedup = true"), ann("a", ", dedup = false"), plain("a")}, "a a a"},
		{"discard inherits dedup", []string{ann("a", ", dedup = true, discard_when_merged = true"), plain("b c b")}, "c b"},
		{"discard inherits no dedup that next opts out of", []string{ann("a", ", dedup = true, discard_when_merged = true"), ann("b b", ", dedup = false")}, "b b"},
		{"metadata without items is not nothing", []string{ann("", ", dedup = true"), plain("a a")}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := files{}
			for i, l := range tt.layers {
				f[[]string{userFile, workspaceFile, dataFile}[i]] = "[conversation.tools.x.access]\nfs = " + l + "\n"
			}
			var got []string
			for _, r := range mustTool(t, load(t, f), "x").Access.FS {
				got = append(got, r.Path)
			}
			if g := strings.Join(got, " "); g != tt.want {
				t.Errorf("got %q, want %q", g, tt.want)
			}
		})
	}
}

// The strategies hold for net, env and sandbox.paths alike.
func TestMergeOtherRules(t *testing.T) {
	c := load(t, files{
		userFile: `
[conversation.tools.x]
access.net = [{ host = "a.example", allow = true }]
access.env = [{ name = "A_*", read = true }]
[sandbox]
paths = [{ path = "/opt/a", read = true }]
`,
		dataFile: `
[conversation.tools.x]
access.net = { strategy = "replace", value = [{ host = "b.example", scheme = "https", port = 8443, path_prefix = "/v1", allow = true }] }
access.env = { strategy = "prepend", value = [{ name = "B" }] }
[sandbox]
paths = [{ path = "~/.cargo", read = true, execute = true }]
`,
	})
	a := mustTool(t, c, "x").Access
	if len(a.Net) != 1 || a.Net[0].Host != "b.example" || *a.Net[0].Port != 8443 || *a.Net[0].Scheme != "https" || *a.Net[0].PathPrefix != "/v1" {
		t.Errorf("net: %+v", a.Net)
	}
	if len(a.Env) != 2 || a.Env[0].Name != "B" || a.Env[0].Read || !a.Env[1].Read {
		t.Errorf("env: %+v", a.Env)
	}
	if p := c.Sandbox().Paths; len(p) != 2 || p[1].Path != "~/.cargo" || !*p[1].Execute || p[1].Write != nil {
		t.Errorf("paths: %+v", p)
	}
}

// The examples of RFD 076, word for word.
func TestRFD076(t *testing.T) {
	const configuration = `
# tool config (e.g. in .jp/config.toml)
[conversation.tools.fs_create_file]
enable = true
run = "unattended"
[[conversation.tools.fs_create_file.access.fs]]
path = "."
read = true
[[conversation.tools.fs_create_file.access.fs]]
path = ".config/jp/tools"
read = true
write = true
[[conversation.tools.fs_modify_file.access.fs]]
path = "."
read = true
[[conversation.tools.fs_modify_file.access.fs]]
path = ".config/jp/tools"
read = true
write = true
`
	const layerA = `
[[conversation.tools.fs_create_file.access.fs]]
path = "."
read = true
`
	const layerB = `
[[conversation.tools.fs_create_file.access.fs]]
path = ".config/jp/tools"
read = true
write = true
`
	const replacing = `
[conversation.tools.fs_create_file.access.fs]
strategy = "replace"
value = [
{ path = ".config/jp/tools", read = true, write = true },
]
`
	const both = ".:read .config/jp/tools:read+create+update+delete"
	tests := []struct {
		name  string
		files files
		want  string
	}{
		{"configuration", files{workspaceFile: configuration}, both},
		{"a layer that only adds access", files{workspaceFile: layerA, dataFile: layerB}, both},
		{"replace", files{workspaceFile: layerA, dataFile: replacing}, ".config/jp/tools:read+create+update+delete"},
		{"capabilities", files{workspaceFile: `
[[conversation.tools.fs_create_file.access.fs]]
path = "a"
write = true
[[conversation.tools.fs_create_file.access.fs]]
path = "b"
write = true
delete = false
[[conversation.tools.fs_create_file.access.fs]]
path = "c"
create = true
[[conversation.tools.fs_create_file.access.fs]]
path = ".env"
# all capabilities default to false — denies all access to .env
`}, "a:create+update+delete b:create+update c:create .env:nothing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tool := mustTool(t, load(t, tt.files), "fs_create_file")
			if diff := cmp.Diff(tt.want, rules(tool)); diff != "" {
				t.Error(diff)
			}
			p := tool.Access.Policy()
			if p.Net != nil || p.Env != nil || p.Commands != nil {
				t.Errorf("declaring fs declared more: %+v", p)
			}
		})
	}
}

// Scalars replace, tables merge key by key, plain lists and commands are replaced whole.
func TestMergeFields(t *testing.T) {
	c := load(t, files{
		userFile: `
[conversation.tools.'*']
run = "edit"
limits = { time = 60, output = "1MiB" }
style = { hidden = true, inline_results = "off" }
access.sensitive_paths = ["~/.a"]

[conversation.tools.x]
enable = { state = true, allow_toggle = "never" }
command = { program = "a", args = ["1", "2"], shell = true }
limits.time = "2m"
style.inline_results = 3
access.sensitive_paths = ["b"]
needs.fs = ["read"]
access.commands.git.args = [["status"]]
access.commands.cargo = {}
parameters.p = { type = "string", enum = ["a", "b"], summary = "old" }
questions.q.answer = true
options = { deep = { a = 1, l = [1] }, l = [1], gone = 1 }
`,
		workspaceFile: `
[conversation.tools.x]
enable = false
command = { program = "b" }
access.sensitive_paths = ["b", "c"]
needs.fs = ["read", "write"]
access.commands.git.envs = ["HOME"]
parameters.p = { enum = ["c"], summary = "new" }
questions.q.target = "assistant"
options = { deep = { b = 2, l = [2] }, l = { value = [2], strategy = "append" } }
`,
	}, withArgs(`conversation.tools.x.options.gone:=null`))
	x := mustTool(t, c, "x")
	if x.Run != "edit" || x.Format != "ask" || x.Enable != (Enable{false, "never"}) {
		t.Errorf("run %q format %q enable %+v", x.Run, x.Format, x.Enable)
	}
	if x.Command.Program != "b" || x.Command.Args != nil || x.Command.Shell {
		t.Errorf("half of one command and half of another: %+v", x.Command)
	}
	if x.Limits.Time.Minutes() != 2 || x.Limits.Output != 1<<20 {
		t.Errorf("limits %+v", x.Limits)
	}
	if got := c.merged.At("conversation", "tools", "x", "style").String(); got != "{ inline_results = 3 }" {
		t.Errorf("a tool's style is filled up from elsewhere: %s", got)
	}
	if y := mustTool(t, c, "fs_modify_file"); y.Limits.Time.Seconds() != 60 || len(y.SensitivePaths) != 1 {
		t.Errorf("defaults of all tools: %+v", y)
	}
	if texts(x.SensitivePaths) != "~/.a b c" {
		t.Errorf("sensitive paths %q", x.SensitivePaths)
	}
	if len(x.Access.Commands) != 2 || len(x.Access.Commands["git"].Args) != 1 || len(x.Access.Commands["git"].Envs) != 1 {
		t.Errorf("commands %+v", x.Access.Commands)
	}
	if p := x.Parameters[0]; len(p.Enum) != 1 || p.Summary != "new" || p.Types[0] != "string" {
		t.Errorf("parameter %+v", p)
	}
	if q := x.Questions["q"]; !q.HasAnswer || q.Answer != true || q.Target != "assistant" {
		t.Errorf("question %+v", q)
	}
	want := map[string]any{
		"deep": map[string]any{"a": int64(1), "b": int64(2), "l": []any{int64(2)}},
		"l":    []any{int64(1), int64(2)},
	}
	if diff := cmp.Diff(want, x.Options); diff != "" {
		t.Error(diff)
	}
}

// Annotations in options; what only looks like one is data.
func TestMergeOptions(t *testing.T) {
	tests := []struct{ low, high, want string }{
		{`{ a = 1 }`, `{ b = 2 }`, `{"a":1,"b":2}`},
		{`{ a = [1] }`, `{ a = [2] }`, `{"a":[2]}`},
		{`{ a = [1] }`, `{ a = { value = [2], strategy = "prepend" } }`, `{"a":[2,1]}`},
		{`{ a = "x" }`, `{ a = { value = [2], strategy = "append" } }`, `{"a":[2]}`},
		{`{ a = { b = 1 } }`, `{ a = { value = { c = 2 }, strategy = "replace" } }`, `{"a":{"c":2}}`},
		{`{ a = { b = { c = 1 } } }`, `{ a = { value = { b = { d = 2 } }, strategy = "merge" } }`, `{"a":{"b":{"d":2}}}`},
		{`{ a = { b = { c = 1 } } }`, `{ a = { value = { b = { d = 2 } }, strategy = "deep_merge" } }`, `{"a":{"b":{"c":1,"d":2}}}`},
		{`{ a = { b = 1 } }`, `{ a = { value = { b = 2, c = 3 }, strategy = "keep" } }`, `{"a":{"b":1,"c":3}}`},
		{`{ a = 1 }`, `{ a = { value = 2, strategy = "keep" } }`, `{"a":1}`},
		{`{}`, `{ a = { value = [1], strategy = "append" } }`, `{"a":[1]}`},
		{`{ a = 1 }`, `{ a = { value = 2, strategy = "sideways" } }`, `{"a":{"strategy":"sideways","value":2}}`},
		{`{ a = 1 }`, `{ a = { value = [2], strategy = "append", more = 1 } }`, `{"a":{"more":1,"strategy":"append","value":[2]}}`},
		{`{ a = 1 }`, `{ value = { b = 2 }, strategy = "replace" }`, `{"b":2}`},
	}
	for _, tt := range tests {
		c := load(t, files{
			userFile:      "[conversation.tools.x]\noptions = " + tt.low,
			workspaceFile: "[conversation.tools.x]\noptions = " + tt.high,
		})
		got := c.merged.At("conversation", "tools", "x", "options").JSON()
		if got != tt.want {
			t.Errorf("%s onto %s: got %s, want %s", tt.high, tt.low, got, tt.want)
		}
	}
}

// The map of commands can be narrowed, which plain merging cannot.
func TestMergeCommands(t *testing.T) {
	for strategy, want := range map[string]string{
		"replace":    `{"git":{"envs":["B"]}}`,
		"keep":       `{"cargo":{},"git":{"args":[["a"]]}}`,
		"merge":      `{"cargo":{},"git":{"envs":["B"]}}`,
		"deep_merge": `{"cargo":{},"git":{"args":[["a"]],"envs":["B"]}}`,
	} {
		c := load(t, files{
			userFile:      `conversation.tools.x.access.commands = { cargo = {}, git = { args = [["a"]] } }`,
			workspaceFile: fmt.Sprintf(`conversation.tools.x.access.commands = { strategy = %q, value = { git = { envs = ["B"] } } }`, strategy),
		})
		if got := c.merged.At("conversation", "tools", "x", "access", "commands").JSON(); got != want {
			t.Errorf("%s: got %s, want %s", strategy, got, want)
		}
	}
	c := load(t, files{workspaceFile: `conversation.tools.x.access.commands = {}`})
	if a := mustTool(t, c, "x").Access; a.Commands == nil || a.Policy().Commands == nil {
		t.Error("an empty table of commands must allow none, not all")
	}
}

// A list that is declared and empty grants nothing: it must not open anything.
func TestEmptiedListsDeny(t *testing.T) {
	c := load(t, files{
		userFile:      `conversation.tools.x.access.fs = [{ path = ".", read = true }]`,
		workspaceFile: `conversation.tools.x.access = { fs = { strategy = "replace", value = [] }, net = [], env = [] }`,
	})
	p := mustTool(t, c, "x").Access.Policy()
	if len(p.FS) != 1 || p.FS[0].Caps() != 0 || p.FS[0].Path != "" {
		t.Errorf("fs: %+v", p.FS)
	}
	if len(p.Net) != 1 || p.Net[0].Host != "*" || p.Net[0].Allow {
		t.Errorf("net: %+v", p.Net)
	}
	if len(p.Env) != 1 || p.Env[0].Name != "*" || p.Env[0].Read {
		t.Errorf("env: %+v", p.Env)
	}
}

func TestEnableForms(t *testing.T) {
	tests := []struct {
		value string
		want  Enable
	}{
		{"true", Enable{true, "any"}},
		{"false", Enable{false, "any"}},
		{`"on"`, Enable{true, "any"}},
		{`"off"`, Enable{false, "any"}},
		{`"always"`, Enable{true, "never"}},
		{`"explicit"`, Enable{false, "if_named"}},
		{`{ state = false }`, Enable{false, "any"}},
		{`{ state = "off", allow_toggle = "if_named_or_group" }`, Enable{false, "if_named_or_group"}},
		{`{ allow_toggle = "never" }`, Enable{true, "never"}},
	}
	for _, tt := range tests {
		c := load(t, files{workspaceFile: "conversation.tools.x.enable = " + tt.value})
		if got := mustTool(t, c, "x").Enable; got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.value, got, tt.want)
		}
	}
}
