package cli

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
	"github.com/google/go-cmp/cmp"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/grants"
)

func TestArguments(t *testing.T) {
	cfg, err := config.Load(config.Options{})
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
		{"path:={", "error: the value of path is not JSON: at byte 1: the JSON ends too early\nit is {\nwrite path=TEXT for a text"},
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
	s := spoken{Name: l.node().FullPath(), Globals: *l.globals, Run: l.run}
	if err != nil {
		s.Err, _, _ = strings.Cut(err.Error(), "\nsee: "+s.Name+" --help")
	}
	return s
}

func TestRead(t *testing.T) {
	exec := func(words ...string) *sandboxExecCmd {
		return &sandboxExecCmd{Exec: grants.Exec{Flags: grants.Flags{Tier: "auto"}}, Command: words}
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
		"run t -C=d":                       {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Workspace: "d"}},
		"--cfg a=b run t --cfg c=d":        {Name: "jphost run", Run: &runCmd{Tool: "t"}, Globals: globals{Cfg: []string{"a=b", "c=d"}}},
		"run t --no-mount fork a=1":        {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{List: []string{"fork"}}}},
		"run t --no-mount a=1":             {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{All: true}}},
		"run --no-mount t a=1":             {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"a=1"}, NoMount: names{All: true}}},
		"run t --no-mount":                 {Name: "jphost run", Run: &runCmd{Tool: "t", NoMount: names{All: true}}},
		"run t -- --json":                  {Name: "jphost run", Run: &runCmd{Tool: "t", Args: []string{"--json"}}},
		"explain t read x --json":          {Name: "jphost explain", Run: &explainCmd{Question: []string{"t", "read", "x"}}, Globals: globals{JSON: true}},
		"explain t command ls --json -l":   {Name: "jphost explain", Run: &explainCmd{Question: []string{"t", "command", "ls", "--json", "-l"}}},
		"explain --policy f command ls -l": {Name: "jphost explain", Run: &explainCmd{Question: []string{"command", "ls", "-l"}, fromFile: fromFile{File: "f"}}},
		"explain t read command --json":    {Name: "jphost explain", Run: &explainCmd{Question: []string{"t", "read", "command"}}, Globals: globals{JSON: true}},
		"tools run --json":                 {Name: "jphost tools", Run: &toolsCmd{Tool: "run"}, Globals: globals{JSON: true}},
		"--format json trust":              {Name: "jphost trust show", Run: &trustShowCmd{}, Globals: globals{Format: "json"}},
		"trust":                            {Name: "jphost trust show", Run: &trustShowCmd{}},
		"trust --json":                     {Name: "jphost trust show", Run: &trustShowCmd{}, Globals: globals{JSON: true}},
		"trust accept --yes":               {Name: "jphost trust accept", Run: &trustAcceptCmd{Yes: true}},
		"policy --policy - --root d":       {Name: "jphost policy", Run: &policyCmd{fromFile: fromFile{File: "-", Root: "d"}}},
		"sandbox exec -- true":             {Name: "jphost sandbox exec", Run: dashed("true")},
		"sandbox exec true -- --rw x":      {Name: "jphost sandbox exec", Run: exec("true", "--", "--rw", "x")},
		"sandbox exec -- -x --json":        {Name: "jphost sandbox exec", Run: dashed("-x", "--json")},
		"sandbox --json exec -q --preset go,git --preset node:net --rw . --rw=x --ro a=b --env GO* --limit memory=1 --net --required --tier landlock -- true -q": {
			Name: "jphost sandbox exec", Globals: globals{JSON: true}, Run: &sandboxExecCmd{
				Command: []string{"true", "-q"}, dashed: true, Exec: grants.Exec{Quiet: true, Flags: grants.Flags{
					Preset: []string{"go,git", "node:net"},
					RW:     []string{".", "x"}, RO: []string{"a=b"}, Env: []string{"GO*"}, Limit: []string{"memory=1"}, Net: true, Required: true, Tier: "landlock",
				}},
			},
		},

		"run":                            {Name: "jphost run", Err: "<tool> is missing"},
		"run --":                         {Name: "jphost run", Err: "<tool> is missing"},
		"run t --help":                   {Name: "jphost run", Err: errHelp.Error()},
		"run t --no-such":                {Name: "jphost run", Err: "unknown flag --no-such\narguments of the tool have no dashes: no_such=VALUE"},
		"run t --fromat json":            {Name: "jphost run", Err: "unknown flag --fromat, did you mean --format?"},
		"sandbox exec -qx":               {Name: "jphost sandbox exec", Err: "unknown flag -x"},
		"sandbox exec -qC":               {Name: "jphost sandbox exec", Err: "-C is without its value"},
		"run t --format jsn":             {Name: "jphost run", Err: `--format must be one of "text","json" but got "jsn", did you mean json?`},
		"sandbox run ls":                 {Name: "jphost sandbox", Err: "there is no command sandbox run, did you mean sandbox exec?"},
		"exec ls":                        {Name: "jphost", Err: "there is no command exec, did you mean sandbox exec?"},
		"init":                           {Name: "jphost", Err: "there is no command init, did you mean config init?"},
		"config int":                     {Name: "jphost config", Err: "there is no command config int, did you mean init?"},
		"-c x tools":                     {Name: "jphost", Err: "unknown flag -c, did you mean -C?"},
		"run t --format x":               {Name: "jphost run", Err: `--format must be one of "text","json" but got "x"`},
		"run t --cfg --json":             {Name: "jphost run", Err: `--cfg: expected string value but got "--json" (long flag); perhaps try --cfg="--json"?`},
		"sandbox exec":                   {Name: "jphost sandbox exec", Err: "<command> ... is missing"},
		"sandbox exec --":                {Name: "jphost sandbox exec", Err: "<command> ... is missing"},
		"sandbox":                        {Name: "jphost sandbox", Err: "<command> is missing: exec, plan, learn, presets"},
		"sandbox frob":                   {Name: "jphost sandbox", Err: "there is no command sandbox frob"},
		"sandbox exce -- true":           {Name: "jphost sandbox", Err: "there is no command sandbox exce, did you mean exec?"},
		"rnu t":                          {Name: "jphost", Err: "there is no command rnu, did you mean run?"},
		"trust --yes":                    {Name: "jphost trust", Err: "unknown flag --yes"},
		"tools -- a b c d e f g h i j k": {Name: "jphost tools", Err: "unexpected argument b"},
		"tools a b":                      {Name: "jphost tools", Err: "unexpected argument b"},
		"completion csh":                 {Name: "jphost completion", Err: `<shell> must be one of "bash","zsh","fish" but got "csh", did you mean zsh?`},
		"--help":                         {Name: "jphost", Err: errHelp.Error()},
		"--help frob":                    {Name: "jphost", Err: "there is no command frob"},
		"-h run t":                       {Name: "jphost run", Err: errHelp.Error()},
		"sandbox --help plan":            {Name: "jphost sandbox plan", Err: errHelp.Error()},
		"-h trust":                       {Name: "jphost trust", Err: errHelp.Error()},
		"--json":                         {Name: "jphost", Globals: globals{JSON: true}, Err: "<command> is missing"},
		"":                               {Name: "jphost", Err: errHelp.Error()},
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

