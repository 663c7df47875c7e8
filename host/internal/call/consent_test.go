package call

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/term"
)

func TestRunModes(t *testing.T) {
	for _, c := range []struct {
		mode    string
		answers []string // nil: nobody is there
		want    string
	}{
		{"ask", nil, "refused run_mode"},
		{"ask", []string{"y"}, "run"},
		{"ask", []string{"n"}, "refused declined"},
		{"ask", []string{"cancel"}, "refused declined"},
		{"unattended", nil, "run"},
		{"unattended", []string{}, "run"},
		{"skip", []string{}, "refused run_mode"},
		{"edit", nil, "refused run_mode"},
		{"edit", []string{`{"x":"edited"}`, "y"}, "run"},
		{"edit", []string{`{"y":1}`, `{"x":"second"}`, "y"}, "run"},
		{"edit", []string{`{"x":"edited"}`, "n"}, "refused declined"},
		{"edit", []string{`{"x":"1"}`, "cancel"}, "refused declined"},
		{"edit", []string{`{"y":1}`, `{`, `[]`}, "failed"},
		{"edit", []string{" \n"}, "refused declined"},
		{"edit", []string{"cancel"}, "refused declined"},
	} {
		w := newWorld(t, one("echo", nil, `run = "`+c.mode+`"`, `parameters.x.type = "string"`))
		if c.answers != nil {
			w.says(c.answers...)
		}
		r := w.run(`{"x":"1"}`)
		if got := content(r); got != c.want {
			t.Errorf("%s %q: %s: %v", c.mode, c.answers, got, w.lastErr)
		}
		if c.want != "run" {
			if r.Starts != 0 || r.Status == exit.OK {
				t.Errorf("%s %q: it ran, status %d", c.mode, c.answers, r.Status)
			}
			continue
		}
		if c.mode == "edit" && !strings.Contains(string(r.Outcome.Data), strings.TrimSuffix(strings.TrimPrefix(c.answers[len(c.answers)-2], "{"), "}")) {
			t.Errorf("the tool got %s", r.Outcome.Data)
		}
	}
	// The message without a terminal names what allows it, and that works.
	w := newWorld(t, one("echo", nil))
	w.run("")
	if text := w.lastErr.Error(); !strings.Contains(text, "--cfg conversation.tools.t.run=unattended") {
		t.Error(text)
	}
	w.cfg = []string{"conversation.tools.t.run=unattended"}
	if got := content(w.run("")); got != "run" {
		t.Error(got)
	}
}

// Who is asked sees what a call does by default, with its values; long ones stand among the arguments.
func TestDefaultsAreShown(t *testing.T) {
	long := strings.Repeat("x", 50)
	w := newWorld(t, one("echo", nil, `run = "ask"`, `parameters.all = { type = "boolean", default = true }`,
		`parameters.n = { type = "integer", default = 3 }`, `parameters.long = { type = "string", default = "`+long+`" }`))
	p := w.says("y")
	w.run(`{"n":4}`)
	if want := "It also gets (by default: all = true):\n{\n  \"long\": \"" + long + "\",\n  \"n\": 4\n}\n"; len(p.asked) != 1 || !strings.Contains(p.asked[0], want) {
		t.Errorf("asked %q, want one that has %q", p.asked, want)
	}
}

// An argument is shown among the arguments, unless the command line has all of it: a word that stays a placeholder has none.
func TestAllArgumentsAreShown(t *testing.T) {
	w := newWorld(t, one("text", []string{"0", "x={{tool.arguments.x}} {{tool.options}}", "{{tool.arguments.y}}", "{{tool.arguments.z.0}}"}, `run = "ask"`,
		`parameters.x = { type = "string" }`, `parameters.y = { type = "string" }`,
		`parameters.z = { type = "array", items = { type = "string" } }`))
	p := w.says("y")
	w.run(`{"x":"secret x","y":"plain y","z":["first","second"]}`)
	if len(p.asked) != 1 || !strings.Contains(p.asked[0], `"x": "secret x"`) || !strings.Contains(p.asked[0], "second") {
		t.Errorf("%q", p.asked)
	}
}

