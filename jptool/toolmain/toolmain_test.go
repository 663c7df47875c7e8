package toolmain

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

type edit struct {
	Old string  `json:"old" required:"" help:"Text to find."`
	New string  `json:"new" help:"Replacement."`
	In  Strings `json:"paths" help:"Files."`
}

type testArgs struct {
	Path    string  `json:"path" required:"" help:"A file." example:"src/lib.rs"`
	From    *int    `json:"start_line" min:"1" help:"First line."`
	Output  string  `json:"output" enum:"content,files" default:"content" help:"Form."`
	Paths   Strings `json:"paths" help:"Where."`
	Edits   []edit  `json:"patterns" help:"Edits."`
	DryRun  bool    `json:"dry_run" help:"Do nothing."`
	Careful bool    `json:"careful" default:"true" help:"Take care."`
}

type testOptions struct {
	Gitignore bool `json:"gitignore" default:"true" help:"Honour ignore files."`
	Max       *int `json:"max" help:"A number."`
	Deadline  int  `json:"deadline" min:"0" default:"60" help:"Seconds."`
}

type call struct {
	args    testArgs
	options testOptions
	preview bool
	left    time.Duration // until the deadline of the context, 0 for none
}

// tool records what it was called with; path "panic" panics, "ask" asks.
func tool(got *call) Tool[testArgs, testOptions] {
	return Tool[testArgs, testOptions]{
		Name: "demo", Summary: "shows the frame.", Example: "--path README.md",
		Run: func(ctx context.Context, c *Call, a *testArgs, o *testOptions) (jptool.Outcome, error) {
			*got = call{args: *a, options: *o, preview: c.Preview}
			if end, ok := ctx.Deadline(); ok {
				got.left = time.Until(end).Round(time.Second)
			}
			switch a.Path {
			case "panic":
				panic("at the disco")
			case "ask", "both":
				found := func() (Preview, error) { return Preview{Text: "Would ask."}, nil }
				if err := c.Confirm(found, func() ([]Question, error) {
					list := []Question{{ID: "sure", Text: "Sure?", Token: "t1", Declined: Declined("not sure")}}
					if a.Path == "both" {
						list = append(list, Question{ID: "really", Text: "Really?", Before: "It is late.", Default: true, Token: "t2", Declined: Declined("not really")})
					}
					return list, nil
				}); err != nil {
					return jptool.Outcome{}, err
				}
			}
			if _, err := c.Workspace.CheckRead(a.Path); err != nil {
				return jptool.Outcome{}, err
			}
			return jptool.Outcome{Content: "<ok> & fine"}, nil
		},
	}
}

func run(t *testing.T, got *call, stdin io.Reader, args ...string) (code int, out, stderr string) {
	t.Helper()
	var o, e bytes.Buffer
	code = Run(context.Background(), tool(got), Streams{Stdin: stdin, Stdout: &o, Stderr: &e, Args: args})
	if line := o.String(); !strings.HasPrefix(line, "demo:") && (strings.Count(line, "\n") != 1 || !json.Valid([]byte(line))) && len(args) > 0 && args[0] != "--schema" && args[0] != "--version" {
		t.Errorf("standard output is not one line of JSON: %q", line)
	}
	return code, o.String(), e.String()
}