// Paths and arguments of programs need not be UTF-8: every byte of them counts.
func TestReadKeepsBytes(t *testing.T) {
	const odd = "a\xff\xc3\u2028<&>"
	l, err := read([]string{"-C", odd, "sandbox", "exec", "--root=" + odd, "--grant", "path=" + odd, "--", odd, odd})
	c, ok := l.run.(*sandboxExecCmd)
	if err != nil || !ok || l.Workspace != odd || c.Root != odd || c.Grant[0] != "path="+odd || c.Command[0] != odd || c.Command[1] != odd {
		t.Errorf("%v: %q %+q", err, l.Workspace, l.run)
	}
	for _, args := range [][]string{{"run", odd, odd}, {"run", "t", "--no-mount", odd, odd}, {"explain", odd, "command", odd}, {"mount", odd, odd}, {"sandbox", "plan", odd, odd}} {
		l, err := read(args)
		if err != nil {
			t.Errorf("%q: %v", args, err)
			continue
		}
		switch c := l.run.(type) {
		case *runCmd:
			if ok = c.Tool == odd && c.Args[0] == odd; c.NoMount.set() {
				ok = c.Args[0] == odd && c.NoMount.List[0] == odd
			}
		case *explainCmd:
			ok = c.Question[0] == odd && c.Question[2] == odd
		case *mountCmd:
			ok = c.Specs[0] == odd && c.Specs[1] == odd
		case *sandboxPlanCmd:
			ok = c.Tool == odd && c.Command[0] == odd
		}
		if !ok {
			t.Errorf("%q became %+q", args, l.run)
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

// Every command teaches: it has a help text of at most 80 columns, and those that take arguments have examples that
// are command lines, as groups have.
func TestEveryCommandHasHelp(t *testing.T) {
	k, _ := parser()
	commands := 0
	err := kong.Visit(k.Model, func(v kong.Visitable, next kong.Next) error {
		node, ok := v.(*kong.Node)
		if app, is := v.(*kong.Application); is {
			node, ok = app.Node, true
		}
		if !ok || node.Hidden {
			return next(nil)
		}
		commands++
		path := node.FullPath()
		for _, v := range node.Values() {
			if v.Help == "" {
				t.Errorf("%s: %s has no help", path, v.Name)
			}
		}
		stdout, stderr, err := runCommand(t, nil, append(strings.Fields(path)[1:], "--help")...)
		usage, text, _ := strings.Cut(stdout, "\n")
		if err != nil || stderr != "" || !strings.HasPrefix(usage, "Usage: "+path+" ") {
			t.Errorf("the help of %s begins with %q: %v %s", path, usage, err, stderr)
		}
		if n := strings.Count(text, "\n    "+path); n == 0 && (len(node.Positional) > 0 || !node.Leaf()) {
			t.Errorf("the help of %s has no example", path)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(line) > 81 {
				t.Errorf("the help of %s has a line of more than 80 columns:\n%s", path, line)
			}
			example, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "    jphost ")
			if !is || strings.ContainsAny(example, "'\"#|>[…") {
				continue
			}
			if _, err := read(strings.Fields(example)); err != nil {
				t.Errorf("an example in the help of %s: %s: %v", path, example, err)
			}
		}
		return next(nil)
	})
	if err != nil || commands < 25 {
		t.Errorf("%d commands: %v", commands, err)
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

// What Tab offers: the kind of what follows, and words that are in it.
func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"":                                   "words run",
		"run ":                               "words fs_read_file",
		"-C . run ":                          "words fs_read_file",
		"--format json explain ":             "words fs_read_file",
		"run fs_read_file ":                  "keys path=",
		"run fs_read_file --json path=a sta": "keys start_line=",
		"run fs_read_file path = ":           "files",
		"run fs_read_file --an":              "words --answer",
		"run --format ":                      "words json",
		"--format=":                          "words json",
		"--format = j":                       "words json",
		"-C ":                                "files",
		"trust ":                             "words accept",
		"trust accept ":                      "words --digest",
		"trust accept --digest ":             "files",
		"explain fs_read_file ":              "words read",
		"explain --policy f ":                "words read",
		"explain fs_read_file read ":         "files",
		"run fs_grep_files output=":          "words content\nfiles\ncount\n",
		"run fs_grep_files output = ":        "words content",
		"run fs_modify_file replace_all=":    "words true",
		"run fs_read_file path=":             "files",
		"unmount ":                           "words fork",
		"approvals approve ":                 "words fork",
		"completion ":                        "words zsh",
		"sandbox exec ":                      "program 3",
		"sandbox exec --ro = . -- git che":   "program 7",
		"sandbox exec --ro . git che":        "program 5",
		"sandbox exec --tier ":               "words landlock",
		"sandbox exec --ti":                  "words --tier",
		"sandbox exec sh -- x":               "program 3",
		"sandbox plan -- ma":                 "program 4",
		"sandbox plan ":                      "words fs_read_file",
		"mount --frob ":                      "files",
		"sandbox exec --limit ":              "keys processes=",
		"config show ":                       "words conversation.tools.fs_read_file.run",
	} {
		words := strings.Split(line, " ")
		for i, w := range words {
			words[i] = strings.TrimSpace(w)
		}
		files := map[string]string{".jp/config.toml": "conversation.tools.fs_read_file.access.fs = [{ path = 'fork', external = true, read = true }]\n" +
			"[conversation.tools.z_safe]\nsource = 'local'\ncommand = 'true'\nparameters.\"z$(touch pasted)\".type = 'string'\n"}
		stdout, stderr, err := runCommand(t, files, append([]string{"complete", "--"}, words...)...)
		kind, list, _ := strings.Cut(stdout, "\n")
		wantKind, word, _ := strings.Cut(want, " ")
		if n, is := strings.CutPrefix(want, "program"); is {
			wantKind, word = "program"+n, ""
		}
		if err != nil || kind != wantKind || !strings.Contains("\n"+list, "\n"+word) {
			t.Errorf("%q: %v %s\nwant %s, got %s", line, err, stderr, want, stdout)
		}
		if strings.Contains(list, "$(") || strings.Contains(list, "--hide") || strings.Contains(list, "complete\t") {
			t.Errorf("%q offers: %s", line, list)
		}
	}
	if stdout, _, _ := runCommand(t, nil, "complete", "--", "run", "z_safe", ""); stdout != "keys\n" {
		t.Errorf("of a tool that does not exist: %q", stdout)
	}
}

// What a signal means, and so the exit status, does not depend on where a flag of every command stands.
func TestSignalsBelongToTheProgram(t *testing.T) {
	for line, want := range map[string]bool{
		"sandbox exec -- true": true, "-C . sandbox exec true": true, "--no-input sandbox --json exec --cfg a=b true": true,
		"sandbox plan -- true": false, "run sandbox exec": false, "-C sandbox run exec": false, "sandbox exec --help": false, "sandbox exec": false,
	} {
		if l, err := read(strings.Fields(line)); l.passesSignals() != want {
			t.Errorf("%s: %v, %v", line, !want, err)
		}
	}
}