func TestResultModes(t *testing.T) {
	for _, c := range []struct {
		mode    string
		answers []string
		want    string
	}{
		{"unattended", nil, "run"},
		{"ask", nil, "refused result_mode"},
		{"ask", []string{"y"}, "run"},
		{"ask", []string{"n"}, "refused result_mode"},
		{"ask", []string{"cancel"}, "refused result_mode"},
		{"skip", []string{}, "refused result_mode"},
		{"edit", []string{"less", "y"}, "less"},
		{"edit", []string{"less", "n"}, "refused result_mode"},
		{"edit", []string{"run", "cancel"}, "refused result_mode"},
		{"edit", nil, "refused result_mode"},
	} {
		w := newWorld(t, one("echo", nil, unattended, `result = "`+c.mode+`"`))
		if c.answers != nil {
			w.says(c.answers...)
		}
		r := w.run("")
		if got := content(r); got != c.want {
			t.Errorf("%s %q: %s", c.mode, c.answers, got)
		}
		if c.want != "run" && r.Outcome.Data != nil {
			t.Errorf("%s %q: the data got through: %s", c.mode, c.answers, r.Outcome.Data)
		}
	}
}

// What is kept back is all of what the tool said, whatever its outcome; what is handed on was shown
// in full.
func TestResultModesHoldEveryWord(t *testing.T) {
	const secret = "TOPSECRET"
	question := func(kind, rest string) []string {
		return []string{`{"type":"needs_input","question":{"id":"` + secret + `","text":"` + secret + `?","answer_type":` + kind + rest + `}}`}
	}
	for _, c := range []struct {
		name, config string
		change       func(*Request)
	}{
		{"data", one("print", []string{`{"type":"success","content":"c","data":{"x":"` + secret + `"}}`}), nil},
		{"error", one("print", []string{`{"type":"error","message":"` + secret + `","trace":["` + secret + `"],"transient":false,"code":"` + secret + `","data":"` + secret + `"}`}), nil},
		{"plain", one("text", []string{"0", secret}), nil},
		{"plain failure", one("text", []string{"3", secret}), nil},
		{"broken", one("print", []string{`{"type":"success","content":"` + secret}), nil},
		{"mentioned", one("text", []string{"0", secret + "/.env"}), nil},
		{"preview", one("print", []string{secret}), preview},
		{"question", one("print", question(`"Boolean"`, `,"default":true`)), nil},
		{"options", one("print", question(`{"Select":{"options":["`+secret+`"]}}`, "")), answers(secret + "=green")},
		{"asked again and again", one("print", question(`"Boolean"`, "")), answers(secret + "=true")},
		{"too much", one("print", []string{strings.Repeat(secret, 100)}, "limits.output = 99"), nil},
		{"not in time", one("complain", []string{secret}, `limits.time = "300ms"`), nil},
	} {
		for _, mode := range []string{"skip", "ask", "edit"} {
			w := newWorld(t, c.config+unattended+"\nformat = \"unattended\"\nresult = \""+mode+"\"\n")
			change := func(*Request) {}
			if c.change != nil {
				change = c.change
			}
			r := w.run("", change)
			data, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(data), secret) || strings.Contains(w.lastErr.Error(), secret) || r.Starts == 0 {
				t.Errorf("%s, %s: started %d times:\n%s\n%v", c.name, mode, r.Starts, data, w.lastErr)
			}
			if mode != "ask" || r.Outcome.Type != "refused" || c.change != nil {
				continue
			}
			// The person is shown everything that then is handed on.
			says := []string{"y"}
			if c.name == "question" {
				says = []string{"cancel", "y"}
			}
			p := w.says(says...)
			w.run("", change)
			if asked := p.asked[len(p.asked)-1]; !strings.Contains(asked, "Hand on the result of t?") || !strings.Contains(asked, secret) && c.name != "mentioned" {
				t.Errorf("%s: shown was:\n%s", c.name, asked)
			}
		}
	}
	// An edited error is handed on as it was edited, and nothing else of it.
	w := newWorld(t, one("fail", []string{"not_found"}, unattended, `result = "edit"`))
	w.says("it is not there", "y")
	if r := w.run(""); content(r) != "error" || r.Outcome.Message != "it is not there" || w.lastErr.Error() != "t: it is not there" {
		t.Errorf("%+v %v", r.Outcome, w.lastErr)
	}
	// What is too long to be shown is not handed on unseen.
	w = newWorld(t, one("much", []string{"LONG and LONG LONG"}, unattended, `result = "ask"`))
	w.says()
	if r := w.run(""); content(r) != "refused result_mode" || !strings.Contains(w.lastErr.Error(), "result=edit") {
		t.Errorf("%s %v", content(r), w.lastErr)
	}
}

