package config

import (
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/settings"
)

const typed = `
[conversation.tools.x]
needs.fs = ["read"]
access.commands.git.envs = ["A"]
options = { list = [1], text = "t" }
parameters.p_q.type = "string"
questions.apply_changes.answer = true
[conversation.tools.x_y]
source = "local"
command = "xy"
`

// What an assignment gives, seen as JSON at a key below the tool x.
func TestArguments(t *testing.T) {
	const x = "conversation.tools.x."
	tests := []struct{ arg, key, want string }{
		{x + "run=edit", "run", `"edit"`},
		{x + "enable=false", "enable", `{"state":"off"}`},
		{x + "enable=always", "enable", `{"allow_toggle":"never","state":"on"}`},
		{x + "summary=true", "summary", `"true"`},
		{x + "summary=a=b", "summary", `"a=b"`},
		{x + "summary=", "summary", `""`},
		{x + "limits.time=30", "limits", `{"time":30}`},
		{x + "limits.time=2m", "limits", `{"time":"2m"}`},
		{x + "limits.cpu_seconds=1.5", "limits", `{"cpu_seconds":1.5}`},
		{x + "command=a 'b c'", "command", `"a 'b c'"`},
		{x + "access.fs=src", "access.fs", `[{"path":"src"}]`},
		{x + "access.net=*", "access.net", `[{"host":"*"}]`},
		{x + "access.env+=HOME", "access.env", `[{"name":"HOME"}]`},
		{x + `access.fs:=[{"path":"a","read":true}]`, "access.fs", `[{"path":"a","read":true}]`},
		{x + `access.fs:={"value":[],"strategy":"replace"}`, "access.fs", `[]`},
		{x + "access.sensitive_paths=~/.s", "access.sensitive_paths", `["~/.s"]`},
		{x + "needs.fs=update", "needs.fs", `["update"]`},
		{x + "needs.fs+=update", "needs.fs", `["read","update"]`},
		{x + `needs.fs:+=["update"]`, "needs.fs", `["read","update"]`},
		{x + "access.commands.git.envs+=B", "access.commands.git.envs", `["A","B"]`},
		{x + `access.commands."c++".envs=B`, "access.commands", `{"c++":{"envs":["B"]},"git":{"envs":["A"]}}`},
		{x + "options.text=false", "options.text", `"false"`},
		{x + "options.text:=false", "options.text", `false`},
		{x + "options.list:=[2]", "options.list", `[2]`},
		{x + "options.list:+=[2]", "options.list", `[1,2]`},
		{x + "options.text:=null", "options", `{"list":[1]}`},
		{x + "access:=null", "access", `null`},
		{`{"conversation":{"tools":{"x":{"run":"skip"}}}}`, "run", `"skip"`},
		{"conversation.tools.'*'.run=edit", "run", `null`},
	}
	for _, tt := range tests {
		c := load(t, files{workspaceFile: typed}, withArgs(tt.arg))
		parts, err := settings.SplitKey("conversation.tools.x." + tt.key)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.merged.At(parts...).JSON(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.arg, got, tt.want)
		}
	}
}

// A file that is named like an assignment does not take its place; a path with a = in it has to
// be written as one.
func TestFileNamedLikeAnAssignment(t *testing.T) {
	const evil = "[conversation.tools.x]\nrun = \"unattended\"\ncommand = \"evil\"\n"
	for _, arg := range []string{"conversation.tools.x.run=ask", "conversation.tools.x.run:=\"ask\"", "conversation.tools.x.needs.fs+=read", "conversation.tools.x.summary=a/b"} {
		f := files{"/ws/" + arg: evil}
		if got := mustTool(t, load(t, f, withArgs(arg)), "x").Command.Program; got != "x" {
			t.Errorf("%s: the file was loaded: %s", arg, got)
		}
		for _, path := range []string{"./" + arg, "../ws/" + arg, "/ws/" + arg} {
			if got := mustTool(t, load(t, f, withArgs(path)), "x").Command.Program; got != "evil" {
				t.Errorf("%s: the file was not loaded", path)
			}
		}
	}
	if got := mustTool(t, load(t, files{"/ws/plain.toml": evil}, withArgs("plain.toml")), "x").Command.Program; got != "evil" {
		t.Error("a file without = was not loaded")
	}
}

