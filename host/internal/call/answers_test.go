package call

import (
	"slices"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/exit"
)

func TestAnswers(t *testing.T) {
	for _, c := range []struct {
		name, config string
		given        []string
		person       []string // nil: nobody is there
		want         string
		status       exit.Code
		message      string
	}{
		{"nobody", one("ask", nil, unattended), nil, nil, "needs_input", exit.Refused, "--answer go=true"},
		{"yes", one("ask", nil, unattended), nil, []string{"y"}, "go: true", exit.OK, ""},
		{"no", one("ask", nil, unattended), nil, []string{"n"}, "go: false", exit.OK, ""},
		{"cancelled", one("ask", nil, unattended), nil, []string{"cancel"}, "needs_input", exit.Refused, "not answered"},
		{"given", one("ask", nil, unattended), []string{"go=yes"}, []string{}, "go: true", exit.OK, ""},
		{"given wrongly", one("ask", nil, unattended), []string{"go=perhaps"}, []string{}, "needs_input", exit.Usage, "true or false"},
		{"with a wrong token", one("ask", nil, unattended), []string{"go=yes", "go.token=x"}, []string{}, "needs_input", exit.Refused, "no longer what the token stands for"},
		{"of the configuration", one("ask", nil, unattended, `questions.go.answer = false`), nil, []string{}, "go: false", exit.OK, ""},
		{"of a wrong type", one("ask", nil, unattended, `questions.go.answer = "no"`), nil, []string{}, "needs_input", exit.Usage, "questions.go.answer"},
		{"given beats configured", one("ask", nil, unattended, `questions.go.answer = false`), []string{"go=y"}, []string{}, "go: true", exit.OK, ""},
		{"for the assistant", one("ask", nil, unattended, `questions.go.target = "assistant"`), nil, []string{}, "needs_input", exit.Refused, "asks the assistant: Go on?"},
		{"for the assistant, answered", one("ask", nil, unattended, `questions.go.target = "assistant"`), []string{"go=no"}, []string{}, "go: false", exit.OK, ""},
		{"for the assistant, fixed", one("ask", nil, unattended, `questions.go = { target = "assistant", answer = true }`), nil, []string{}, "go: true", exit.OK, ""},
		{"choice", one("select", nil, unattended), nil, []string{"1"}, "blue", exit.OK, ""},
		{"choice given", one("select", nil, unattended), []string{"what=red"}, nil, "red", exit.OK, ""},
		{"no such choice", one("select", nil, unattended), []string{"what=green"}, nil, "needs_input", exit.Usage, "one of red, blue"},
		{"text", one("line", nil, unattended), nil, []string{"this"}, "this", exit.OK, ""},
		{"text, nobody", one("line", nil, unattended), nil, nil, "needs_input", exit.Refused, "--answer what=TEXT"},
		{"never content", one("again", nil, unattended), nil, slices.Repeat([]string{"y"}, maxRounds), "failed", exit.Refused, "16 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.config)
			w.write("state", "1")
			if c.person != nil {
				w.says(c.person...)
			}
			r := w.run("", answers(c.given...))
			if got := content(r); got != c.want || r.Status != c.status {
				t.Errorf("%s, status %d: %v", got, r.Status, w.lastErr)
			}
			if c.message != "" && (w.lastErr == nil || !strings.Contains(w.lastErr.Error(), c.message)) {
				t.Errorf("%v", w.lastErr)
			}
			if c.want == "needs_input" && (r.Outcome.Question == nil || r.Outcome.Question.Token == "") {
				t.Errorf("the question cannot be answered: %+v", r.Outcome)
			}
		})
	}
}

