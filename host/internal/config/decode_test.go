package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/settings"
	"github.com/jptools/jptools/jptool"
)

// Paths of rules come out relative and normal, with what the policy compiler needs to
// know of how they were written.
func TestRulePaths(t *testing.T) {
	tests := []struct {
		written, path string
		dir           bool
	}{
		{".", "", false},
		{"./", "", true},
		{"src", "src", false},
		{"src/", "src", true},
		{"a/./b//../c", "a/c", false},
		{"/ws", "", false},
		{"/ws/a/", "a", true},
		{"/link/to/ws/a", "a", false},
		{"a*b?", "a*b?", false},
	}
	for _, tt := range tests {
		c := load(t, files{userFile: "conversation.tools.x.access.fs = [{ path = " + settings.Quote(tt.written) + ", external = false }]"},
			func(o *Options) { o.GivenRoot = "/link/to/ws" })
		r := mustTool(t, c, "x").Access.FS[0]
		if r.Path != tt.path || r.Dir != tt.dir {
			t.Errorf("%s: %q %t, want %q %t", tt.written, r.Path, r.Dir, tt.path, tt.dir)
		}
	}
}

// Access.Policy is what the library compiles.
func TestPolicyCompiles(t *testing.T) {
	root := t.TempDir()
	o := options(t, files{userFile: `
[conversation.tools.x.access]
fs = [{ path = ".", read = true }, { path = "b/", write = true, delete = false }, { path = "fork", external = true, read = true }]
net = [{ host = "München.de", allow = true }, { host = "127.1" }]
env = [{ name = "AWS_*", read = true }, { name = "AWS_SECRET" }]
commands.cargo = { args = [["check", "**"], []], envs = ["CARGO_HOME"] }
`})
	o.Root = root
	c, err := Load(o)
	if err != nil {
		t.Fatal(err)
	}
	p := mustTool(t, c, "x").Access.Policy()
	ws, err := (&jptool.Context{Root: root, Action: jptool.Run, Access: p}).Open()
	if err != nil {
		t.Fatal(err)
	}
	ws.Close()
	if p.FS[0].Origin != userFile+":3:7" || p.Net[1].Origin == "" || p.Env[1].Origin == "" {
		t.Errorf("origins: %+v", p)
	}
	if args := p.Commands["cargo"].Args; len(args) != 2 || args[1] == nil {
		t.Errorf("an empty list of arguments is not any arguments: %q", args)
	}
	if (*Access)(nil).Policy() != nil {
		t.Error("no access, no policy")
	}
}

func TestToolDetails(t *testing.T) {
	c := load(t, files{userFile: `
[conversation.tools.x]
source = "local.other"
command = "x --a 'b c' {{ tool }}"
run = "unattended"
style = { parameters = "sh -c x", inline_results = "full", error = { inline_results = "off", results_file_link = "osc8" } }
limits = { time = 0.5, cpu_seconds = 2, memory = "64MiB", file_size = 10, processes = 4 }
needs.fs = ["read", "write"]
questions.a.target = { model = "m" }
parameters.n = { type = ["number", "boolean", "object", "array"], enum = [1, 1.5, true, {}, []], default = 1.5, required = true }
parameters.o = { type = "object", properties.l = { type = "array", items = { type = "integer", default = 2.0 } } }
[sandbox]
mode = "required"
tier = "landlock"
`})
	x := mustTool(t, c, "x")
	if x.Source != (Source{Kind: SourceLocal, Name: "other"}) || x.Format != "unattended" {
		t.Errorf("%+v %s", x.Source, x.Format)
	}
	if diff := cmp.Diff([]string{"--a", "b c", "{{ tool }}"}, x.Command.Args); diff != "" || x.Command.Program != "x" {
		t.Error(x.Command.Program, diff)
	}
	if got, want := c.merged.At("conversation", "tools", "x", "style").String(),
		`{ parameters = "sh -c x", inline_results = "full", error = { inline_results = "off", results_file_link = "osc8" } }`; got != want {
		t.Error(got)
	}
	if l := x.Limits; l.Time.Milliseconds() != 500 || l.CPU.Seconds() != 2 || l.Memory != 64<<20 || l.FileSize != 10 || l.Processes != 4 || l.Output != 0 {
		t.Errorf("%+v", l)
	}
	if *x.Needs != jptool.Read|jptool.Write {
		t.Errorf("needs %v", *x.Needs)
	}
	if q := x.Questions["a"]; q.Target != "assistant" || q.Assistant["model"] != "m" || q.HasAnswer {
		t.Errorf("%+v", q)
	}
	if p := x.Parameters; p[0].Default != 1.5 || !p[0].Required || p[1].Properties[0].Items.Types[0] != "integer" {
		t.Errorf("%+v", p)
	}
	if s := c.Sandbox(); s.Mode != "required" || s.Tier != "landlock" {
		t.Errorf("%+v", s)
	}
	issues := mustTool(t, c, "issues")
	if issues.Source != (Source{SourceMCP, "github", "list_issues"}) || issues.Command != nil || issues.Access != nil {
		t.Errorf("%+v", issues)
	}
	if _, ok := c.Tool("fs_craete_file"); ok || c.Nearest("fs_craete_file") != "fs_create_file" {
		t.Error("nearest tool")
	}
	if len(c.Tools()) != 5 {
		t.Errorf("%d tools", len(c.Tools()))
	}
}

// A layer that gives a tool another source need not take back the built-in command.
func TestSourceOverCommand(t *testing.T) {
	c := load(t, files{userFile: `conversation.tools.x.source = "mcp.server"`})
	if x := mustTool(t, c, "x"); x.Command != nil || x.Source.Server != "server" {
		t.Errorf("%+v", x)
	}
}

func TestSandboxPathForms(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/go": "", "~/.cargo": "", "~": "",
		"opt": "is neither absolute nor below ~/", "~user/x": "is neither absolute nor below ~/",
		"/opt/../etc": "has a .. component", "/a\x00": "holds a NUL byte", "": "is neither absolute nor below ~/",
	} {
		_, err := Load(options(t, files{userFile: "sandbox.paths = [{ path = " + settings.Quote(path) + " }]"}))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// errors.As finds a single problem in what Load returns.
func TestProblemsAreFound(t *testing.T) {
	o := options(t, nil)
	o.Args = []string{"conversation.tools.x.run:=1"}
	_, err := Load(o)
	var p *settings.Problem
	if !errors.As(err, &p) || p.Origin.Key != "conversation.tools.x.run" || p.Origin.File != "--cfg conversation.tools.x.run:=1" {
		t.Errorf("%v", err)
	}
}
