package mount

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// base is a home directory with a workspace and forks in it.
func base(t testing.TB) string {
	t.Helper()
	home := jptooltest.TempRoot(t)
	jptooltest.Tree(t, home,
		"file ws/src/lib.rs x", "dir ws/foo/bar", "dir ws/qux", "dir ws/.jp",
		"file code/x/lib.rs x", "dir code/x/sub", "file code/y/lib.rs x", "file code/file.txt x", "dir .ssh",
		"symlink code/alias x", "fifo code/fifo", "dir data/jphost/inner",
		"symlink ws/out ../code/y", "symlink ws/in qux", "symlink ws/injp .jp", "symlink ws/broken nowhere",
	)
	return home
}

var tools = []string{"fs_read_file", "fs_modify_file"}

// req is a request in the workspace of home, with nothing approved.
func req(home string) Request {
	root := filepath.ToSlash(home) + "/ws"
	return Request{
		Root: root, Cwd: root, Home: filepath.ToSlash(home), State: filepath.ToSlash(home) + "/data/jphost",
		Tools: tools, NotMountable: map[string]string{"web": "it is an MCP tool"},
		Rules:    map[string][]jptool.FsRule{},
		Approved: func(consent.Binding) consent.Decision { return consent.Decision{} },
	}
}

func parse(t testing.TB, list ...string) []Spec {
	t.Helper()
	var specs []Spec
	for _, s := range list {
		spec, err := ParseSpec(s)
		if err != nil {
			t.Fatal(err)
		}
		specs = append(specs, spec)
	}
	return specs
}

