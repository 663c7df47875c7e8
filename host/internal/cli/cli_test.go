package cli

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/defaults"
	"github.com/jptools/jptools/jptool/cmdline"
)

func TestArguments(t *testing.T) {
	cfg, err := config.Load(config.Options{Defaults: defaults.Layer})
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := cfg.Tool("fs_read_file")
	for _, c := range []struct {
		words, want string
	}{
		{"", `{}`},
		{"path=a.txt", `{"path":"a.txt"}`},
		{"path=", `{"path":""}`},
		{"path=a=b", `{"path":"a=b"}`},
		{"path:=[1,2]", `{"path":[1,2]}`},
		{"path=a path=b", `{"path":["a","b"]}`},
		{"path=a path:=2 path=c", `{"path":["a",2,"c"]}`},
		{`path="q"`, `{"path":"\"q\""}`},
		{`{"a":1}`, `{"a":1}`},
		{"-", `{"from":"stdin"}`},
		{"path", "error: the argument path is not KEY=VALUE\ndid you mean path=path?"},
		{"=x", "error: the argument =x is not KEY=VALUE\ndid you mean path==x?"},
		{"path:={", "error: the value of path: is not JSON: {\nwrite path=TEXT for a text"},
		{"path=\xff", "error: the argument \"path=\\xff\" is not valid UTF-8\nJSON has no other text, so no tool can be given it"},
		{"a=1 -", "error: - and other arguments do not go together\ngive one JSON object, or only KEY=VALUE"},
	} {
		got, err := arguments(strings.Fields(c.words), tool, strings.NewReader(`{"from":"stdin"}`))
		text := string(got)
		if err != nil {
			text = "error: " + err.Error()
		} else if !json.Valid(got) {
			t.Errorf("%s: no JSON", c.words)
		}
		if text != c.want {
			t.Errorf("%s: got %s, want %s", c.words, text, c.want)
		}
	}
}

// spoken is what a command line says.
type spoken struct {
	Name    string
	Globals globals
	Run     any
	Err     string
}

func speak(args ...string) spoken {
	l, err := read(args)
	s := spoken{Name: l.name(), Globals: l.globals, Run: l.run}
	if err != nil {
		s.Err, _, _ = strings.Cut(err.Error(), "\nsee: "+s.Name+" --help")
	}
	return s
}