// s is yes for the rest of the session, for these arguments of this tool under this policy, and can be forgotten.
func TestRemembered(t *testing.T) {
	w := newWorld(t, one("echo", nil, `parameters.x.type = "string"`))
	w.says("s")
	w.run("")
	w.nobody()
	if got := content(w.run(`{"x":"other"}`)); got != "refused run_mode" {
		t.Errorf("with other arguments: %s", got)
	}
	r := w.run("")
	if content(r) != "run" || !slices.Contains(r.Answers, Answered{On: OnRun, By: BySession}) {
		t.Errorf("%s %v", content(r), r.Answers)
	}
	// Another session, another policy, another command: asked again.
	w.session = "other"
	if got := content(w.run("")); got != "refused run_mode" {
		t.Errorf("in another session: %s", got)
	}
	w.session = "test"
	w.cfg = []string{`conversation.tools.t.access.env:=[{"name":"X","read":true}]`}
	if got := content(w.run("")); got != "refused run_mode" {
		t.Errorf("with another policy: %s", got)
	}
	w.cfg = []string{`conversation.tools.t.command:={"program":"/bin/echo"}`}
	if got := content(w.run("")); got != "refused run_mode" {
		t.Errorf("with another command: %s", got)
	}
	w.cfg = nil
	// A preview was not what was allowed.
	if got := content(w.run("", preview)); got != "refused run_mode" {
		t.Errorf("preview: %s", got)
	}
	m := w.host().Memory
	list, err := m.List()
	if err != nil || len(list) != 1 || list[0].Tool != "t" || list[0].On != OnRun || !list[0].Yes {
		t.Fatalf("%v %v", list, err)
	}
	if n, err := m.Forget(t.Context(), "other"); n != 0 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	if n, err := m.Forget(t.Context(), "t"); n != 1 || err != nil {
		t.Errorf("%d %v", n, err)
	}
	// A no is for one call, and its reason is for the model.
	w.says("n use tabs", "y")
	if got := content(w.run("")); got != "refused declined" || !strings.Contains(w.lastErr.Error(), "declined: use tabs") {
		t.Errorf("%s %v", got, w.lastErr)
	}
	w.run("")
	// A y is for one call; what cannot be read asks again.
	if _, err := m.Forget(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.says("y", "s", "y")
	w.run("")
	w.run("")
	if err := w.host().State.Write("remembered.json", []byte("broken")); err != nil {
		t.Fatal(err)
	}
	if got := content(w.run("")); got != "run" {
		t.Error(got)
	}
	if _, err := m.List(); err == nil {
		t.Error("a broken file is told nobody")
	}
}

// Nothing is remembered for ever, and what is too old goes away by itself.
func TestMemoryAges(t *testing.T) {
	w := newWorld(t, one("echo", nil))
	w.says("s")
	w.run("")
	dir := w.host().State
	data, err := dir.Read("remembered.json")
	if err != nil {
		t.Fatal(err)
	}
	year := time.Now().UTC().Format("2006")
	if err := dir.Write("remembered.json", bytes.ReplaceAll(data, []byte(`"at": "`+year), []byte(`"at": "2001`))); err != nil {
		t.Fatal(err)
	}
	w.says("n")
	if got := content(w.run("")); got != "refused declined" {
		t.Error(got)
	}
	if err := w.host().Memory.Remember(t.Context(), consent.Remembered{Tool: "other"}); err != nil {
		t.Fatal(err)
	}
	if data, err = dir.Read("remembered.json"); err != nil || bytes.Contains(data, []byte("2001")) || !bytes.Contains(data, []byte("other")) {
		t.Errorf("%s %v", data, err)
	}
}

func TestNothingIsRememberedWithoutASession(t *testing.T) {
	w := newWorld(t, one("ask", nil, `access.fs = [{ path = ".", read = true }, { path = ".env", read = true }]`))
	w.write(".env", "")
	w.session = ""
	for range 2 {
		p := w.says("y", "y", "y")
		if got := content(w.run("")); got != "go: true" {
			t.Error(got)
		}
		if strings.Contains(strings.Join(p.asked, ""), "session") {
			t.Errorf("a session is spoken of: %q", p.asked)
		}
	}
	if _, err := os.Stat(filepath.Join(w.host().State.Path(), "remembered.json")); err == nil {
		t.Error("something was written")
	}
}

// An editor that was closed is no consent: whoever opened one is shown what became of the arguments and what the
// call would do, and asked.
func TestEditingIsNoConsent(t *testing.T) {
	w := newWorld(t, one("bound", nil, `run = "edit"`, `format = "unattended"`, `parameters.path.type = "string"`))
	p := w.says(`{"path":"b.txt"}`, "n")
	if r := w.run(`{"path":"a.txt"}`); content(r) != "refused declined" || r.Starts != 1 {
		t.Errorf("%s, started %d times", content(r), r.Starts)
	}
	if asked := p.asked[1]; !strings.Contains(asked, `"path": "b.txt"`) || !strings.Contains(asked, "would find ") || !strings.HasSuffix(asked, "Let t run with b.txt?") {
		t.Errorf("asked was\n%s", asked)
	}
	// There is no yes for the session, which would leave nobody to look.
	for range 2 {
		w.says(`{"path":"a.txt"}`, "y")
		if r := w.run(`{"path":"a.txt"}`); content(r) != "did find " {
			t.Error(content(r))
		}
	}
}

// What was shown is what is done: the call is given the token of the preview that a person allowed, and a
// tool that finds something else asks a person again, and nobody else.
func TestACallIsBoundToItsPreview(t *testing.T) {
	const asks = `format = "unattended"`
	w := newWorld(t, one("bound", nil, asks))
	w.write("state", "one")
	w.says("y")
	if r := w.run(""); content(r) != "did find one" || r.Starts != 2 {
		t.Errorf("%s, started %d times", content(r), r.Starts)
	}
	// Somebody changes what the preview has seen, while the question stands.
	for _, c := range []struct {
		name   string
		config []string
		second string // the answer to the tool; "" when nobody is asked
		change func(*Request)
		want   string
		status exit.Code
	}{
		{"yes", nil, "y", nil, "did find two", exit.OK},
		{"no", nil, "n", nil, "error declined", exit.Refused},
		{"cancelled", nil, "cancel", nil, "needs_input", exit.Refused},
		{"an answer of the configuration", []string{`questions.preview.answer = true`}, "n", nil, "error declined", exit.Refused},
		{"the assistant", []string{`questions.preview.target = "assistant"`}, "n", nil, "error declined", exit.Refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, one("bound", nil, append(c.config, asks)...))
			w.write("state", "one")
			p := w.says("y", c.second)
			changing := &meanwhile{person: p, then: func() { w.write("state", "two") }}
			w.prompter = changing
			r := w.run("")
			if got := content(r); got != c.want || r.Status != c.status {
				t.Errorf("got %s, %d: %v", got, r.Status, w.lastErr)
			}
			if len(p.asked) != 2 || !strings.Contains(p.asked[0], "would find one") || !strings.Contains(p.asked[1], "would find two") || changing.remember {
				t.Errorf("asked %q", p.asked)
			}
		})
	}
	// Only a person answers it.
	w.says()
	if r := w.run("", answers("preview=true")); r.Status != exit.Usage || r.Starts != 0 {
		t.Errorf("%d %v", r.Status, w.lastErr)
	}
	w = newWorld(t, one("bound", []string{"always"}, unattended, `questions.preview.answer = true`))
	if r := w.run(""); content(r) != "needs_input" || r.Outcome.Question.Target != "user" || strings.Contains(w.lastErr.Error(), "--answer preview=") {
		t.Errorf("%+v %v", r.Outcome, w.lastErr)
	}
	// A yes for the session is bound to the preview as well.
	w = newWorld(t, one("bound", nil, asks))
	w.write("state", "one")
	w.says("s", "n")
	w.prompter = &meanwhile{person: w.prompter.(*person), then: func() { w.write("state", "two") }}
	if r := w.run(""); content(r) != "error declined" {
		t.Errorf("%s %v", content(r), w.lastErr)
	}
}