func plan(t testing.TB, r Request, specs ...string) *Plan {
	t.Helper()
	p, err := NewPlan(parse(t, specs...), r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shown is a delta in short: per tool its rules as `path caps`.
func shown(d Delta) map[string][]string {
	m := map[string][]string{}
	for tool, delta := range d.Tools {
		if delta.Replace {
			m[tool] = append(m[tool], "replace")
		}
		for _, r := range delta.FS {
			s := r.Path + " " + r.Caps().String()
			if r.External {
				s = "external " + s
			}
			m[tool] = append(m[tool], s)
		}
	}
	return m
}

const (
	whole = ". read, create, update, delete, execute"
	ro    = "external fork read"
	rw    = "external fork read, create, update, delete"
)

// RFD D43, "Mode rules" and "Default-deny preservation".
func TestModesAndDefaultDenyPreservation(t *testing.T) {
	src := jptooltest.Rule("src", "read")
	fork := jptooltest.Mount("fork", "", "read")
	for name, c := range map[string]struct {
		specs   []string
		rules   map[string][]jptool.FsRule
		want    map[string][]string
		confirm []Reason
	}{
		"all tools without rules": {
			[]string{"fork=~/code/x"},
			nil,
			map[string][]string{"fs_read_file": {whole, ro}, "fs_modify_file": {whole, ro}},
			[]Reason{ToolScope},
		},
		"one tool, read-only": {
			[]string{"fs_read_file:fork=~/code/x"},
			nil,
			map[string][]string{"fs_read_file": {whole, ro}},
			nil,
		},
		"one tool, read-write": {
			[]string{"fs_modify_file:fork=~/code/x:rw"},
			nil,
			map[string][]string{"fs_modify_file": {whole, rw}},
			nil,
		},
		"a tool with rules gets the mount rule alone": {
			[]string{"fs_read_file:fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src}},
			map[string][]string{"fs_read_file": {ro}},
			nil,
		},
		"two mounts for a tool without rules": {
			[]string{"fs_read_file:fork=~/code/x", "fs_read_file:other=~/code/y"},
			nil,
			map[string][]string{"fs_read_file": {whole, ro, "external other read"}},
			nil,
		},
		"the same twice": {
			[]string{"fs_read_file:fork=~/code/x", "fs_read_file:./foo/../fork=~/code/alias:ro"},
			nil,
			map[string][]string{"fs_read_file": {whole, ro}},
			nil,
		},
		"already there": {
			[]string{"fs_read_file:fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src, fork}},
			map[string][]string{},
			nil,
		},
		"already there in another spelling": {
			[]string{"fs_read_file:fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src, jptooltest.Mount("./foo/../fork/", "", "read")}},
			map[string][]string{},
			nil,
		},
		"read-write after read-only replaces the mode": {
			[]string{"fs_modify_file:fork=~/code/x:rw"},
			map[string][]jptool.FsRule{"fs_modify_file": {src, fork}},
			map[string][]string{"fs_modify_file": {rw}},
			nil,
		},
		"read-only after read-write replaces the mode": {
			[]string{"fs_modify_file:fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_modify_file": {src, jptooltest.Mount("fork", "", "read write")}},
			map[string][]string{"fs_modify_file": {ro}},
			nil,
		},
		"in one command the named tool wins, wherever it stands": {
			[]string{"fs_modify_file:fork=~/code/x:rw", "fork=~/code/x"},
			nil,
			map[string][]string{"fs_read_file": {whole, ro}, "fs_modify_file": {whole, rw}},
			[]Reason{ToolScope},
		},
		"a new tool later": {
			[]string{"fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src, fork}},
			map[string][]string{"fs_modify_file": {whole, ro}},
			[]Reason{ToolScope},
		},
		"a deny on the path is overridden by the command": {
			[]string{"fs_read_file:fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src, jptooltest.Rule("fork", "")}},
			map[string][]string{"fs_read_file": {ro}},
			nil,
		},
		"through a symlinked directory": {
			[]string{"fs_read_file:in/fork=~/code/x"},
			map[string][]jptool.FsRule{"fs_read_file": {src, jptooltest.Mount("qux/fork", "", "read")}},
			map[string][]string{},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := req(base(t))
			if c.rules != nil {
				r.Rules = c.rules
			}
			p := plan(t, r, c.specs...)
			if diff := cmp.Diff(c.want, shown(p.delta)); diff != "" {
				t.Error(diff)
			}
			var reasons []Reason
			for _, c := range p.confirm {
				reasons = append(reasons, c.Reason)
			}
			if diff := cmp.Diff(c.confirm, reasons); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Config build runs the same plan twice (RFD D43, "Pipeline stages").
func TestPlanIsIdempotent(t *testing.T) {
	home := base(t)
	r := req(home)
	first := plan(t, r, "fork=~/code/x", "fs_modify_file:fork=~/code/x:rw")
	second := plan(t, r, "fork=~/code/x", "fs_modify_file:fork=~/code/x:rw")
	if diff := cmp.Diff(shown(first.delta), shown(second.delta)); diff != "" {
		t.Error(diff)
	}
	for tool, d := range first.delta.Tools {
		r.Rules[tool] = append(r.Rules[tool], d.FS...)
	}
	if err := os.Symlink(home+"/code/x", home+"/ws/fork"); err != nil {
		t.Fatal(err)
	}
	r.Approved = func(consent.Binding) consent.Decision {
		return consent.Decision{Verdict: consent.Approved}
	}
	if p := plan(t, r, "fork=~/code/x", "fs_modify_file:fork=~/code/x:rw"); !p.Empty() || len(p.confirm) > 0 {
		t.Errorf("after applying: %+v, %+v", shown(p.delta), p.confirm)
	}
}

func TestPlanRefuses(t *testing.T) {
	home := base(t)
	jptooltest.Tree(t, home, "symlink ws/taken ../code/y", "dir ws/.git", "symlink ws/ingit .git", "dir ws/dir", "file ws/file x", "symlink ws/dead ../code/none")
	for spec, want := range map[string]string{
		"fork=src":                          "inside the workspace, at src\nno mount is needed",
		"fork=~/ws":                         "inside the workspace, at .\n",
		"fork=in":                           "inside the workspace, at qux",
		"fork=~/code/none":                  "does not exist\ncreate it first, or correct the path",
		"fork=~/code/x:rx":                  "create it first, or correct the path; the modes are :ro and :rw, not :rx",
		"fork=~/code/fifo":                  "neither a directory nor a regular file",
		"fork=~jean/x":                      "names another user's home directory",
		"fork=~/data/jphost":                "is the host's own state",
		"fork=~/data/jphost/inner":          "is the host's own state",
		"taken=~/code/x":                    "taken is a symlink already and leads to " + home + "/code/y\ntake it away with: jphost unmount taken",
		"dead=~/code/x":                     "is a symlink already and leads to nowhere",
		"dir=~/code/x":                      "dir exists and is no symlink\nmove it away",
		"file=~/code/x":                     "file exists and is no symlink",
		"file/below=~/code/x":               "the link cannot be made at file/below",
		"out/fork=~/code/x":                 "its directory leads outside the workspace",
		"broken/fork=~/code/x":              "the link cannot be made at broken/fork",
		"ingit/fork=~/code/x":               ".git/fork is not a place for a mount: .git is managed by git",
		"injp/fork=~/code/x":                ".jp/fork is not a place for a mount",
		"web:fork=~/code/x":                 "web cannot have mounts: it is an MCP tool\nthe enabled local tools are: fs_read_file, fs_modify_file",
		"nothing:fork=~/code/x":             "there is no tool nothing\nthe enabled local tools are",
		"../fork=~/code/x":                  "path escapes the workspace",
		".jp/fork=~/code/x":                 ".jp is managed by the host",
		"fork=~/code/x/../../ws/src":        "inside the workspace, at src",
		"fork=~/code/alias/sub/../../../ws": "inside the workspace",
	} {
		if p, err := NewPlan(parse(t, spec), req(home)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %q", spec, p, err, want)
		}
	}
	for want, specs := range map[string][]string{
		"fork is mounted twice in one command, with different targets":                           {"fork=~/code/x", "fs_read_file:fork=~/code/y"},
		"fork/inner lies below fork, which becomes a link out of the workspace":                  {"fork/inner=~/code/y", "fork=~/code/x"},
		"for fs_modify_file the mounts a and b reach the same files with different rights\ngive": {"fs_modify_file:a=~/code/x", "fs_modify_file:b=~/code/x/sub:rw"},
	} {
		if p, err := NewPlan(parse(t, specs...), req(home)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want %q", specs, p, err, want)
		}
	}
	r := req(home)
	r.Tools = nil
	if _, err := NewPlan(parse(t, "fork=~/code/x"), r); err == nil || !strings.Contains(err.Error(), "no local tool is enabled") {
		t.Errorf("without tools: %v", err)
	}
}

// The planner says early what the compiler would say at every call.
func TestOverlapAgreesWithTheCompiler(t *testing.T) {
	home := base(t)
	if err := os.Symlink("../code/x", home+"/ws/old"); err != nil {
		t.Fatal(err)
	}
	r := req(home)
	r.Approved = func(b consent.Binding) consent.Decision {
		if b.RulePath == "old" {
			return consent.Decision{Verdict: consent.Approved}
		}
		return consent.Decision{}
	}
	r.Rules["fs_modify_file"] = []jptool.FsRule{jptooltest.Mount("old", home+"/code/x", "read")}
	if _, err := NewPlan(parse(t, "fs_modify_file:new=~/code:rw"), r); err == nil || !strings.Contains(err.Error(), "the same files with different rights") {
		t.Errorf("got %v", err)
	}
	plan(t, r, "fs_modify_file:new=~/code:ro")
	plan(t, r, "fs_modify_file:new=~/code/y:rw")
}

func TestConfirmations(t *testing.T) {
	home := base(t)
	for spec, c := range map[string]struct {
		reasons []Reason
		holds   []string
	}{
		"fs_read_file:fork=~/code/x":        {nil, nil},
		"fs_read_file:fork=/":               {[]Reason{Broad, Sensitive}, []string{"the whole file system", home + "/.ssh (SSH keys)", "/etc (system configuration)"}},
		"fs_read_file:fork=~":               {[]Reason{Broad, Sensitive}, []string{"your home directory", home + "/.ssh (SSH keys)", home + "/data/jphost (approvals and state of this program)"}},
		"fs_read_file:fork=" + home + "/..": {[]Reason{Broad, Sensitive}, []string{"a directory that holds your home directory"}},
		"fs_read_file:fork=~/.ssh":          {[]Reason{Sensitive}, []string{"Tools could read:", "(SSH keys)"}},
		"fs_modify_file:fork=~/.ssh:rw":     {[]Reason{Sensitive}, []string{"Tools could read and change:"}},
		"fs_read_file:fork=/etc/passwd":     {[]Reason{Sensitive}, []string{"/etc (system configuration)"}},
		"fs_read_file:fork=~/data":          {[]Reason{Sensitive}, []string{"approvals and state of this program"}},
		"fork=~/code/x":                     {[]Reason{ToolScope}, []string{"fork → " + home + "/code/x\n    read: fs_read_file, fs_modify_file"}},
		"fork=~":                            {[]Reason{ToolScope, Broad, Sensitive}, nil},
	} {
		p := plan(t, req(home), spec)
		var reasons []Reason
		text := ""
		for _, c := range p.confirm {
			reasons = append(reasons, c.Reason)
			text += c.Body
			if q := c.Question(); q.Default == nil || *q.Default || c.Remedy == "" {
				t.Errorf("%s: %+v", spec, c)
			}
		}
		if !slices.Equal(reasons, c.reasons) {
			t.Errorf("%s: confirms %v, want %v", spec, reasons, c.reasons)
		}
		for _, want := range c.holds {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not in\n%s", spec, want, text)
			}
		}
	}
	// Elsewhere than at home, the parent of the workspace is broad, too.
	r := req(home)
	r.Home = ""
	if c := plan(t, r, "fs_read_file:fork=..").confirm; len(c) == 0 || !strings.Contains(c[0].Body, "a directory that holds this workspace") {
		t.Errorf("%+v", c)
	}
}

func TestRetargetNeedsConfirmation(t *testing.T) {
	home := base(t)
	r := req(home)
	r.Approved = func(b consent.Binding) consent.Decision {
		return consent.Decision{Verdict: consent.Retargeted, Previous: home + "/code/y"}
	}
	c := plan(t, r, "fs_read_file:fork=~/code/x").confirm
	want := "Symlink `fork` retargeted:\n  was: " + home + "/code/y\n  now: " + home + "/code/x\n"
	if len(c) != 1 || c[0].Reason != Retarget || c[0].Body != want || c[0].Prompt != "Allow new target of fork?" {
		t.Errorf("%+v", c)
	}
}

func TestDeltaRoundTrip(t *testing.T) {
	home := base(t)
	var d Delta
	d.Add(plan(t, req(home), "fork=~/code/x", "fs_modify_file:fork=~/code/x:rw").delta)
	check := func(want string) {
		t.Helper()
		raw, err := d.TOML()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(strings.TrimLeft(want, "\n"), string(raw)); diff != "" {
			t.Error(diff)
		}
		if strings.Contains(string(raw), home) {
			t.Error("a target is in the conversation")
		}
		back, err := parseDelta(raw, "f")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, back); diff != "" {
			t.Error(diff)
		}
	}
	check(`
[conversation]
[conversation.tools]
[conversation.tools.fs_modify_file]
[conversation.tools.fs_modify_file.access]
[[conversation.tools.fs_modify_file.access.fs]]
path = '.'
read = true
write = true
execute = true

[[conversation.tools.fs_modify_file.access.fs]]
path = 'fork'
external = true
read = true
write = true

[conversation.tools.fs_read_file]
[conversation.tools.fs_read_file.access]
[[conversation.tools.fs_read_file.access.fs]]
path = '.'
read = true
write = true
execute = true

[[conversation.tools.fs_read_file.access.fs]]
path = 'fork'
external = true
read = true
`)
	rule := jptooltest.Rule("src", "read -delete")
	rule.Origin = "secret.toml:1"
	d.Add(Delta{Tools: map[string]ToolDelta{"fs_modify_file": {Replace: true, FS: []jptool.FsRule{rule}}}})
	delete(d.Tools, "fs_read_file")
	check(`
[conversation]
[conversation.tools]
[conversation.tools.fs_modify_file]
[conversation.tools.fs_modify_file.access]
[conversation.tools.fs_modify_file.access.fs]
strategy = 'replace'
value = [{path = 'src', read = true, delete = false}]
`)
	for _, bad := range []string{
		"x = 1", "[conversation]\nx = 1", "[conversation.tools.t]\nrun = 'skip'", "[conversation.tools.t.access]\nfs = 1",
		"[[conversation.tools.t.access.fs]]\nread = true", "[[conversation.tools.t.access.fs]]\npath = 'x'\nraed = true",
		"[conversation.tools.t.access.fs]\nstrategy = 'prepend'\nvalue = []", "[",
	} {
		if got, err := parseDelta([]byte(bad), "f"); err == nil {
			t.Errorf("%q was taken for %+v", bad, got)
		}
	}
}

// A later mount of a path takes the place of what the conversation added before.
func TestDeltaDoesNotPileUp(t *testing.T) {
	home := base(t)
	var d Delta
	d.Add(plan(t, req(home), "fs_modify_file:fork=~/code/x").delta)
	r := req(home)
	r.Rules["fs_modify_file"] = d.Tools["fs_modify_file"].FS
	d.Add(plan(t, r, "fs_modify_file:fork=~/code/x:rw").delta)
	want := map[string][]string{"fs_modify_file": {whole, rw}}
	if diff := cmp.Diff(want, shown(d)); diff != "" {
		t.Error(diff)
	}
	if raw, err := json.Marshal(d); err != nil || strings.Contains(string(raw), home) {
		t.Errorf("%s, %v", raw, err)
	}
}