func TestRead(t *testing.T) {
	exec := func(words ...string) *sandboxExecCmd {
		return &sandboxExecCmd{grants: grants{Tier: "auto"}, Command: words}
	}
	dashed := func(words ...string) *sandboxExecCmd {
		c := exec(words...)
		c.dashed = true
		return c
	}
	for line, want := range map[string]spoken{
		"run t a=1 --json b=2":             {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1", "b=2"}}, Globals: globals{JSON: true}},
		"--json run t":                     {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{JSON: true}},
		"run t --format json a=1 -":        {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1", "-"}}, Globals: globals{Format: "json"}},
		"--conversation run run t":         {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Conversation: "run"}},
		"-C explain run t -C other":        {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Workspace: "other"}},
		"run t -Cd --cfg=a=b --cfg c:=1":   {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Workspace: "d", Cfg: []string{"a=b", "c:=1"}}},
		"--cfg a=b run t --cfg c=d":        {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Cfg: []string{"a=b", "c=d"}}},
		"run t --no-mount fork a=1":        {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{List: []string{"fork"}}}},
		"run t --no-mount a=1":             {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{All: true}}},
		"run --no-mount t a=1":             {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{All: true}}},
		"run t --no-mount":                 {Name: "jphost run", Run: &runCmd{Tool: "t", NoMount: names{All: true}}},
		"run t -- --json":                  {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"--json"}}},
		"explain t read x --json":          {Name: "jphost explain", Run: &explainCmd{Words: []string{"t", "read", "x"}}, Globals: globals{JSON: true}},
		"explain t command ls --json -l":   {Name: "jphost explain", Run: &explainCmd{Words: []string{"t", "command", "ls", "--json", "-l"}}},
		"explain --policy f command ls -l": {Name: "jphost explain", Run: &explainCmd{Words: []string{"command", "ls", "-l"}, fromFile: fromFile{File: "f"}}},
		"explain t read command --json":    {Name: "jphost explain", Run: &explainCmd{Words: []string{"t", "read", "command"}}, Globals: globals{JSON: true}},
		"tools run --json":                 {Name: "jphost tools", Run: &toolsCmd{Tool: "run"}, Globals: globals{JSON: true}},
		"--format json trust":              {Name: "jphost trust show", Run: &trustShowCmd{}, Globals: globals{Format: "json"}},
		"trust":                            {Name: "jphost trust show", Run: &trustShowCmd{}},
		"trust --json":                     {Name: "jphost trust show", Run: &trustShowCmd{}, Globals: globals{JSON: true}},
		"trust accept --yes":               {Name: "jphost trust accept", Run: &trustAcceptCmd{Yes: true}},
		"policy --policy - --root d":       {Name: "jphost policy", Run: &policyCmd{fromFile: fromFile{File: "-", Root: "d"}}},
		"sandbox exec -- true":             {Name: "jphost sandbox exec", Run: dashed("true")},
		"sandbox exec true -- --rw x":      {Name: "jphost sandbox exec", Run: exec("true", "--", "--rw", "x")},
		"sandbox exec -- -x --json":        {Name: "jphost sandbox exec", Run: dashed("-x", "--json")},
		"sandbox --json exec -q --rw . --rw=x --ro a=b --env GO* --limit memory=1 --net --required --tier landlock -- true -q": {
			Name: "jphost sandbox exec", Globals: globals{JSON: true}, Run: &sandboxExecCmd{
				Quiet: true, Command: []string{"true", "-q"}, dashed: true,
				grants: grants{RW: []string{".", "x"}, RO: []string{"a=b"}, Env: []string{"GO*"}, Limit: []string{"memory=1"}, Net: true, Required: true, Tier: "landlock"},
			},
		},

		"run":                  {Name: "jphost run", Run: &runCmd{}, Err: "<tool> is missing"},
		"run --":               {Name: "jphost run", Run: &runCmd{}, Err: "<tool> is missing"},
		"run t --help":         {Name: "jphost run", Run: &runCmd{}, Err: cmdline.ErrHelp.Error()},
		"run t --no-such":      {Name: "jphost run", Run: &runCmd{}, Err: "unknown flag --no-such"},
		"run t --fromat json":  {Name: "jphost run", Run: &runCmd{}, Err: "unknown flag --fromat, did you mean --format?"},
		"run t --format x":     {Name: "jphost run", Run: &runCmd{}, Err: `--format must be text or json, not "x"`},
		"run t --cfg --json":   {Name: "jphost run", Run: &runCmd{}, Err: "--cfg is without its value; if --json is the value, write --cfg=--json"},
		"sandbox exec":         {Name: "jphost sandbox exec", Run: exec(), Err: "<command> … is missing"},
		"sandbox exec --":      {Name: "jphost sandbox exec", Run: dashed(), Err: "<command> … is missing"},
		"sandbox":              {Name: "jphost sandbox", Err: "<command> is missing: exec, plan"},
		"sandbox frob":         {Name: "jphost sandbox", Err: "there is no command sandbox frob"},
		"sandbox exce -- true": {Name: "jphost sandbox", Err: "there is no command sandbox exce, did you mean exec?"},
		"rnu t":                {Name: "jphost", Err: "there is no command rnu, did you mean run?"},
		"trust --yes":          {Name: "jphost trust", Err: "unknown flag --yes"},
		"tools a b":            {Name: "jphost tools", Run: &toolsCmd{Tool: "a"}, Err: "unexpected argument b"},
		"completion csh":       {Name: "jphost completion", Run: &completionCmd{}, Err: `<shell> must be bash, zsh or fish, not "csh"`},
		"--help":               {Name: "jphost", Err: cmdline.ErrHelp.Error()},
		"--help frob":          {Name: "jphost", Err: "there is no command frob"},
		"-h run t":             {Name: "jphost run", Run: &runCmd{}, Err: cmdline.ErrHelp.Error()},
		"sandbox --help plan":  {Name: "jphost sandbox plan", Run: &sandboxPlanCmd{}, Err: cmdline.ErrHelp.Error()},
		"-h trust":             {Name: "jphost trust", Err: cmdline.ErrHelp.Error()},
		"--json":               {Name: "jphost", Globals: globals{JSON: true}, Err: "<command> is missing"},
		"":                     {Name: "jphost", Err: errNothing.Error()},
	} {
		got := speak(strings.Fields(line)...)
		if want.Err != "" && line != "--json" || want.Globals.Format != "" {
			want.Globals = got.Globals
		} else {
			want.Globals.Format = "text"
		}
		if diff := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
			t.Errorf("%s: -want +got\n%s", line, diff)
		}
	}
}

// After `--`, and not before, a word of `sandbox plan` is a program.
func TestReadPlan(t *testing.T) {
	for line, program := range map[string]bool{"sandbox plan t": false, "sandbox plan -- make": true, "sandbox plan --ro . -- make -j": true, "sandbox plan t -- x": false} {
		l, err := read(strings.Fields(line))
		if c, ok := l.run.(*sandboxPlanCmd); err != nil || !ok || c.program != program {
			t.Errorf("%s: %v, %+v", line, err, l.run)
		}
	}
}