// An answer that is bound to a token holds for what was shown, also where the tool has no
// tokens of its own.
func TestTokens(t *testing.T) {
	for name, config := range map[string]string{
		"of the tool": one("ask", nil, unattended),
		"of the host": one("ask", []string{"no token"}, unattended),
	} {
		w := newWorld(t, config+"parameters.x.type = \"string\"\n")
		w.write("state", "1")
		q := w.run("").Outcome.Question
		if q == nil || q.Target != "user" || !strings.HasPrefix(q.Token, "host:") {
			t.Fatalf("%s: %+v", name, q)
		}
		bound := answers("go=yes", "go.token="+q.Token)
		if r := w.run("", bound); content(r) != "go: true" || len(r.Warnings) > 1 {
			t.Errorf("%s: %s %v", name, content(r), r.Warnings)
		}
		w.write("state", "2")
		r := w.run("", bound)
		if want := map[string]string{"of the tool": "needs_input", "of the host": "go: true"}[name]; content(r) != want {
			t.Errorf("%s: after a change: %s", name, content(r))
		}
	}
	// It is for this workspace and conversation, for these words, and for a call with these arguments.
	a, b := newWorld(t, one("ask", nil, unattended)), newWorld(t, one("ask", nil, unattended))
	token := answers("go=yes", "go.token="+a.run("").Outcome.Question.Token)
	if r := b.run("", token); content(r) != "needs_input" || r.Status != exit.Refused {
		t.Errorf("in another workspace: %s", content(r))
	}
	a.talk = "other"
	if r := a.run("", token); content(r) != "needs_input" || r.Status != exit.Refused {
		t.Errorf("in another conversation: %s", content(r))
	}
	a.talk = "default"
	if r := a.run("", token); content(r) != "go: true" {
		t.Error(content(r))
	}
	x := newWorld(t, one("ask", []string{"no token"}, unattended, `parameters.x.type = "string"`))
	bound := answers("go=yes", "go.token="+x.run(`{"x":"1"}`).Outcome.Question.Token)
	if r := x.run(`{"x":"1"}`, bound); content(r) != "go: true" {
		t.Error(content(r))
	}
	if r := x.run(`{"x":"2"}`, bound); content(r) != "needs_input" || r.Status != exit.Refused {
		t.Error(content(r))
	}
	w := newWorld(t, one("select", nil, unattended))
	what := w.run("").Outcome.Question.Token
	if r := w.run("", answers("what=red", "what.token="+what)); content(r) != "red" {
		t.Error(content(r))
	}
	w.userConfig = one("line", nil, unattended)
	if r := w.run("", answers("what=red", "what.token="+what)); content(r) != "needs_input" {
		t.Error(content(r))
	}
}

// A tool that asks several questions together is started again once, with all answers.
func TestRounds(t *testing.T) {
	const all = `{"a":true,"a.token":"of a","b":true,"b.token":"of b","c":"text","c.token":"of c"}`
	for _, c := range []struct {
		name          string
		config, given []string
		person        []string // nil: nobody is there
		want          string
		starts        int
		open          string // the ids in the report
	}{
		{"a person", nil, nil, []string{"y", "y", "text"}, all, 2, ""},
		{"a no ends the questions", nil, nil, []string{"n", "y", "text"}, strings.Replace(all, "true", "false", 1), 3, ""},
		{"given", nil, []string{"a=y", "b=y", "c=text"}, nil, all, 2, ""},
		{"from everywhere", []string{`questions.a.answer = true`}, []string{"c=text"}, []string{"y"}, all, 2, ""},
		{"nobody", nil, nil, nil, "needs_input", 1, "a b c"},
		{"nobody for the rest", nil, []string{"b=y"}, nil, "needs_input", 1, "a c"},
		{"cancelled", nil, []string{"a=y"}, []string{"y", "cancel"}, "needs_input", 1, "b c"},
		{"the assistant", []string{`questions.b.target = "assistant"`}, []string{"c=text"}, []string{}, "needs_input", 1, "b a"},
		{"one is wrong", nil, []string{"b=perhaps"}, []string{}, "needs_input", 1, "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, one("several", []string{"a", "b", "c?"}, append(c.config, unattended)...))
			var p *person
			if c.person != nil {
				p = w.says(c.person...)
			}
			r := w.run("", answers(c.given...))
			if got := content(r); got != c.want || r.Starts != c.starts {
				t.Errorf("%s after %d starts, want %s after %d: %v", got, r.Starts, c.want, c.starts, w.lastErr)
			}
			var open []string
			for _, q := range r.Outcome.asked() {
				open = append(open, q.ID)
			}
			if got := strings.Join(open, " "); got != c.open {
				t.Errorf("open are %s, want %s", got, c.open)
			}
			if p != nil && len(p.asked) > 1 && strings.Count(strings.Join(p.asked, ""), "The diff.") != max(1, c.starts-1) {
				t.Errorf("the diff is shown again and again: %q", p.asked)
			}
		})
	}
	// The message has all that is needed for the next call.
	w := newWorld(t, one("several", []string{"a", "b"}, unattended))
	open := w.run("").Outcome.Questions
	text := w.lastErr.Error()
	for _, want := range []string{
		"t asks:\nAbout a\nAbout b\n", "answer them with: --answer a=true --answer b=true (or false)\n",
		"--answer a.token=" + open[0].Token + " --answer b.token=" + open[1].Token,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if r := w.run("", answers("a=true", "b=true", "a.token="+open[0].Token, "b.token="+open[1].Token)); r.Outcome.Type != "success" || r.Starts != 2 {
		t.Errorf("%+v", r)
	}
}