// Shells leave the ~ of --cfg=~/x and of a quoted argument alone.
func TestFileBelowHome(t *testing.T) {
	f := files{"/home/u/a=b.toml": "conversation.tools.x.run = \"skip\"", "/ws/~/a=b.toml": "conversation.tools.x.run = \"edit\""}
	for arg, want := range map[string]string{"~/a=b.toml": "skip", "./~/a=b.toml": "edit"} {
		c := load(t, f, withArgs(arg), withEnv("HOME=/wrong", "HOME=/home/u"))
		if got := mustTool(t, c, "x").Run; got != want {
			t.Errorf("%s: run = %s, want %s", arg, got, want)
		}
	}
	for _, home := range []string{"X=", "HOME=", "HOME=u"} {
		o := options(t, f)
		o.Args, o.Environ = []string{"~/a=b.toml"}, []string{home}
		_, err := Load(o)
		want := "--cfg ~/a=b.toml: ~ is the home directory, and HOME is " + settings.Show(strings.TrimPrefix(strings.TrimPrefix(home, "HOME="), "X=")) + "\n  set HOME, or write the path in full"
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v", home, err)
		}
	}
}

func TestWrongArguments(t *testing.T) {
	const x = "conversation.tools.x."
	tests := []struct{ arg, want string }{
		{"missing.toml", "--cfg missing.toml: no such file, and not KEY=VALUE either\n  name an existing file, or write KEY=VALUE, KEY:=JSON or a JSON object"},
		{"", "--cfg : no such file, and not KEY=VALUE either\n  name an existing file, or write KEY=VALUE, KEY:=JSON or a JSON object"},
		{x + "rum=ask", "--cfg conversation.tools.x.rum=ask: conversation.tools.x.rum: unknown key\n  did you mean run?"},
		{x + "run=aks", "--cfg conversation.tools.x.run=aks: conversation.tools.x.run: must be one of \"ask\", \"unattended\", \"edit\", \"skip\", not \"aks\"\n  did you mean \"ask\"?"},
		{x + "run.more=ask", "--cfg conversation.tools.x.run.more=ask: conversation.tools.x.run: is one of \"ask\", \"unattended\", \"edit\", \"skip\" and has no keys\n  set it as a whole"},
		{x + "limits=5", "--cfg conversation.tools.x.limits=5: conversation.tools.x.limits: must be a table, not text\n  write conversation.tools.x.limits:=JSON"},
		{x + "limits.processes=few", "--cfg conversation.tools.x.limits.processes=few: conversation.tools.x.limits.processes: must be an integer, not a string\n  write processes = 1"},
		{x + "run+=ask", "--cfg conversation.tools.x.run+=ask: conversation.tools.x.run: += adds to lists and tables, and this is a string\n  write = instead"},
		{x + "options:=[", "--cfg conversation.tools.x.options:=[: conversation.tools.x.options: not valid JSON: at byte 1: the JSON ends too early\n  mind that the shell takes quotes away: put the whole argument into single quotes"},
		{x + `options:={"a":1,"a":2}`, "--cfg conversation.tools.x.options:={\"a\":1,\"a\":2}: conversation.tools.x.options: not valid JSON: at byte 10: duplicate key \"a\"\n  mind that the shell takes quotes away: put the whole argument into single quotes"},
		{x + "options.l:=[null]", "--cfg conversation.tools.x.options.l:=[null]: conversation.tools.x.options.l[0]: a list cannot hold null\n  leave the item out"},
		{`{"a":1} x`, "--cfg {\"a\":1} x: not valid JSON: at byte 7: there is something after the end of the JSON\n  mind that the shell takes quotes away: put the whole argument into single quotes"},
		{`{"inherit":"no"}`, "--cfg {\"inherit\":\"no\"}: inherit: must be a boolean, not a string\n  write inherit = true"},
		{"a..b=1", "--cfg a..b=1: the key cannot be read\n  write KEY=VALUE with a key such as conversation.tools.NAME.run"},
		{"'a=1", "--cfg 'a=1: the key cannot be read\n  write KEY=VALUE with a key such as conversation.tools.NAME.run"},
		{"a b=1", "--cfg a b=1: after the key a there is no =\n  write KEY=VALUE, KEY:=JSON, KEY+=VALUE or KEY:+=JSON; quote parts of a key that hold other characters than letters, digits, _ and -"},
		{"/ws", "--cfg /ws: cannot read this configuration: it is not a regular file\n  make it a readable file, or remove it"},
		{x + `access.fs:=[{"path":null}]`, "--cfg conversation.tools.x.access.fs:=[{\"path\":null}]: conversation.tools.x.access.fs[0]: has no path\n  add path = \"…\""},
	}
	for _, tt := range tests {
		o := options(t, files{workspaceFile: typed})
		o.Args = []string{tt.arg}
		_, err := Load(o)
		if err == nil {
			t.Errorf("%s: no error", tt.arg)
			continue
		}
		// A source that is a directory is named by its path.
		if got := err.Error(); got != tt.want && "--cfg "+got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.arg, got, tt.want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	const p = "JP_CFG_CONVERSATION"
	tests := []struct{ env, key, want string }{
		// Two underscores separate.
		{p + "__TOOLS__X__RUN=edit", "x.run", `"edit"`},
		{p + "__TOOLS__FS_CREATE_FILE__RUN=edit", "fs_create_file.run", `"edit"`},
		{p + "__TOOLS__X__OPTIONS__NEW_ONE=v", "x.options.new_one", `"v"`},
		{p + "__TOOLS__X__OPTIONS__camelCase=v", "x.options.camelCase", `"v"`},
		{"JP_CFG_conversation__tools__x__run=edit", "x.run", `"edit"`},
		// Single ones fit the schema and the tools that are known.
		{p + "_TOOLS_X_RUN=edit", "x.run", `"edit"`},
		{p + "_TOOLS_X_Y_RUN=edit", "x_y.run", `"edit"`},
		{p + "_TOOLS_FS_CREATE_FILE_RUN=edit", "fs_create_file.run", `"edit"`},
		{p + "_TOOLS_FS_CREATE_FILE_CANCELLATION_RESPONSE=no", "fs_create_file.cancellation_response", `"no"`},
		{p + "_TOOLS_X_LIMITS_CPU_SECONDS=3", "x.limits.cpu_seconds", `3`},
		{p + "_TOOLS_X_OPTIONS_NEW_ONE=v", "x.options.new_one", `"v"`},
		{p + "_TOOLS_X_OPTIONS_TEXT=v", "x.options.text", `"v"`},
		{p + "_TOOLS_X_PARAMETERS_P_Q_REQUIRED=true", "x.parameters.p_q.required", `true`},
		{p + "_TOOLS_X_QUESTIONS_APPLY_CHANGES_ANSWER=:false", "x.questions.apply_changes.answer", `false`},
		{p + "_TOOLS_X_QUESTIONS_NEW_ID_ANSWER=:false", "x.questions.new_id.answer", `false`},
		// Prefixes of values.
		{p + "_TOOLS_X_ACCESS_FS=src", "x.access.fs", `[{"path":"src"}]`},
		{p + `_TOOLS_X_ACCESS_FS=:[{"path":"a"}]`, "x.access.fs", `[{"path":"a"}]`},
		{p + "_TOOLS_X_NEEDS_FS=+update", "x.needs.fs", `["read","update"]`},
		{p + `_TOOLS_X_NEEDS_FS=:+["update"]`, "x.needs.fs", `["read","update"]`},
		{p + `_TOOLS_X_NEEDS_FS=+:["update"]`, "x.needs.fs", `["read","update"]`},
		{p + "_TOOLS_X_OPTIONS_TEXT=:null", "x.options", `{"list":[1]}`},
		{p + `_TOOLS_X_SUMMARY=\:)`, "x.summary", `":)"`},
		{p + `_TOOLS_X_SUMMARY=\+1`, "x.summary", `"+1"`},
		{p + `_TOOLS_X_SUMMARY=\n`, "x.summary", `"\\n"`},
	}
	for _, tt := range tests {
		c := load(t, files{workspaceFile: typed}, withEnv(tt.env, "PATH=/bin", "JP_CFGX=1"))
		parts, _ := settings.SplitKey("conversation.tools." + tt.key)
		if got := c.merged.At(parts...).JSON(); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.env, got, tt.want)
		}
	}
}

