package trust

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
)

func TestWidening(t *testing.T) {
	for _, tt := range []struct{ name, mine, repo, want string }{
		{"texts", "", "[conversation.tools.t]\nsummary = \"x\"\ndescription = \"y\"\nexamples = \"z\"\ncancellation_response = \"c\"", `conversation.tools.t.summary = "x"
conversation.tools.t.description = "y"
conversation.tools.t.examples = "z"
conversation.tools.t.cancellation_response = "c"`},
		{"texts of what is built in", "", "conversation.tools.fs_read_file.summary = \"x\"\nconversation.tools.'*'.cancellation_response = \"c\"", `conversation.tools.fs_read_file.summary = "x"
conversation.tools.'*'.cancellation_response = "c"`},
		{"texts of a tool of its own", "", "conversation.tools.lint = { source = \"local\", command = \"x\", summary = \"x\", description = \"y\", examples = \"z\", cancellation_response = \"c\", parameters.a = { type = \"string\", summary = \"s\" } }", `conversation.tools.lint.command = "x"`},
		{"a tool of its own", "", "conversation.tools.lint = { source = \"local\", command = \"./lint --x\", enable = true, options = { a = 1 }, parameters.x.type = \"string\" }", `conversation.tools.lint.command = "./lint --x"
conversation.tools.lint.enable.state = "on"
conversation.tools.lint.options.a = 1`},
		{"all that a program of its own is given", "", "conversation.tools.lint = { source = \"local\", command = \"./lint {{tool.options.script}}\", options.script = \"x\", parameters.x = { type = \"string\", default = \"y\", enum = [\"y\"], summary = \"s\" }, needs.fs = [\"read\"] }\nconversation.tools.fs_read_file = { command = \"./r\", options.suppress = [] }", `conversation.tools.lint.command = "./lint {{tool.options.script}}"
conversation.tools.lint.options.script = "x"
conversation.tools.lint.parameters.x.default = "y"
conversation.tools.lint.needs.fs = ["read"]
conversation.tools.fs_read_file.command = "./r"
conversation.tools.fs_read_file.options.suppress = []`},
		{"a list that is thrown away later", "conversation.tools.t.access.fs = [{ path = \".env\" }]", "conversation.tools.t.access.fs = { discard_when_merged = true, value = [] }", `conversation.tools.t.access.fs.discard_when_merged = true`},
		{"run", "", "conversation.tools.t.run = \"unattended\"", `conversation.tools.t.run = "unattended"`},
		{"run of all", "", "conversation.tools.'*'.run = \"unattended\"", `conversation.tools.'*'.run = "unattended"`},
		{"run as built in", "", "conversation.tools.fs_read_file.run = \"unattended\"\nconversation.tools.t.run = \"ask\"", ""},
		{"run, though skipped", "conversation.tools.t.run = \"skip\"", "conversation.tools.t.run = \"ask\"", `conversation.tools.t.run = "ask"`},
		{"run, though all are skipped", "conversation.tools.'*'.run = \"skip\"", "conversation.tools.t.run = \"edit\"", `conversation.tools.t.run = "edit"`},
		{"run edited in place of asked", "conversation.tools.t.run = \"ask\"\nconversation.tools.fs_read_file.run = \"edit\"", "conversation.tools.t.run = \"edit\"\nconversation.tools.fs_read_file.run = \"ask\"", `conversation.tools.t.run = "edit"`},
		{"result edited in place of asked", "conversation.tools.t.result = \"ask\"", "conversation.tools.t.result = \"edit\"\nconversation.tools.fs_read_file.result = \"edit\"", `conversation.tools.t.result = "edit"`},
		{"format", "", "conversation.tools.t.format = \"unattended\"\nconversation.tools.fs_read_file.format = \"unattended\"", `conversation.tools.t.format = "unattended"`},
		{"result", "conversation.tools.'*'.result = \"ask\"", "conversation.tools.t.result = \"unattended\"\nconversation.tools.fs_read_file.result = \"skip\"", `conversation.tools.t.result = "unattended"`},
		{"net", "", "conversation.tools.t.access.net = [{ host = \"a.example\", allow = true }, { host = \"b.example\" }]", `conversation.tools.t.access.net = {"allow":true,"host":"a.example"}`},
		{"env", "", "conversation.tools.t.access.env = [{ read = true, name = \"TOKEN\" }, { name = \"HOME\" }]", `conversation.tools.t.access.env = {"name":"TOKEN","read":true}`},
		{"fs less than the default", "", "conversation.tools.t.access.fs = [{ path = \".\", read = true, write = true, execute = true }]", ""},
		{"fs more than mine", "conversation.tools.t.access.fs = [{ path = \"src\", read = true }]", "conversation.tools.t.access.fs = [{ path = \".env\", read = true }, { path = \"x\", write = true, create = false, update = false, delete = false }, { path = \"y\" }]", `conversation.tools.t.access.fs = {"path":".env","read":true}`},
		{"fs replaced", "conversation.tools.t.access.fs = [{ path = \"src\", read = true }]", "conversation.tools.t.access.fs = { strategy = \"replace\", value = [{ path = \"src\" }] }", `conversation.tools.t.access.fs.strategy = "replace"`},
		{"fs replaces nothing", "", "conversation.tools.t.access.fs = { strategy = \"replace\", value = [{ path = \"src\", read = true }] }", ""},
		{"external", "conversation.tools.t.access.fs = []", "conversation.tools.t.access.fs = [{ path = \"fork\", external = true, read = true, write = true }]", ""},
		{"commands", "", "conversation.tools.t.access.commands = { git = {} }", ""},
		{"commands more than mine", "conversation.tools.t.access.commands = { git = { args = [[\"status\"]] } }", "conversation.tools.t.access.commands.sh = {}\nconversation.tools.t.access.commands.git.args = [[\"**\"]]", `conversation.tools.t.access.commands.sh = {}
conversation.tools.t.access.commands.git.args = [["**"]]`},
		{"no commands", "conversation.tools.t.access.commands.git = {}", "conversation.tools.t.access.commands = {}", ""},
		{"commands replaced", "conversation.tools.t.access.commands.git = {}", "conversation.tools.t.access.commands = { strategy = \"replace\", value = { sh = {} } }", `conversation.tools.t.access.commands.strategy = "replace"
conversation.tools.t.access.commands.sh = {}`},
		{"command", "", "conversation.tools.fs_read_file.command = \"./evil\"", `conversation.tools.fs_read_file.command = "./evil"`},
		{"shell", "", "conversation.tools.t.command = { program = \"curl x | sh\", shell = true }", `conversation.tools.t.command.program = "curl x | sh"
conversation.tools.t.command.shell = true`},
		{"source", "", "conversation.tools.mcp = { source = \"local\", command = \"x\" }", `conversation.tools.mcp.source = "local"
conversation.tools.mcp.command = "x"`},
		{"enable", "conversation.tools.t.enable = false", "conversation.tools.t.enable = true\nconversation.tools.fs_read_file.enable = true", `conversation.tools.t.enable.state = "on"`},
		{"answers", "", "conversation.tools.t.questions.apply.answer = true\nconversation.tools.t.questions.other.target = \"assistant\"\nconversation.tools.t.questions.third.target = \"user\"", `conversation.tools.t.questions.apply.answer = true
conversation.tools.t.questions.other.target = "assistant"`},
		{"style", "", "conversation.tools.t.style = { hidden = true, inline_results = 3, parameters = \"json\" }\nconversation.tools.fs_read_file.style.parameters = \"./show\"", `conversation.tools.t.style.hidden = true
conversation.tools.fs_read_file.style.parameters = "./show"`},
		{"needs", "", "conversation.tools.fs_read_file.needs.fs = [\"read\", \"write\"]\nconversation.tools.t.needs.fs = [\"read\"]", `conversation.tools.fs_read_file.needs.fs = ["read","write"]`},
		{"limits", "conversation.tools.t.limits.memory = \"64MiB\"", "conversation.tools.t.limits = { time = \"10m\", memory = \"1GiB\", processes = 5 }\nconversation.tools.'*'.limits.time = 60", `conversation.tools.t.limits.time = "10m"
conversation.tools.t.limits.memory = "1GiB"`},
		{"limits over the default", "", "conversation.tools.t.limits = { output = \"1TiB\", time = 121, memory = \"1TiB\" }\nconversation.tools.fs_read_file.limits = { output = \"64MiB\", time = 120 }", `conversation.tools.t.limits.output = "1TiB"
conversation.tools.t.limits.time = 121`},
		{"limits lowered", "conversation.tools.'*'.limits.output = \"1MiB\"", "conversation.tools.t.limits = { time = 30.5, output = 1000 }", ""},
		{"options", "conversation.tools.fs_read_file.options.suppress = [\".env\"]", "conversation.tools.fs_read_file.options = { suppress = [], max_lines = 5, gitignore = true }\nconversation.tools.t.options = { gitignore = false, deadline = 3, auto_approve_max_changed_lines = 9999 }", `conversation.tools.fs_read_file.options.suppress = []
conversation.tools.t.options.gitignore = false
conversation.tools.t.options.auto_approve_max_changed_lines = 9999`},
		{"parameters of mine", "conversation.tools.d = { source = \"local\", command = \"d\", parameters.env = { type = \"string\", enum = [\"staging\"] } }", "conversation.tools.d.parameters.env.enum = [\"prod\"]\nconversation.tools.d.parameters.env.summary = \"x\"", `conversation.tools.d.parameters.env.enum = ["prod"]
conversation.tools.d.parameters.env.summary = "x"`},
		{"preset", "", "conversation.tools.t.preset = [\"go\"]\nconversation.tools.fs_read_file.preset = []", `conversation.tools.t.preset = ["go"]`},
		{"preset of mine", "conversation.tools.t.preset = [\"go:net\", \"git\"]", "conversation.tools.t.preset = [\"go\"]", ""},
		{"more than the preset of mine", "conversation.tools.t.preset = [\"go\", \"git\"]", "conversation.tools.t.preset = [\"go:net\"]", `conversation.tools.t.preset = ["go:net"]`},
		{"preset, though none of mine", "conversation.tools.t.preset = []", "conversation.tools.t.preset = [\"git\"]", `conversation.tools.t.preset = ["git"]`},
		{"sandbox", "", "sandbox.mode = \"off\"\nsandbox.tier = \"landlock\"", `sandbox.mode = "off"
sandbox.tier = "landlock"`},
		{"sandbox stricter", "", "sandbox.mode = \"required\"", ""},
		{"sandbox weaker than mine", "sandbox.mode = \"required\"", "sandbox.mode = \"auto\"", `sandbox.mode = "auto"`},
		{"inherit", "", "inherit = false", "inherit = false"},
		{"the minimal environment", "", "conversation.tools.t.access.env = [{ name = \"PATH\", read = true }, { name = \"LC_TIME\", read = true }, { name = \"LC_*\", read = true }, { name = \"L*\", read = true }, { name = \"PATHS\", read = true }]", `conversation.tools.t.access.env = {"name":"L*","read":true}
conversation.tools.t.access.env = {"name":"PATHS","read":true}`},
		{"the minimal environment, which I took away", "conversation.tools.t.access.env = [{ name = \"HOME\", read = false }]", "conversation.tools.t.access.env = [{ name = \"HOME\", read = true }]", `conversation.tools.t.access.env = {"name":"HOME","read":true}`},
		{"calls that need nobody", "", "conversation.tools.t.unattended = [{ path = \"a\" }]", `conversation.tools.t.unattended = {"path":"a"}`},
		{"sensitive paths", "", "conversation.tools.'*'.access.sensitive_paths = [\"x\"]", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t).repo(tt.repo)
			if tt.mine != "" {
				w.mine(tt.mine)
			}
			var lines []string
			for _, s := range w.widening() {
				lines = append(lines, s.Key+" = "+s.Value)
				if s.File != config.WorkspaceFile || s.Line == 0 {
					t.Errorf("%+v", s)
				}
			}
			got := strings.Join(lines, "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The same settings have the same digest: moved, reordered, with other indexes, under
// other flags.
func TestWideningIsStable(t *testing.T) {
	digest := func(repo string, env ...string) string {
		w := newWorld(t).repo(repo)
		w.env = env
		return consent.Digest(w.widening())
	}
	a := digest("conversation.tools.t.access.net = [{ host = \"x.example\", allow = true }]\nsandbox.mode = \"off\"")
	for _, repo := range []string{
		"sandbox.mode = \"off\"\n\n\nconversation.tools.t.access.net = [{ host = \"y.example\" }, { allow = true, host = \"x.example\" }]",
		"[sandbox]\nmode = \"off\"\n[[conversation.tools.t.access.net]]\nhost = \"x.example\"\nallow = true",
	} {
		if b := digest(repo); a != b {
			t.Errorf("another digest for %s", repo)
		}
	}
	if b := digest("conversation.tools.t.access.net = [{ host = \"x.example\", allow = true }]\nsandbox.mode = \"off\"", "JP_CFG_SANDBOX__MODE=required"); a != b {
		t.Error("a variable changes the digest")
	}
	if b := digest("conversation.tools.t.access.net = [{ host = \"x.example\", allow = true, port = 81 }]\nsandbox.mode = \"off\""); a == b {
		t.Error("a port changes nothing")
	}
}

// A key widens unless its declaration says otherwise. Who declares one that is judged by its
// value decides here when it widens.
func TestEveryKeyIsJudged(t *testing.T) {
	raw, err := config.JSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	var schema any
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	known := []string{"source", "enable", "run", "format", "result", "parameters", "options", "access", "needs", "limits", "preset"}
	judged := 0
	for _, key := range toolKeysOf(t, schema) {
		if config.RepositoryMay("conversation", "tools", "t", key) != config.Judged {
			continue
		}
		if judged++; !slices.Contains(known, key) {
			t.Errorf("tool key %q is judged by its value: say in widening.go when it widens", key)
		}
	}
	if judged != len(known) {
		t.Errorf("%d keys are judged, want %d", judged, len(known))
	}
}

func toolKeysOf(t *testing.T, schema any) []string {
	at := schema
	for _, k := range []string{"properties", "conversation", "properties", "tools"} {
		m, ok := at.(map[string]any)
		if !ok {
			t.Fatalf("no %s", k)
		}
		at = m[k]
	}
	tool, _ := at.(map[string]any)["additionalProperties"].(map[string]any)
	props, _ := tool["properties"].(map[string]any)
	var keys []string
	for k := range props {
		keys = append(keys, k)
	}
	if len(keys) < 10 {
		t.Fatalf("only %v", keys)
	}
	return keys
}
