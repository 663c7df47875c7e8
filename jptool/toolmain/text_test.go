package toolmain

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/jptool/testdata/jptooltest"
)

// talker answers with what its path asks for.
func talker(t *testing.T) Tool[testArgs, testOptions] {
	return Tool[testArgs, testOptions]{Name: "demo", Summary: "show text", Example: "--path x", Run: func(_ context.Context, c *Call, a *testArgs, _ *testOptions) (jptool.Outcome, error) {
		switch a.Path {
		case "error":
			return jptool.Outcome{}, jptool.Errorf(jptool.CodeNotFound, "no\x1b[2J such file\nlook elsewhere")
		case "question":
			before := "a diff\x1b[2J\n"
			return jptool.Outcome{Questions: []jptool.Question{
				{ID: "one", Text: "First?", PreAmble: &before, AnswerType: jptool.AnswerType{Name: jptool.Boolean}},
				{ID: "two", Text: "Second?", PreAmble: &before, AnswerType: jptool.AnswerType{Name: jptool.Boolean}},
			}}, nil
		}
		return jptool.Outcome{Content: "one\x1b[2J\u202e\ntwo"}, nil
	}}
}

func TestTextForPeople(t *testing.T) {
	dir := jptooltest.TempRoot(t)
	for _, c := range []struct {
		name        string
		args        []string
		columns     int // of standard output
		live        bool
		exit        int
		out, errOut string
	}{
		{"a terminal", []string{"--path", "x"}, 80, true, 0, "one\\x1b[2J\\u202e\ntwo\n", ""},
		{"text in a file is exact", []string{"--path", "x", "--format", "text"}, 0, true, 0, "one\x1b[2J\u202e\ntwo\n", ""},
		{"JSON at a terminal", []string{"--path", "x", "--format=json"}, 80, true, 0, `{"type":"success",`, ""},
		{"JSON elsewhere says that there was no Context", []string{"--path", "x", "--format", "json"}, 0, true, 0, `"notes":["no Context was given: `, ""},
		{"a host that hands down its terminal", []string{"--path", "x"}, 0, true, 2, `"message":"standard input is a terminal, so no Context will come, and standard output is none`, ""},
		{"an error", []string{"--path", "error"}, 80, true, 1, "", "demo: no\\x1b[2J such file\nlook elsewhere\n"},
		{"a question", []string{"--path", "question"}, 80, true, 3, "", "demo: nothing was done yet; the tool asks:\na diff\\x1b[2J\nFirst?\n  to say yes: --answer one=true\nSecond?\n  to say yes: --answer two=true\n"},
		{"a missing argument", []string{"--output", "files"}, 80, true, 2, "", "demo: argument `path` of demo is missing"},
		{"nothing at all", nil, 80, true, 2, "", "demo: there are no arguments. At a terminal, call it with flags"},
		{"an unknown flag", []string{"--pth", "x"}, 80, true, 2, "", "did you mean"},
	} {
		var out, errOut bytes.Buffer
		code := Run(t.Context(), talker(t), Streams{
			Stdin: failingReader{}, Stdout: &out, Stderr: &errOut, Args: c.args, Dir: dir, Columns: c.columns, StderrTerminal: c.live,
		})
		if code != c.exit || !strings.Contains(out.String(), c.out) || !strings.Contains(errOut.String(), c.errOut) {
			t.Errorf("%s: exit %d, want %d\n%q want %q\n%q want %q", c.name, code, c.exit, out.String(), c.out, errOut.String(), c.errOut)
		}
		if c.out == "" && out.Len() > 0 || c.errOut == "" && errOut.Len() > 0 {
			t.Errorf("%s: also %q %q", c.name, out.String(), errOut.String())
		}
	}
}

// A Context that is missing in a pipe is never replaced by the working directory.
func TestMissingContextInAPipeIsAnError(t *testing.T) {
	var out, errOut bytes.Buffer
	code := Run(t.Context(), talker(t), Streams{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errOut, Args: []string{"--path", "x"}})
	if code != ExitBadRequest || !strings.Contains(out.String(), "standard input is empty") {
		t.Errorf("exit %d, %s", code, out.String())
	}
}

func TestProgressIsErased(t *testing.T) {
	defer func(a, b time.Duration) { patience, pause = a, b }(patience, pause)
	patience, pause = time.Millisecond, time.Millisecond
	tool := talker(t)
	tool.Run = func(_ context.Context, c *Call, _ *testArgs, _ *testOptions) (jptool.Outcome, error) {
		c.Progress.Of("files searched")
		c.Progress.Add(12)
		time.Sleep(50 * time.Millisecond)
		return jptool.Outcome{Content: "done"}, nil
	}
	var out, errOut bytes.Buffer
	s := Streams{Stdout: &out, Stderr: &errOut, Args: []string{"--path", "x"}, Dir: jptooltest.TempRoot(t), Columns: 80, StderrTerminal: true, Live: true}
	if code := Run(t.Context(), tool, s); code != 0 || out.String() != "done\n" {
		t.Fatalf("exit %d, %q", code, out.String())
	}
	if text := errOut.String(); !strings.Contains(text, "\r\x1b[Kdemo: 12 files searched, 0 s") || !strings.HasSuffix(text, "\r\x1b[K") {
		t.Errorf("shown is %q", text)
	}
	errOut.Reset()
	s.Live = false
	if Run(t.Context(), tool, s); errOut.Len() > 0 {
		t.Errorf("without a terminal %q is shown", errOut.String())
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nü€ c":      "a\tb\nü€ c",
		"\x1b[31mred\r\n": `\x1b[31mred\r` + "\n",
		"\u202egnp":       `\u202egnp`,
		"a\x00b":          `a\x00b`,
	} {
		if got := Plain(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