func TestWrongEnvironment(t *testing.T) {
	tests := []struct {
		env  []string
		want string
	}{
		{[]string{"JP_CFG_CONVERSATION_TOOLS_NEW_RUN=ask"}, "JP_CFG_CONVERSATION_TOOLS_NEW_RUN: the name fits no key\n  write parts in full and separate them by two underscores, such as JP_CFG_CONVERSATION__TOOLS__NAME__RUN"},
		{[]string{"JP_CFG_CONVERSATION__TOOLS__X__RUM=ask"}, "JP_CFG_CONVERSATION__TOOLS__X__RUM: the name fits no key\n  did you mean run?"},
		{[]string{"JP_CFG_="}, "JP_CFG_: the name has an empty part\n  write JP_CFG_PART__PART"},
		{[]string{"JP_CFG_SANDBOX_MODE=on"}, "JP_CFG_SANDBOX_MODE: sandbox.mode: must be one of \"auto\", \"required\", \"off\", not \"on\"\n  write mode = \"auto\""},
		{[]string{"JP_CFG_SANDBOX_MODE=off", "JP_CFG_SANDBOX__MODE=auto"}, "JP_CFG_SANDBOX__MODE: sandbox.mode: is set by JP_CFG_SANDBOX_MODE too\n  unset one of them"},
		{[]string{"JP_CFG_CONVERSATION__TOOLS__NEW__RUN=ask"}, "JP_CFG_CONVERSATION__TOOLS__NEW__RUN: conversation.tools.new: no layer gives this tool a source\n  add source = \"local\" and the command, or remove the table"},
	}
	for _, tt := range tests {
		o := options(t, files{workspaceFile: typed})
		o.Environ = tt.env
		_, err := Load(o)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: got\n%v\nwant\n%s", tt.env, err, tt.want)
		}
	}
	// Two tools and an option make one name readable in two ways.
	o := options(t, files{workspaceFile: "conversation.tools.x.options.options.run = 1\nconversation.tools.x_options = { source = \"local\", command = \"c\", options.run = 1 }"})
	o.Environ = []string{"JP_CFG_CONVERSATION_TOOLS_X_OPTIONS_OPTIONS_RUN=1"}
	_, err := Load(o)
	if err == nil || !strings.Contains(err.Error(), "fits several keys: conversation.tools.x.options.options.run, conversation.tools.x_options.options.run") {
		t.Errorf("ambiguous: %v", err)
	}
}

