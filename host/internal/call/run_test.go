package call

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/show"
)

const unattended = `run = "unattended"`

func TestArguments(t *testing.T) {
	w := newWorld(t, one("echo", nil, unattended)+`
[conversation.tools.t.parameters]
path = { type = "string", required = true }
count = { type = "integer", default = 3 }
mode = { type = "string", enum = ["a", "b"] }
`)
	for _, c := range []struct{ args, want, message string }{
		{`{"path":"x"}`, "run", ""},
		{`{"path":"x","count":"4"}`, "run", ""},
		{`{}`, "failed invalid_arguments", "`path`"},
		{`{"path":3}`, "failed invalid_arguments", "must be a string"},
		{`{"path":"x","mode":"c"}`, "failed invalid_arguments", "`mode`"},
		{`{"path":"x","more":1}`, "failed invalid_arguments", "`more`: is unknown"},
		{`[]`, "failed invalid_arguments", ""},
		{`{"path":"x","path":"y"}`, "failed invalid_arguments", ""},
		{`{"path"`, "failed invalid_arguments", ""},
	} {
		r := w.run(c.args)
		if got := content(r); got != c.want || !strings.Contains(r.Outcome.Message, c.message) {
			t.Errorf("%s: %s: %s", c.args, got, r.Outcome.Message)
		}
		if c.want != "run" && (r.Starts != 0 || r.Status != exit.Usage) {
			t.Errorf("%s: started %d times, status %d", c.args, r.Starts, r.Status)
		}
	}
	var got received
	if err := json.Unmarshal(w.run(`{"path":"x","count":"4"}`).Outcome.Data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Tool.Arguments["count"] != 4.0 || got.Context.Root != filepath.ToSlash(w.root) {
		t.Errorf("the tool got %v", got)
	}
}

// Outcomes of the tool and how they are reported.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, config, want string
		status             exit.Code
	}{
		{"plain text", one("text", []string{"0", "x"}, unattended), "some text\n", exit.OK},
		{"plain failure", one("text", []string{"3", "x"}, unattended), "error", exit.Refused},
		{"error", one("fail", []string{"not_found"}, unattended), "error not_found", exit.Refused},
		{"bad request", one("fail", []string{"invalid_request"}, unattended), "error invalid_request", exit.Usage},
		{"half an outcome", one("print", []string{`{"type":"success"`}, unattended), "error", exit.Refused},
		{"success", one("print", []string{`{"type":"success","content":"c"}`}, unattended), "c", exit.OK},
		{"something after it", one("print", []string{`{"type":"success","content":"c"} x`}, unattended), "error", exit.Refused},
		{"no program", strings.Replace(one("echo", nil, unattended), "TOOL", "TOOL-absent", 1), "failed", exit.Host},
		{"time limit", one("sleep", nil, unattended, `limits.time = "300ms"`), "failed", exit.Refused},
		{"flood", one("print", []string{strings.Repeat("x", 200)}, unattended, "limits.output = 100"), "failed", exit.Refused},
		{"off", one("echo", nil, unattended, `enable = false`), "refused run_mode", exit.Refused},
		{"placeholders", one("words", []string{"{{tool.arguments.x}}"}, unattended, `parameters.x.type = "string"`), "0 [a  b]\n", exit.OK},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.config)
			args := ""
			if c.name == "placeholders" {
				args = `{"x":"a  b"}`
			}
			r := w.run(args)
			if got := content(r); got != c.want || r.Status != c.status {
				t.Errorf("got %q with status %d: %v", got, r.Status, w.lastErr)
			}
			if c.name == "no program" && r.Starts != 0 {
				t.Errorf("started %d times", r.Starts)
			}
			if c.status != exit.OK && r.Outcome.Message == "" {
				t.Error("the outcome has no message")
			}
		})
	}
	// Held changes stop whoever could write.
	w := newWorld(t, one("echo", nil, unattended))
	dir := w.host().State
	if err := dir.Write("holds.json", []byte(`{"holds":[{"path":".git/config","reason":"changed","held_at":"2026-01-01T00:00:00Z"}]}`)); err != nil {
		t.Fatal(err)
	}
	if got := content(w.run("")); got != "refused held" {
		t.Error(got)
	}
	w.cfg = []string{`conversation.tools.t.needs.fs:=["read"]`}
	if got := content(w.run("")); got != "run" {
		t.Error(got)
	}
}

