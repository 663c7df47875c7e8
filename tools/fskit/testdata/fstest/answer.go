package fstest

import (
	"encoding/json"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jptools/jptools/jptool"
)

// Answer is a decoded Outcome.
type Answer struct {
	Type      string
	Content   string
	Message   string
	Code      jptool.Code
	Transient bool
	Data      map[string]any
	Question  *Question
	Questions []Question
}

// Question is a decoded question.
type Question struct {
	ID, Text, Token string
	PreAmble        *string `json:"pre_amble"`
	Default         any
}

// question returns the one with this id, or nil.
func (a *Answer) question(id string) *Question {
	if len(a.Questions) == 0 && a.Question != nil {
		a.Questions = []Question{*a.Question}
	}
	for i := range a.Questions {
		if a.Questions[i].ID == id {
			return &a.Questions[i]
		}
	}
	return nil
}

// last returns the answer of the last call, and fails when it is not one line of JSON or
// names the workspace by its absolute path.
func last(ts *testscript.TestScript) Answer {
	var a Answer
	out := ts.ReadFile("stdout")
	if err := json.Unmarshal([]byte(out), &a); err != nil || strings.Count(out, "\n") != 1 {
		ts.Fatalf("stdout is not one line of JSON: %q (%v)", out, err)
	}
	if text := out + ts.ReadFile("stderr"); strings.Contains(text, ts.Getenv("ROOT")) {
		ts.Fatalf("the answer names an absolute path: %s", text)
	}
	return a
}

func content(ts *testscript.TestScript, neg bool, args []string) {
	chomp := len(args) > 0 && args[0] == "-n"
	if chomp {
		args = args[1:]
	}
	check(ts, neg, args, 1, 1)
	a, want := last(ts), ts.ReadFile(args[0])
	if chomp {
		want = strings.TrimSuffix(want, "\n")
	}
	if a.Type != "success" || a.Content != want {
		ts.Fatalf("got %s %s\n%s\nwant\n%s", a.Type, a.Message, a.Content, want)
	}
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, false, args, 1, 1)
	a := last(ts)
	if a.Type != "success" || strings.Contains(a.Content, args[0]) == neg {
		ts.Fatalf("got %s %s\n%s", a.Type, a.Message, a.Content)
	}
}

func data(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 2, 2)
	a := last(ts)
	var got any = a.Data
	for key := range strings.SplitSeq(args[0], ".") {
		m, _ := got.(map[string]any)
		got = m[key]
	}
	if want := args[1]; a.Type != "success" || !sameJSON(ts, got, want) {
		ts.Fatalf("got %v, want %s in %+v", got, want, a)
	}
}

func fails(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 2, 2)
	a := last(ts)
	if a.Type != "error" || string(a.Code) != args[0] || !strings.Contains(a.Message, args[1]) || a.Transient {
		ts.Fatalf("got %+v", a)
	}
}

// asks wants a question with this id among those that the tool asks, and a token of every one: without one, a yes would be for any change.
func asks(ts *testscript.TestScript, neg bool, args []string) {
	check(ts, neg, args, 1, 3)
	text, def := "", "false"
	if len(args) > 1 {
		text = args[1]
	}
	if len(args) > 2 {
		def = args[2]
	}
	a := last(ts)
	q := a.question(args[0])
	if a.Type != "needs_input" || q == nil || !strings.Contains(q.Text, text) || q.Token == "" {
		ts.Fatalf("got %+v %+v", a, q)
	}
	if !sameJSON(ts, q.Default, def) {
		ts.Fatalf("the default is %v, want %s", q.Default, def)
	}
	ts.Setenv("TOKEN", q.Token)
}

func sameJSON(ts *testscript.TestScript, got any, wantJSON string) bool {
	var want any
	ts.Check(json.Unmarshal([]byte(wantJSON), &want))
	x, err := json.Marshal(got)
	ts.Check(err)
	y, err := json.Marshal(want)
	ts.Check(err)
	return string(x) == string(y)
}

// check fails for ! where it has no meaning, which would else pass unnoticed, and for a
// wrong number of arguments.
func check(ts *testscript.TestScript, neg bool, args []string, least, most int) {
	if neg {
		ts.Fatalf("this command has no negation")
	}
	if len(args) < least || len(args) > most {
		ts.Fatalf("%d arguments: %q", len(args), args)
	}
}