func TestWords(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{" a  b\tc\n", []string{"a", "b", "c"}},
		{`a 'b c' "d e" f\ g`, []string{"a", "b c", "d e", "f g"}},
		{`a'b'"c"d`, []string{"abcd"}},
		{`'' ""`, []string{"", ""}},
		{`"\$ \" \\ \n" '\'`, []string{`$ " \ \n`, `\`}},
		{`a | b; $HOME *.go ~ # no comment`, []string{"a", "|", "b;", "$HOME", "*.go", "~", "#", "no", "comment"}},
		{`just serve-tools {{context}} {{ tool }}`, []string{"just", "serve-tools", "{{context}}", "{{ tool }}"}},
		{`--x={{ tool.arguments["a b"] }}z {y {{`, []string{`--x={{ tool.arguments["a b"] }}z`, "{y", "{{"}},
		{"a\\\nb", []string{"ab"}},
	}
	for _, tt := range tests {
		got, err := splitWords(tt.line)
		if err != nil || strings.Join(got, "\x00") != strings.Join(tt.want, "\x00") || len(got) != len(tt.want) {
			t.Errorf("%q: %q %v, want %q", tt.line, got, err, tt.want)
		}
	}
	for _, bad := range []string{`'a`, `"a`, `a\`, "a\x00", `"a\`} {
		if got, err := splitWords(bad); err == nil {
			t.Errorf("%q: %q, want an error", bad, got)
		}
	}
}

// A key is read as it was written, whatever its parts are.
func TestJoinKey(t *testing.T) {
	for _, part := range []string{"run", "*", "", "a.b", "a b", "it's", `say "x"`, `back\slash`, "tab\t", "\x00\x1b\u2028", "é"} {
		key := settings.JoinKey("questions", part, "answer")
		if parts, err := settings.SplitKey(key); err != nil || !slices.Equal(parts, []string{"questions", part, "answer"}) {
			t.Errorf("%q is written %s, and read as %q, %v", part, key, parts, err)
		}
	}
}