// meanwhile is a person who takes some time for the first answer.
type meanwhile struct {
	*person
	then     func()
	remember bool // a later question could be remembered
}

func (m *meanwhile) happens(remember bool) {
	m.remember = m.remember || m.then == nil && remember
	if m.then != nil {
		m.then()
		m.then = nil
	}
}

func (m *meanwhile) Bool(ctx context.Context, q term.BoolQuestion) (term.BoolAnswer, error) {
	m.happens(q.Remember)
	return m.person.Bool(ctx, q)
}

func (m *meanwhile) Permit(ctx context.Context, q term.PermitQuestion) (term.PermitAnswer, error) {
	m.happens(q.Session)
	return m.person.Permit(ctx, q)
}

// Whoever is shown with the question whether to run what the tool asks is not asked that again, as its token tells;
// about anything else they are.
func TestOneConsent(t *testing.T) {
	const would = "Would modify a.\n"
	for _, c := range []struct {
		name, preview, text, def, token, inPreview, format string
		answers                                            []string
		want                                               string
		starts                                             int
	}{
		{"the same", would, "Apply?", "true", "t", "t", "unattended", []string{"y"}, "applied: true", 2},
		{"a warning that expects no", would, "Apply?", "false", "t", "t", "unattended", []string{"y"}, "applied: true", 2},
		{"declined", would, "Apply?", "true", "t", "t", "unattended", []string{"n"}, "refused declined", 1},
		{"another change", would, "Apply?", "true", "t", "t0", "unattended", []string{"y", "n"}, "applied: false", 3},
		{"not bound", would, "Apply?", "true", "", "", "unattended", []string{"y", "n"}, "applied: false", 3},
		{"no preview", would, "Apply?", "true", "t", "t", "ask", []string{"y", "n"}, "applied: false", 2},
		// The terminal takes a yes only after a person has looked at all of it.
		{"too long to be shown", "LONG", "Apply?", "true", "t", "t", "unattended", []string{"y"}, "applied: true", 2},
		{"a question too long to be shown", would, "LONG", "true", "t", "t", "unattended", []string{"y"}, "applied: true", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, one("edit", []string{c.preview, c.text, c.def, c.token, c.inPreview}, `format = "`+c.format+`"`))
			p := w.says(c.answers...)
			r := w.run("")
			if got := content(r); got != c.want || r.Starts != c.starts {
				t.Errorf("got %s after %d starts, want %d: %v", got, r.Starts, c.starts, w.lastErr)
			}
			if shown := strings.Contains(p.asked[0], long(c.preview)); shown != (c.format == "unattended") {
				t.Errorf("the preview was shown: %v", shown)
			}
			covered := c.format == "unattended" && c.inPreview != ""
			if shown := strings.Contains(p.asked[0], "A yes also means yes to:\n"+long(c.text)); shown != covered {
				t.Errorf("the question was shown: %v", shown)
			}
		})
	}
	// Who else has to answer is asked, or has answered.
	const same = `format = "unattended"`
	edit := []string{would, "Apply?", "true", "t", "t"}
	for config, want := range map[string]string{
		`questions.apply.answer = false`:       "applied: false",
		`questions.apply.target = "assistant"`: "needs_input",
	} {
		w := newWorld(t, one("edit", edit, same, config))
		p := w.says("y")
		if r := w.run(""); content(r) != want || strings.Contains(p.asked[0], "A yes also means") {
			t.Errorf("%s: %s, asked %q", config, content(r), p.asked)
		}
	}
	w := newWorld(t, one("edit", edit, same))
	w.says("y")
	if r := w.run("", answers("apply=no")); content(r) != "applied: false" {
		t.Error(content(r))
	}
	w.says("y")
	if r := w.run(""); !slices.Contains(r.Answers, Answered{OnQuestion, "apply", ByPreview}) {
		t.Errorf("%+v", r.Answers)
	}
	// A yes that was remembered covers the questions that it was given to.
	w = newWorld(t, one("edit", edit, same))
	w.says("s")
	w.run("")
	w.says()
	if r := w.run(""); content(r) != "applied: true" || r.Starts != 2 {
		t.Errorf("%+v", r)
	}
	// Without a terminal nothing is started for a preview.
	w = newWorld(t, one("edit", edit, same))
	if r := w.run(""); r.Starts != 0 {
		t.Errorf("started %d times", r.Starts)
	}
	// A preview that fails ends the call; nobody is asked.
	w = newWorld(t, one("fail", []string{"access_denied"}, `format = "unattended"`))
	w.says()
	if r := w.run(""); content(r) != "error access_denied" || r.Status != exit.Refused {
		t.Errorf("%+v", r.Outcome)
	}
}