func TestThreeForms(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	arguments := `{"path":"x","start_line":3,"paths":["a","b"],"patterns":[{"old":"o","new":"n","paths":"p"}],"dry_run":true,"careful":false,"output":"files"}`
	tool := `{"name":"other","arguments":` + arguments + `,"options":{"gitignore":false,"max":4}}`
	var whole, flags, positional call
	code1, out1, _ := run(t, &whole, strings.NewReader(`{"context":`+ctx+`,"tool":`+tool+`}`))
	code2, out2, _ := run(t, &flags, strings.NewReader(ctx), "--path", "x", "--start-line=3", "--paths", "a", "--paths", "b",
		"--patterns", `{"old":"o","new":"n","paths":["p"]}`, "--dry-run", "--no-careful", "--output", "files", "--option", "gitignore=false", "--option=max=4")
	code3, out3, _ := run(t, &positional, failingReader{}, ctx, tool)
	if code1 != 0 || code2 != 0 || code3 != 0 || out1 != out2 || out2 != out3 {
		t.Errorf("the forms differ: %d %s, %d %s, %d %s", code1, out1, code2, out2, code3, out3)
	}
	if !reflect.DeepEqual(whole, flags) || !reflect.DeepEqual(whole, positional) {
		t.Errorf("the tool saw\n%+v\n%+v\n%+v", whole, flags, positional)
	}
	if out1 != `{"type":"success","content":"<ok> & fine"}`+"\n" {
		t.Errorf("outcome %s", out1)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { panic("standard input was read") }

func TestRequestErrors(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	whole := `{"context":` + ctx + `,"tool":{"arguments":{"path":"x"}}}`
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  jptool.Code
		says  string
	}{
		"empty stdin":          {"", nil, jptool.CodeInvalidRequest, "call it with a Context"},
		"blank stdin":          {" \n", []string{"--path", "x"}, jptool.CodeInvalidRequest, "empty"},
		"broken JSON":          {`{"context":`, nil, jptool.CodeInvalidRequest, "too early"},
		"whole and flags":      {whole, []string{"--path", "x"}, jptool.CodeInvalidRequest, "flags go with a bare Context"},
		"two words and flags":  {"", []string{ctx, `{"arguments":{"path":"x"}}`, "--path", "x"}, jptool.CodeInvalidRequest, "flags go with a bare Context"},
		"a flag for the value": {ctx, []string{"--path", "--start-line", "3"}, jptool.CodeInvalidArguments, `the value is missing; if --start-line is the value, write --path=--start-line; see demo --help`},
		"no value at the end":  {ctx, []string{"--path"}, jptool.CodeInvalidArguments, "--path: the value is missing"},
		"one positional":       {ctx, []string{ctx}, jptool.CodeInvalidRequest, "two arguments"},
		"unknown flag":         {ctx, []string{"--pth", "x"}, jptool.CodeInvalidArguments, "--path"},
		"stray word":           {ctx, []string{"x"}, jptool.CodeInvalidArguments, "unexpected argument x: each has its flag; did you mean --path x? See demo --help"},
		"path twice":           {ctx, []string{"--path", "a", "--path", "b"}, jptool.CodeInvalidArguments, "2 times"},
		"answer without =":     {ctx, []string{"--path", "a", "--answer", "x"}, jptool.CodeInvalidArguments, "KEY=VALUE"},
		"missing required":     {ctx, nil, jptool.CodeInvalidArguments, "`path` of demo is missing"},
		"path is a number":     {ctx, []string{"--path", "x", "--start-line", "one"}, jptool.CodeInvalidArguments, "must be an integer"},
		"below the minimum":    {ctx, []string{"--path", "x", "--start-line", "0"}, jptool.CodeInvalidArguments, "at least 1"},
		"not in the enum":      {ctx, []string{"--path", "x", "--output", "all"}, jptool.CodeInvalidArguments, "content, files"},
		"objects are strings":  {ctx, []string{"--path", "x", "--patterns", "abc"}, jptool.CodeInvalidArguments, "`patterns[0]` of demo must be an object with old, new, paths"},
		"object lacks a key":   {ctx, []string{"--path", "x", "--patterns", "{}"}, jptool.CodeInvalidArguments, "`patterns[0].old` of demo is missing"},
		"bad option":           {ctx, []string{"--path", "x", "--option", "gitignore=maybe"}, jptool.CodeInvalidArguments, "option `gitignore`"},
		"bad policy":           {`{"root":"/","action":"run","access":{"fss":[]}}`, []string{"--path", "x"}, jptool.CodeInvalidPolicy, "fss"},
		"no such root":         {`{"root":"/no/such/root","action":"run"}`, []string{"--path", "x"}, jptool.CodeInvalidRequest, "/no/such/root"},
		"invalid UTF-8 flag":   {ctx, []string{"--path", "\xff"}, jptool.CodeInvalidArguments, "UTF-8"},
	} {
		code, out, _ := run(t, new(call), strings.NewReader(c.stdin), c.args...)
		var o struct {
			Type, Message string
			Code          jptool.Code
			Trace         []string
			Transient     *bool
		}
		if err := json.Unmarshal([]byte(out), &o); err != nil || code != ExitBadRequest || o.Type != "error" ||
			o.Code != c.code || !strings.Contains(o.Message, c.says) || o.Trace == nil || o.Transient == nil {
			t.Errorf("%s: exit %d, %s; want exit 2, code %s, a message with %q", name, code, out, c.code, c.says)
		}
	}
}

// endless is a request that never ends: the limit must stop it.
type endless struct{ n int64 }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	e.n += int64(len(p))
	return len(p), nil
}