func TestFindRoot(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(p string) string { return filepath.Join(top, filepath.FromSlash(p)) }
	for _, dir := range []string{
		"home/.jp", "home/jp/.jp", "home/jp/sub/.git", "home/jp/sub/deep", "home/git/.git", "home/git/sub",
		"home/toml/sub/sub", "home/plain/sub", "home/open/.jp", "home/open/sub", "home/theirs/.jp", "home/theirs/sub", "home/linked/sub", "home/shared/.jp", "home/shared/sub",
	} {
		if err := os.MkdirAll(at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"home/toml/.jp.toml", "home/toml/sub/.jp.toml"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(at("home/jp/.jp"), at("home/linked/.jp")); err != nil {
		t.Fatal(err)
	}
	for _, open := range []string{"home/open", "home/theirs", "home/linked", "home/shared"} {
		if err := os.Chmod(at(open), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]string{}
	want := map[string]string{
		"home/jp/sub/deep": "home/jp", "home/git/sub": "home/git", "home/toml/sub/sub": "home/toml",
		"home/plain/sub": "home/plain/sub", "home": "home",
		// What a tool makes of a directory's mode does not take its rules away.
		"home/open/sub": "home/open", "home/open": "home/open",
	}
	// Anybody could have put the mark into a directory that anybody may write to.
	if os.Geteuid() == 0 {
		for _, mark := range []string{"home/theirs/.jp", "home/linked/.jp", "home/shared"} {
			if err := os.Lchown(at(mark), 1, 1); err != nil {
				t.Fatal(err)
			}
		}
		want["home/theirs/sub"], want["home/theirs"] = "home/theirs/sub", "home/theirs"
		want["home/linked/sub"], want["home/shared/sub"] = "home/linked/sub", "home/shared/sub"
	} else {
		t.Log("not tried, as this is not root: a mark of another user")
	}
	for cwd := range want {
		rel, err := filepath.Rel(top, findRoot(at(cwd), at("home")))
		if err != nil {
			t.Fatal(err)
		}
		got[cwd] = filepath.ToSlash(rel)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Every command teaches: it has a help text of at most 80 columns, and those that take arguments have examples, as groups have.
func TestEveryCommandHasHelp(t *testing.T) {
	for _, w := range collect(program, "") {
		for _, s := range append(w.subs, w.flags...) {
			if s.help == "" {
				t.Errorf("%s %s has no help", w.path, s.name)
			}
		}
		var help strings.Builder
		l, err := read(append(strings.Fields(w.path), "--help"))
		if !errors.Is(err, cmdline.ErrHelp) {
			t.Errorf("%s --help: %v", w.path, err)
		}
		if err := l.writeHelp(&help); err != nil || l.name() != strings.TrimSpace("jphost "+w.path) {
			t.Errorf("%s: %v, the help of %s", w.path, err, l.name())
		}
		usage, text, _ := strings.Cut(help.String(), "\n")
		if l.run != nil && len(formOf(l.run, &globals{}).Words) > 0 && !strings.Contains(text, "jphost "+w.path) {
			t.Errorf("the help of %q has no example", w.path)
		}
		group := l.path[len(l.path)-1]
		if l.run == nil && (len(group.examples) == 0 || !strings.Contains(text, "\nExamples:\n\n  "+group.examples[0]+"\n")) {
			t.Errorf("the help of the group %q has no example", w.path)
		}
		for _, e := range group.examples {
			if _, err := read(strings.Fields(e)[1:]); err != nil || !strings.HasPrefix(e, l.name()+" ") && e != l.name() {
				t.Errorf("an example in the help of %q: %s: %v", w.path, e, err)
			}
		}
		if !strings.HasPrefix(usage, "Usage: "+l.name()+" ") {
			t.Errorf("the help of %q begins with %q", w.path, usage)
		}
		seen := map[string]bool{}
		for _, f := range w.flags {
			if seen[f.name] {
				t.Errorf("%s has %s twice", w.path, f.name)
			}
			seen[f.name] = true
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("the help of %q has a line of more than 80 columns:\n%s", w.path, line)
			}
		}
	}
}

// Who asks for help starts nothing.
func TestHelpOfCommand(t *testing.T) {
	for line, want := range map[string]string{
		"help sandbox exec echo": "sandbox exec", "help explain t command ls": "explain", "--json help trust accept": "trust accept", "help": "<command>", "help trust": "trust",
	} {
		stdout, stderr, err := runCommand(t, nil, strings.Fields(line)...)
		if err != nil || stderr != "" || !strings.HasPrefix(stdout, "Usage: jphost "+want+" ") {
			t.Errorf("%s: %v: %s%s", line, err, stdout, stderr)
		}
	}
}