// What cannot be shown cannot be allowed unseen.
func TestArgumentsTooLongToShow(t *testing.T) {
	w := newWorld(t, one("echo", nil, `parameters.x.type = "string"`))
	args := `{"x":"` + strings.Repeat("x", 4<<20) + `"}`
	w.says()
	if r := w.run(args); content(r) != "refused run_mode" || !strings.Contains(w.lastErr.Error(), "--cfg conversation.tools.t.run=edit") {
		t.Errorf("%s %.200s", content(r), w.lastErr)
	}
	w.cfg = []string{"conversation.tools.t.run=edit"}
	w.says(args, "y")
	if r := w.run(args); content(r) != "run" {
		t.Error(content(r))
	}
}

// RFD 075, "Sensitive path protection". A program of which nobody knows what it will do is asked for before the call where
// a rule names a place of secrets. What a rule merely covers is withheld, and nobody is asked about it.
func TestSensitive(t *testing.T) {
	covers := `access.fs = [{ path = ".", read = true }]`
	reach := `access.fs = [{ path = ".", read = true }, { path = ".env", read = true }]`
	w := newWorld(t, one("echo", nil, unattended, covers))
	w.write(".env", "")
	if r := w.run(""); content(r) != "run" || len(r.Warnings) > 0 {
		t.Errorf("%s %v", content(r), r.Warnings)
	}
	// The user's own rule and unattended: a warning, once a session.
	w = newWorld(t, one("echo", nil, unattended, reach))
	w.write(".env", "")
	r := w.run("")
	if content(r) != "run" || !strings.Contains(strings.Join(r.Warnings, "\n"), ".env is a place of secrets") {
		t.Errorf("%s %v", content(r), r.Warnings)
	}
	if r := w.run(""); len(r.Warnings) > 0 {
		t.Errorf("told again: %v", r.Warnings)
	}
	// Not the user's own: asked, and refused without a terminal, with what allows it.
	w = newWorld(t, one("echo", nil, reach))
	w.write(".env", "")
	if got := content(w.run("")); got != "refused sensitive" {
		t.Error(got)
	}
	text := w.lastErr.Error()
	for _, want := range []string{".env is a place of secrets (**/.env)", "--allow-sensitive", `run = "unattended"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	// What the message names works.
	w.cfg = []string{"conversation.tools.t.run=unattended"}
	if got := content(w.run("")); got != "run" {
		t.Error(got)
	}
	w.cfg = nil
	if got := content(w.run("", func(c *Request) { c.AllowSensitive = true })); got != "refused run_mode" {
		t.Error(got)
	}
	// So does withholding it again.
	w.cfg = []string{"conversation.tools.t.access.deny=.env"}
	if got := content(w.run("")); got != "refused run_mode" {
		t.Errorf("withheld: %s", got)
	}
	w.cfg = nil
	// A person's answer holds for the session, whichever it is.
	w.says("y", "y")
	if got := content(w.run("")); got != "run" {
		t.Error(got)
	}
	w.says("n")
	if got := content(w.run("")); got != "refused declined" {
		t.Error(got)
	}
	w.session = "other"
	w.says("n")
	if got := content(w.run("")); got != "refused sensitive" {
		t.Error(got)
	}
	w.says()
	if got := content(w.run("")); got != "refused sensitive" || !strings.Contains(w.lastErr.Error(), "jphost session forget t") {
		t.Errorf("%s %v", got, w.lastErr)
	}
	// Another place: only that is asked about.
	w.session = "test"
	w.write(".env.local", "")
	w.userConfig = strings.Replace(w.userConfig, `{ path = ".env", read = true }`, `{ path = ".env", read = true }, { path = ".env.local", read = true }`, 1)
	p := w.says("n")
	if got := content(w.run("")); got != "refused sensitive" || len(p.asked) != 1 || !strings.Contains(p.asked[0], ".env.local") {
		t.Errorf("%s %q", got, p.asked)
	}
	// A preview reaches them as well as a run.
	w.session = "third"
	w.nobody()
	if got := content(w.run("", preview)); got != "refused sensitive" {
		t.Error(got)
	}
	// A repository that names a place of secrets names it for nobody: a person is asked all the same.
	w = newWorld(t, one("echo", nil))
	w.write(".env", "")
	w.write(".jp/config.toml", "[conversation.tools.t]\n"+reach+"\n")
	if got := content(w.run("")); got != "refused sensitive" {
		t.Errorf("%s %v", got, w.lastErr)
	}
	// What the repository lets run unattended is not the user's own word, nor is what is built in.
	w = newWorld(t, strings.Replace(one("echo", nil, reach), "tools.t]", "tools.u]", 1))
	w.repo = one("echo", nil, unattended, reach)
	w.write(".env", "")
	w.repo = strings.ReplaceAll(w.repo, "TOOL", "echo")
	w.says("y", "n")
	if got := content(w.run("")); got != "refused sensitive" {
		t.Error(got)
	}
}