// A question for the assistant says so, with the settings of that one.
func TestAssistant(t *testing.T) {
	w := newWorld(t, one("ask", nil, unattended, `questions.go.target = { model = "small" }`))
	w.says() // somebody is there, and is not asked
	r := w.run("")
	q := r.Outcome.Question
	if q == nil || q.Target != "assistant" || q.Assistant["model"] != "small" || q.Token == "" {
		t.Errorf("%+v", q)
	}
	if !strings.Contains(w.lastErr.Error(), "--answer go.token="+q.Token) {
		t.Error(w.lastErr)
	}
}

// A yes to a question of the tool for the session is for that question: these words, and what it is about.
func TestRememberedQuestions(t *testing.T) {
	w := newWorld(t, one("ask", nil, unattended))
	w.write("state", "1")
	w.says("s")
	w.run("")
	w.nobody()
	r := w.run("")
	if content(r) != "go: true" || !slices.Contains(r.Answers, Answered{OnQuestion, "go", BySession}) {
		t.Errorf("%s %v", content(r), r.Answers)
	}
	w.write("state", "2")
	if got := content(w.run("")); got != "needs_input" {
		t.Errorf("about something else: %s", got)
	}
	w.write("state", "1")
	w.write("words", "Delete all?")
	if got := content(w.run("")); got != "needs_input" {
		t.Errorf("in other words: %s", got)
	}
	// An answer given with the call comes first; the assistant's questions are not the person's.
	if got := content(w.run("", answers("go=no"))); got != "go: false" {
		t.Error(got)
	}
	w.cfg = []string{"conversation.tools.t.questions.go.target=assistant"}
	if got := content(w.run("")); got != "needs_input" {
		t.Error(got)
	}
	// A tool that asks again for all that is told so.
	w = newWorld(t, one("ask", []string{"no token"}, unattended))
	w.says("N")
	if got := content(w.run("")); got != "go: false" {
		t.Error(got)
	}
}

// Answers that nobody asked for are said.
func TestUnusedAnswers(t *testing.T) {
	w := newWorld(t, one("ask", nil, unattended))
	r := w.run("", answers("go=y", "stop=y", "other.token=1"))
	text := strings.Join(r.Warnings, "\n")
	if content(r) != "go: true" || !strings.Contains(text, "--answer stop was not used") || !strings.Contains(text, "--answer other.token was not used") || strings.Contains(text, "--answer go was") {
		t.Errorf("%s\n%s", content(r), text)
	}
	// Where the question stays open one of them may have been meant for it.
	if text := strings.Join(w.run("", answers("og=y")).Warnings, "\n"); !strings.Contains(text, "--answer og was not used") {
		t.Errorf("an open question: %s", text)
	}
}