// What a wrapper adds to an error is part of the message; code, trace and data stay.
func TestFailureKeepsTheTextOfWrappers(t *testing.T) {
	inner := &jptool.Error{Code: jptool.CodeBusy, Message: "busy", Trace: []string{"a"}, Transient: true, Data: 1}
	for _, c := range []struct {
		err  error
		want string
	}{{inner, "busy"}, {fmt.Errorf("file 2 of 3: %w", inner), "file 2 of 3: busy"}} {
		got := Failure(c.err).Err
		if got.Message != c.want || got.Code != inner.Code || !got.Transient || got.Data != 1 || len(got.Trace) != 1 {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
	if inner.Message != "busy" {
		t.Errorf("the error was changed: %q", inner.Message)
	}
}

func TestRequestLimit(t *testing.T) {
	body := &endless{}
	code, out, _ := run(t, new(call), body)
	if code != ExitBadRequest || !strings.Contains(out, "64 MiB") || body.n > 2*MaxRequest {
		t.Errorf("exit %d, %s after %d bytes", code, out, body.n)
	}
}

func TestArgumentForms(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	for arguments, want := range map[string]Strings{
		`"path":"x"`:                            {},
		`"path":"x","paths":null`:               {},
		`"path":"x","paths":[]`:                 {Items: []string{}, Set: true},
		`"path":"x","paths":"a"`:                {Items: []string{"a"}, Set: true},
		`"path":"x","paths":"[\"a\",\"b\"]"`:    {Items: []string{"a", "b"}, Set: true},
		`"path":"x","paths":"[ab]"`:             {Items: []string{"[ab]"}, Set: true},
		`"path":"x","paths":["[\"a\"]"]`:        {Items: []string{`["a"]`}, Set: true},
		`"path":"x","start_line":2.0,"paths":1`: {},
	} {
		var got call
		code, out, _ := run(t, &got, strings.NewReader(`{"context":`+ctx+`,"tool":{"arguments":{`+arguments+`}}}`))
		if strings.HasSuffix(arguments, "1") {
			if code != ExitBadRequest || !strings.Contains(out, "`paths` of demo must be a string or an array of strings") {
				t.Errorf("%s: %s", arguments, out)
			}
			continue
		}
		if code != 0 || !reflect.DeepEqual(got.args.Paths, want) {
			t.Errorf("%s: %+v, %s; want %+v", arguments, got.args.Paths, out, want)
		}
	}
	var got call
	run(t, &got, strings.NewReader(`{"context":`+ctx+`,"tool":{"arguments":{"path":"x","start_line":2.0,"patterns":"[{\"old\":\"a\"}]"}}}`))
	if got.args.From == nil || *got.args.From != 2 || len(got.args.Edits) != 1 || got.args.Output != "content" {
		t.Errorf("got %+v", got.args)
	}
}

// Nobody would enforce what a misspelt key asks for, and nobody would notice.
func TestMisspeltKeysAreErrors(t *testing.T) {
	root := jptooltest.TempRoot(t)
	ctx := jptooltest.Context(t, root)
	bare := func(key string) string { return strings.TrimSuffix(ctx, "}") + `,` + key + `}` }
	whole := func(ctx, tool, more string) string { return `{"context":` + ctx + `,"tool":` + tool + more + `}` }
	const tool = `{"arguments":{"path":"x"}}`
	for name, c := range map[string]struct {
		stdin string
		args  []string
		says  string // "" for a success
	}{
		"access in a Context":      {bare(`"acces":{"fs":[{"path":"."}]}`), []string{"--path", "x"}, `unknown key \"acces\"; did you mean \"access\"?`},
		"access without a value":   {bare(`"acess":null`), []string{"--path", "x"}, `did you mean \"access\"?`},
		"access in capitals":       {bare(`"ACCESS":{}`), []string{"--path", "x"}, `did you mean \"access\"?`},
		"access in a request":      {whole(bare(`"accsse":{}`), tool, ""), nil, `did you mean \"access\"?`},
		"access in two arguments":  {"", []string{bare(`"acccess":{}`), tool}, `did you mean \"access\"?`},
		"root":                     {`{"context":{"rooot":"/","action":"run"},"tool":{}}`, nil, `did you mean \"root\"?`},
		"tool beside it":           {whole(ctx, tool, `,"tools":{}`), nil, `did you mean \"tool\"?`},
		"options":                  {whole(ctx, `{"arguments":{"path":"x"},"option":{"gitignore":true}}`, ""), nil, `did you mean \"options\"?`},
		"options in two arguments": {"", []string{ctx, `{"arguments":{"path":"x"},"optons":{}}`}, `did you mean \"options\"?`},
		"an argument":              {whole(ctx, `{"arguments":{"path":"x","dryrun":true}}`, ""), nil, `demo has no argument \"dryrun\"; did you mean \"dry_run\"?`},
		"a required argument":      {whole(ctx, `{"arguments":{"pth":"x"}}`, ""), nil, `did you mean \"path\"?`},
		"an argument in a list":    {whole(ctx, `{"arguments":{"path":"x","patterns":[{"old":"a"},{"old":"b","nwe":"c"}]}}`, ""), nil, `demo has no argument \"patterns[1].nwe\"; did you mean \"new\"?`},
		"an option by flag":        {ctx, []string{"--path", "x", "--option", "gitignor=false"}, `demo has no option \"gitignor\"; did you mean \"gitignore\"?`},
		"an option in a request":   {whole(ctx, `{"arguments":{"path":"x"},"options":{"git_ignore":false}}`, ""), nil, `did you mean \"gitignore\"?`},
		"another tool's option":    {ctx, []string{"--path", "x", "--option", "suppress=.env"}, `demo has no option \"suppress\"; its options are gitignore, max`},
		"an option without value":  {whole(ctx, `{"arguments":{"path":"x"},"options":{"sup":null}}`, ""), nil, `its options are`},
		"control":                  {whole(ctx, `{"arguments":{"path":"x"},"options":{"gitignore":false}}`, ""), nil, ""},
	} {
		var got call
		code, out, _ := run(t, &got, strings.NewReader(c.stdin), c.args...)
		switch {
		case c.says == "":
			if code != 0 {
				t.Errorf("%s: exit %d, %s; want a success", name, code, out)
			}
		case code != ExitBadRequest || !strings.Contains(out, c.says) || got.args.Path != "":
			t.Errorf("%s: exit %d, %s; want exit 2, a message with %s, and the tool not run", name, code, out, c.says)
		}
	}
}

func TestIgnoredKeysAreNamedInNotes(t *testing.T) {
	ctx := strings.TrimSuffix(jptooltest.Context(t, jptooltest.TempRoot(t)), "}") + `,"deadline_ms":5}`
	whole := func(path, answers string) string {
		return `{"context":` + ctx + `,"tool":{"arguments":{"path":"` + path + `","colour":"red","patterns":{"old":"a","remark":"b"}},"answers":` + answers + `,"trace_id":"t"},"protocol":2}`
	}
	want := []string{
		`key "protocol" is not known and was ignored`, `key "context.deadline_ms" is not known and was ignored`, `key "tool.trace_id" is not known and was ignored`,
		`argument "colour" is not known and was ignored`, `argument "patterns[0].remark" is not known and was ignored`,
	}
	for kind, body := range map[string]string{"success": whole("x", "{}"), "needs_input": whole("ask", "{}"), "error": whole("ask", `{"sure":false}`)} {
		_, out, stderr := run(t, new(call), strings.NewReader(body))
		var o struct {
			Type  string
			Notes []string
		}
		if err := json.Unmarshal([]byte(out), &o); err != nil || o.Type != kind || !reflect.DeepEqual(o.Notes, want) {
			t.Errorf("%s; want a %s with notes %q", out, kind, want)
		}
		if !strings.Contains(stderr, `"colour"`) {
			t.Errorf("standard error lacks the remark: %q", stderr)
		}
	}
	many := `{"path":"x"`
	for i := range 30 {
		many += fmt.Sprintf(`,"unknown_argument_%02d":1`, i)
	}
	_, out, _ := run(t, new(call), strings.NewReader(`{"context":`+ctx+`,"tool":{"arguments":`+many+`}}}`))
	if n := strings.Count(out, "was ignored"); n != maxRemarks+1 || !strings.Contains(out, "more of the request") {
		t.Errorf("%d notes for 30 unknown arguments: %s", n, out)
	}
}

// After a flag, what cannot be a flag is its value; with = anything is.
func TestValuesThatBeginWithADash(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	var got call
	code, out, _ := run(t, &got, strings.NewReader(ctx), "--path=--path", "--paths", "- item", "--paths=-x", "--paths", "-", "--paths", "-7", "--paths", "", "--option", "max=-5")
	want := Strings{Items: []string{"- item", "-x", "-", "-7", ""}, Set: true}
	if code != 0 || got.args.Path != "--path" || !reflect.DeepEqual(got.args.Paths, want) || got.options.Max == nil || *got.options.Max != -5 {
		t.Errorf("exit %d, %+v, %s", code, got, out)
	}
	for _, value := range []string{"-x", "--paths", "-x=1", "--"} {
		if code, out, _ := run(t, new(call), strings.NewReader(ctx), "--path", value); code != ExitBadRequest || !strings.Contains(out, "the value is missing; if "+value+" is the value, write --path="+value) {
			t.Errorf("%s: exit %d, %s", value, code, out)
		}
	}
	if code, out, _ := run(t, new(call), strings.NewReader(ctx), "--path", "x", "--start-line", "-5"); code != ExitBadRequest || !strings.Contains(out, "at least 1, got -5") {
		t.Errorf("exit %d, %s", code, out)
	}
}

func TestDeadline(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	for option, want := range map[string]time.Duration{"": time.Minute, "deadline=5": 5 * time.Second, "deadline=0": 0} {
		args := []string{"--path", "x"}
		if option != "" {
			args = append(args, "--option", option)
		}
		var got call
		if code, out, _ := run(t, &got, strings.NewReader(ctx), args...); code != 0 || got.left != want {
			t.Errorf("%q: %v until the deadline, want %v; %s", option, got.left, want, out)
		}
	}
}

func TestQuestions(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	for answers, want := range map[string]string{
		`{}`:                              `"needs_input"`,
		`{"sure":null}`:                   `"needs_input"`,
		`{"sure":true}`:                   `"success"`,
		`{"sure":false}`:                  `"declined"`,
		`{"sure":true,"sure.token":"t1"}`: `"success"`,
		`{"sure":true,"sure.token":"t0"}`: `"needs_input"`,
		`{"sure":true,"sure.token":7}`:    `"needs_input"`,
		`{"sure":"yes"}`:                  `"invalid_arguments"`,
	} {
		_, out, _ := run(t, new(call), strings.NewReader(`{"context":`+ctx+`,"tool":{"arguments":{"path":"ask"},"answers":`+answers+`}}`))
		if !strings.Contains(out, want) {
			t.Errorf("answers %s: %s; want %s", answers, out, want)
		}
	}
	_, out, _ := run(t, new(call), strings.NewReader(ctx), "--path", "ask")
	if want := `{"type":"needs_input","question":{"id":"sure","text":"Sure?","pre_amble":null,"answer_type":"Boolean","default":null,"token":"t1"}}` + "\n"; out != want {
		t.Errorf("question %s; want %s", out, want)
	}
	code, out, stderr := run(t, new(call), strings.NewReader(ctx), "--path", "panic")
	if code != ExitError || !strings.Contains(out, "internal error") || !strings.Contains(stderr, "at the disco") {
		t.Errorf("panic: exit %d, %s", code, out)
	}
}

func TestSeveralQuestions(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	const (
		sure   = `{"id":"sure","text":"Sure?","pre_amble":null,"answer_type":"Boolean","default":null,"token":"t1"}`
		really = `{"id":"really","text":"Really?","pre_amble":"It is late.","answer_type":"Boolean","default":true,"token":"t2"}`
	)
	for _, c := range []struct{ action, answers, want string }{
		{"run", `{}`, `{"type":"needs_input","question":` + sure + `,"questions":[` + sure + `,` + really + `]}`},
		{"run", `{"sure":true}`, `{"type":"needs_input","question":` + really + `,"answered":["sure"]}`},
		{"run", `{"really":true,"really.token":"t2","other":1}`, `{"type":"needs_input","question":` + sure + `,"answered":["really"]}`},
		{"run", `{"really":true,"sure":true,"sure.token":"t1","other":true}`, `{"type":"success","content":"<ok> & fine","answered":["sure","really"]}`},
		{"run", `{"really":false}`, `{"type":"error","message":"not really","trace":[],"transient":false,"code":"declined","answered":["really"]}`},
		{"run", `{"really":true,"sure":true,"preview":true,"preview.token":"x"}`, `"question":{"id":"preview","text":"What demo found has changed since it was shown. Let it do what is shown now?","pre_amble":"Would ask.",`},
		{"run", `{"really":true,"preview":true,"preview.token":"x"}`, `"questions":[{"id":"preview",`},
		{"format_arguments", `{}`, `"questions":[` + sure + `,` + really + `]}}`},
		{"format_arguments", `{"sure":true}`, `"questions":[` + really + `]},"answered":["sure"]}`},
		{"format_arguments", `{"sure":false}`, `"code":"declined"`},
	} {
		of := strings.Replace(ctx, `"run"`, `"`+c.action+`"`, 1)
		_, out, _ := run(t, new(call), strings.NewReader(`{"context":`+of+`,"tool":{"arguments":{"path":"both"},"answers":`+c.answers+`}}`))
		if c.action == "run" && strings.HasPrefix(c.want, "{") && out != c.want+"\n" || !strings.Contains(out, c.want) {
			t.Errorf("%s with %s: %s; want %s", c.action, c.answers, out, c.want)
		}
	}
}

func TestFailOnQuestion(t *testing.T) {
	ctx := jptooltest.Context(t, jptooltest.TempRoot(t))
	const ask, do = `{"arguments":{"path":"ask"}}`, `{"arguments":{"path":"x"}}`
	const flag = "--fail-on-question"
	for name, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		"without the flag":          {ctx, []string{"--path", "ask"}, ExitOK},
		"flags":                     {ctx, []string{"--path", "ask", flag}, ExitQuestion},
		"flags, before":             {ctx, []string{flag, "--path", "ask"}, ExitQuestion},
		"flags, a success":          {ctx, []string{"--path", "x", flag}, ExitOK},
		"flags, answered":           {ctx, []string{"--path", "ask", flag, "--answer", "sure=true"}, ExitOK},
		"flags, declined":           {ctx, []string{"--path", "ask", flag, "--answer", "sure=false"}, ExitError},
		"flags, a bad request":      {ctx, []string{flag}, ExitBadRequest},
		"request":                   {`{"context":` + ctx + `,"tool":` + ask + `}`, []string{flag}, ExitQuestion},
		"request, a success":        {`{"context":` + ctx + `,"tool":` + do + `}`, []string{flag}, ExitOK},
		"request and another flag":  {`{"context":` + ctx + `,"tool":` + ask + `}`, []string{flag, "--path", "x"}, ExitBadRequest},
		"two arguments":             {"", []string{ctx, ask, flag}, ExitQuestion},
		"two arguments, before":     {"", []string{flag, ctx, ask}, ExitQuestion},
		"two arguments, a success":  {"", []string{ctx, do, flag}, ExitOK},
		"two arguments without it":  {"", []string{ctx, ask}, ExitOK},
		"one argument and the flag": {"", []string{ctx, flag}, ExitBadRequest},
	} {
		if code, out, _ := run(t, new(call), strings.NewReader(c.stdin), c.args...); code != c.code {
			t.Errorf("%s: exit %d, %s; want %d", name, code, out, c.code)
		}
	}
}

func TestToken(t *testing.T) {
	for _, other := range [][]string{{"ab"}, {"", "ab"}, {"a", "b", ""}, {"b", "a"}, {"a", "1:b"}} {
		if Token(other...) == Token("a", "b") {
			t.Errorf("%q has the token of a, b", other)
		}
	}
}

func TestVersion(t *testing.T) {
	code, out, _ := run(t, new(call), failingReader{}, "--version")
	if want := regexp.MustCompile(`^demo \S+( [0-9a-f]{40})? \(go\S+.*, \w+/\w+\)\n$`); code != 0 || !want.MatchString(out) {
		t.Errorf("--version: exit %d, %q; want %s", code, out, want)
	}
}

func TestHelpAndSchema(t *testing.T) {
	code, out, _ := run(t, new(call), failingReader{}, "--help")
	for _, want := range []string{"--start-line", "integer", "A file. Required.", "Default: content.", "gitignore", "--path README.md", ".old", "--version"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("--help (exit %d) lacks %q:\n%s", code, want, out)
		}
	}
	_, out, _ = run(t, new(call), failingReader{}, "--schema")
	var schema struct {
		Required             []string
		AdditionalProperties bool
		Properties           map[string]struct {
			Type    any
			Default any
			Minimum int
			Enum    []string
		}
	}
	schema.AdditionalProperties = true
	if err := json.Unmarshal([]byte(out), &schema); err != nil {
		t.Fatalf("--schema: %v\n%s", err, out)
	}
	p := schema.Properties
	if len(p) != 7 || schema.AdditionalProperties || !reflect.DeepEqual(schema.Required, []string{"path"}) ||
		p["start_line"].Type != "integer" || p["start_line"].Minimum != 1 || p["careful"].Default != true || len(p["output"].Enum) != 2 {
		t.Errorf("schema: %s", out)
	}
}

// FuzzArguments: whatever the request holds, there is one line of JSON and no panic.
func FuzzArguments(f *testing.F) {
	f.Add([]byte(`{"path":"x","patterns":[{"old":1}]}`))
	f.Add([]byte(`{"path":"x","paths":"[","start_line":1e99}`))
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, arguments []byte) {
		code, out, _ := run(t, new(call), strings.NewReader(`{"context":`+jptooltest.Context(t, root)+`,"tool":{"arguments":`+string(arguments)+`}}`))
		if code < 0 || code > 2 || !json.Valid([]byte(out)) || strings.Contains(out, "internal error") {
			t.Fatalf("exit %d, %q", code, out)
		}
	})
}