// What a repository asks for one tool stops that tool; what it asks for all stops all.
func TestUntrustedSettingsStopTheToolThatTheyConcern(t *testing.T) {
	w := newWorld(t, one("echo", nil, unattended))
	w.repo = "[conversation.tools.other]\nsource = \"local\"\ncommand = \"sh script.sh\"\n"
	w.write("script.sh", "one")
	if got := content(w.run("")); got != "run" {
		t.Errorf("%s: %v", got, w.lastErr)
	}
	w.tool = "other"
	if got := content(w.run("")); got != "refused untrusted" {
		t.Error(got)
	}
	w.says("y", "n") // trust, and the call
	if got := content(w.run("")); got != "refused declined" {
		t.Errorf("%s: %v", got, w.lastErr)
	}
	// A file that the command of one tool names has changed.
	w.nobody()
	w.write("script.sh", "two")
	if got := content(w.run("")); got != "refused untrusted" || !strings.Contains(w.lastErr.Error(), "runs script.sh, changed since it was accepted") {
		t.Errorf("%s: %v", got, w.lastErr)
	}
	w.tool = "t"
	if got := content(w.run("")); got != "run" {
		t.Errorf("%s: %v", got, w.lastErr)
	}
	for _, all := range []string{"sandbox.tier = \"landlock\"\n", "conversation.tools.'*'.run = \"unattended\"\n", "inherit = false\n"} {
		w.repo = all
		if got := content(w.run("")); got != "refused untrusted" {
			t.Errorf("%s: %s", all, got)
		}
	}
}

// A hold stops calls that can write, as the rules have it that the kernel enforces, and not those that cannot.
func TestHoldsLetReadersGoOn(t *testing.T) {
	for _, c := range []struct{ rules, mode, want string }{
		{`access.fs = [{ path = ".", read = true }]`, "auto", "run"},
		{`access.fs = [{ path = ".", read = true }, { path = "x", update = true }]`, "auto", "refused held"},
		{`access.fs = [{ path = ".", read = true }]`, "off", "refused held"}, // nobody enforces it
		{`needs.fs = ["read"]`, "off", "run"},
		{"", "auto", "refused held"},
	} {
		w := newWorld(t, one("echo", nil, unattended, c.rules))
		w.write("x", "")
		w.cfg = []string{"sandbox.mode=" + c.mode}
		h := w.host()
		if m, err := h.machine(t.Context()); err != nil || c.mode == "auto" && m.Landlock == 0 {
			t.Skip("nothing can be enforced on this machine")
		}
		if err := h.State.Write("holds.json", []byte(`{"holds":[{"path":".git/config","reason":"changed","held_at":"2026-01-01T00:00:00Z"}]}`)); err != nil {
			t.Fatal(err)
		}
		if got := content(w.run("")); got != c.want {
			t.Errorf("%+v: %s: %v", c, got, w.lastErr)
		}
	}
}

// A hold on something outside of the workspace ends too when it stands again as it did, whatever its name leads to by then.
func TestHoldsOutsideEndWhenPutRight(t *testing.T) {
	w := newWorld(t, one("echo", nil, unattended))
	at := filepath.Join(w.top, "secret")
	hold := `{"holds":[{"path":"fork/secret","reason":"appeared","held_at":"2026-01-01T00:00:00Z","was":"missing","at":"` + at + `"}]}`
	if err := w.host().State.Write("holds.json", []byte(hold)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := content(w.run("")); got != "refused held" {
		t.Fatalf("while it is there: %s", got)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if got := content(w.run("")); got != "run" {
		t.Errorf("when it is gone: %s: %v", got, w.lastErr)
	}
}

func TestDryRun(t *testing.T) {
	w := newWorld(t, one("echo", nil, `parameters.x.type = "string"`, `access.fs = [{ path = ".", read = true }, { path = ".env", read = true }]`))
	w.write(".env", "")
	w.repo = "[conversation.tools.t]\nquestions.go.answer = true\n"
	r := w.run(`{"x":"1"}`, dry)
	if r.Outcome.Type != "planned" || r.Starts != 0 || r.Plan == nil || show.Value(r.Plan.Arguments) != `{"x":"1"}` || !r.Plan.Stdin || r.Policy.Access == nil {
		t.Fatalf("%+v", r)
	}
	needs := strings.Join(r.Plan.Needs, "\n")
	for _, want := range []string{"questions.go.answer", `run = "ask"`, ".env is a place of secrets", "--allow-sensitive"} {
		if !strings.Contains(needs, want) {
			t.Errorf("%q is not among:\n%s", want, needs)
		}
	}
	if !slices.Contains(r.Plan.Environment, "PATH") {
		t.Errorf("the environment is %v", r.Plan.Environment)
	}
	_ = filepath.WalkDir(filepath.Join(w.top, "data"), func(path string, d os.DirEntry, err error) error {
		// What was found out of the computer is kept where a look alone does not tell, as in a container.
		if err == nil && !d.IsDir() && filepath.Base(path) != "machine.json" {
			t.Errorf("the dry run left %s", path)
		}
		return nil
	})
}

// An interrupted call ends with 130, with the answer that the configuration has for it, and
// leaves no process.
func TestInterrupt(t *testing.T) {
	w := newWorld(t, one("hang", nil, unattended, `cancellation_response = "the user stopped this"`))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for range 2000 {
			if _, err := os.Stat(filepath.Join(w.root, "pids")); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		cancel()
	}()
	r := w.runContext(ctx, "")
	if r.Status != exit.Interrupted || content(r) != "failed interrupted" || r.Outcome.Message != "the user stopped this" {
		t.Errorf("%+v", r.Outcome)
	}
	pids, err := os.ReadFile(filepath.Join(w.root, "pids"))
	if err != nil {
		t.Fatal("the tool did not run")
	}
	for pid := range strings.FieldsSeq(string(pids)) {
		if alive(t, pid) {
			t.Errorf("process %s is left", pid)
		}
	}
	// Interrupted before anything was started.
	w.userConfig = one("echo", nil, unattended)
	if r := w.runContext(ctx, ""); r.Status != exit.Interrupted || content(r) != "failed interrupted" || r.Outcome.Message == "" {
		t.Errorf("%+v", r)
	}
}

// A preview is asked for under the same policy, answers and options as the run.
func TestPreviewIsTheSameRequest(t *testing.T) {
	w := newWorld(t, one("echo", nil, unattended, `access.fs = [{ path = ".", read = true }, { path = "secret" }]`, `options.deep = { a = [1] }`))
	w.write("secret", "")
	var reqs [2]received
	for i, change := range []func(*Request){func(*Request) {}, preview} {
		if err := json.Unmarshal(w.run("", change).Outcome.Data, &reqs[i]); err != nil {
			t.Fatal(err)
		}
	}
	run, prev := reqs[0], reqs[1]
	if run.Context.Action != "run" || prev.Context.Action != "format_arguments" {
		t.Fatalf("actions %s and %s", run.Context.Action, prev.Context.Action)
	}
	prev.Context.Action = "run"
	a, _ := json.Marshal(run)
	b, _ := json.Marshal(prev)
	if string(a) != string(b) || !strings.Contains(string(run.Context.Access), `"secret"`) || run.Tool.Options["deep"] == nil {
		t.Errorf("the run has\n%s\nthe preview\n%s", a, b)
	}
	// Answers of the call and of the configuration go to a preview, too.
	w = newWorld(t, one("ask", nil, unattended))
	if r := w.run("", preview, answers("go=true")); content(r) != "go: true" {
		t.Errorf("%+v", r.Outcome)
	}
}

// What a tool says of itself on standard error: RFD 075 on places of secrets.
func TestMentioned(t *testing.T) {
	for _, c := range []struct {
		said, more string
		want       bool
	}{
		{"reading '.env':", "", true},
		{"ROOT/app/.env.local", "", true},
		{"environment", "", false},
		{"../.env", "", false},
		{"/etc/.env", "", false},
		{"keys/a.pem", `access.sensitive_paths = ["**/*.pem"]`, true},
		{".env", `access.fs = [{ path = "src", read = true }]`, false},
		{".env.gone", "", false},
	} {
		w := newWorld(t, "")
		for _, name := range []string{".env", "app/.env.local", "keys/a.pem"} {
			if err := os.MkdirAll(filepath.Join(w.root, filepath.Dir(name)), 0o755); err != nil {
				t.Fatal(err)
			}
			w.write(name, "")
		}
		w.userConfig = one("text", []string{"0", strings.ReplaceAll(c.said, "ROOT", filepath.ToSlash(w.root))}, unattended, c.more)
		found := func() bool { return strings.Contains(strings.Join(w.run("").Warnings, "\n"), "a place of secrets") }
		if found() != c.want {
			t.Errorf("%s %s: told: %v", c.said, c.more, !c.want)
		}
		if found() {
			t.Errorf("%s: told twice in a session", c.said)
		}
	}
}

// Settings that do nothing here are said, once a session.
func TestStyle(t *testing.T) {
	w := newWorld(t, one("echo", nil, unattended, `style.hidden = true`))
	text := strings.Join(w.run("").Warnings, "\n")
	if !strings.Contains(text, "style of t is for hosts") {
		t.Error(text)
	}
	if r := w.run(""); len(r.Warnings) > 0 {
		t.Error(r.Warnings)
	}
}
