package call

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/jptools/jptools/host/internal/config"
	"github.com/jptools/jptools/host/internal/consent"
	"github.com/jptools/jptools/host/internal/exit"
	"github.com/jptools/jptools/host/internal/state"
	"github.com/jptools/jptools/host/internal/term"
	"github.com/jptools/jptools/jptool"
	"github.com/jptools/jptools/sandbox"
)

// world is a workspace with its user.
type world struct {
	t                *testing.T
	top, root        string
	session          string
	prompter         term.Prompter
	cfg              []string
	helpers          *sandbox.Helpers
	lastErr          error
	userConfig, repo string
	conversation     string
	talk             string // its id
	tool             string // t, unless a test says otherwise
}

// newWorld makes a world whose user has this configuration. TOOL in it stands for the test
// binary as a tool: `command = { program = "TOOL", args = ["tool", "echo"] }`.
func newWorld(t *testing.T, userConfig string) *world {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, top: top, root: filepath.Join(top, "ws"), session: "test", talk: "default", tool: "t", prompter: term.None{}, userConfig: userConfig, helpers: sandbox.NewHelpers(sandbox.HelperOptions{})}
	t.Cleanup(func() { w.helpers.Close() })
	for _, dir := range []string{"ws/.jp", "home", "conf"} {
		if err := os.MkdirAll(filepath.Join(top, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// one is the configuration of the tool t: of this kind, with these arguments and more lines.
func one(kind string, args []string, more ...string) string {
	quoted := []string{`"tool"`, strconv.Quote(kind)}
	for _, a := range args {
		quoted = append(quoted, strconv.Quote(a))
	}
	return fmt.Sprintf("[conversation.tools.t]\nsource = \"local\"\ncommand = { program = \"TOOL\", args = [%s] }\n%s\n", strings.Join(quoted, ", "), strings.Join(more, "\n"))
}

func (w *world) write(name, content string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.root, filepath.FromSlash(name)), []byte(content), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) host() *Host {
	w.t.Helper()
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	user := filepath.Join(w.top, "conf", "config.toml")
	// What the operating system holds has tests of its own: these are about what comes before.
	text := "sandbox.mode = \"off\"\n" + strings.ReplaceAll(w.userConfig, "TOOL", filepath.ToSlash(self))
	if err := os.WriteFile(user, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	if w.repo != "" {
		w.write(".jp/config.toml", w.repo)
	}
	talk := filepath.Join(w.top, "conversation.toml")
	if w.conversation != "" {
		if err := os.WriteFile(talk, []byte(w.conversation), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	cfg, err := config.Load(config.Options{Root: w.root, Cwd: w.root, GivenRoot: w.root, UserGlobal: user, Conversation: talk, Args: w.cfg})
	if err != nil {
		w.t.Fatal(err)
	}
	ws, err := state.OpenWorkspace(w.root)
	if err != nil {
		w.t.Fatal(err)
	}
	environ := []string{"HOME=" + filepath.Join(w.top, "home"), "PATH=" + os.Getenv("PATH"), "XDG_DATA_HOME=" + filepath.Join(w.top, "data")}
	dir, err := state.OS(func(name string) string { return jptool.LookupEnv(environ, name) }).Workspace(ws)
	if err != nil {
		w.t.Fatal(err)
	}
	session, err := dir.Session(w.session)
	if err != nil {
		w.t.Fatal(err)
	}
	quiet := func(string) {}
	return &Host{
		Config: cfg, Workspace: ws, Root: w.root, Conversation: w.talk, Environ: environ, State: dir, TempBase: w.top,
		Approvals: consent.OpenStore(dir, quiet), Trust: consent.OpenTrust(dir, quiet), Holds: consent.OpenHolds(dir),
		Session: session, Memory: consent.OpenMemory(dir, w.session), Prompter: w.prompter, Helpers: w.helpers, Warn: quiet,
	}
}

// run makes a call of the tool.
func (w *world) run(args string, change ...func(*Request)) *Report {
	w.t.Helper()
	return w.runContext(context.Background(), args, change...)
}

func (w *world) runContext(ctx context.Context, args string, change ...func(*Request)) *Report {
	w.t.Helper()
	h := w.host()
	tool, ok := h.Config.Tool(w.tool)
	if !ok {
		w.t.Fatalf("there is no tool %s", w.tool)
	}
	if args == "" {
		args = "{}"
	}
	c := Request{Tool: tool, Arguments: []byte(args)}
	for _, f := range change {
		f(&c)
	}
	var r *Report
	r, w.lastErr = h.Run(ctx, c)
	if got := exit.Of(w.lastErr); got != r.Status {
		w.t.Errorf("the status is %d and the error has %d", r.Status, got)
	}
	return r
}

func answers(list ...string) func(*Request) {
	return func(c *Request) {
		c.Answers = map[string]string{}
		for _, s := range list {
			k, v, _ := strings.Cut(s, "=")
			c.Answers[k] = v
		}
	}
}

func preview(c *Request) { c.Preview = true }

func dry(c *Request) { c.Dry = true }

// content is the content of a success, else what became of the call.
func content(r *Report) string {
	if r.Outcome.Type == "success" {
		return *r.Outcome.Content
	}
	s := r.Outcome.Type
	if r.Outcome.Reason != "" {
		s += " " + r.Outcome.Reason
	}
	if r.Outcome.Code != "" {
		s += " " + r.Outcome.Code
	}
	return s
}

// person answers what is asked, in order: y, Y, n, N, cancel, another text for the other kinds
// of questions. What was asked is kept.
type person struct {
	t       *testing.T
	answers []string
	asked   []string
}

func (p *person) next(m term.Message, prompt string) (string, error) {
	text := m.Body + m.Quoted
	for _, then := range m.Then {
		text += then.Body + then.Quoted
	}
	p.asked = append(p.asked, text+prompt)
	if len(p.answers) == 0 {
		p.t.Errorf("nobody expected the question:\n%s", p.asked[len(p.asked)-1])
		return "", term.ErrCancelled
	}
	a := p.answers[0]
	p.answers = p.answers[1:]
	if a == "cancel" {
		return "", term.ErrCancelled
	}
	return a, nil
}

func (p *person) Bool(_ context.Context, q term.BoolQuestion) (term.BoolAnswer, error) {
	a, err := p.next(q.Message, q.Prompt)
	remember := a == "s" && err == nil
	if remember && !q.Remember {
		p.t.Errorf("%s: cannot be remembered", q.Prompt)
	}
	return term.BoolAnswer{Yes: a == "y" || a == "s", Remember: remember}, err
}

// Permit understands y, s, a, e, and n with a reason.
func (p *person) Permit(_ context.Context, q term.PermitQuestion) (term.PermitAnswer, error) {
	a, err := p.next(q.Message, q.Prompt)
	if err != nil {
		return term.PermitAnswer{}, err
	}
	word, reason, _ := strings.Cut(a, " ")
	choice, ok := map[string]term.Choice{"y": term.Once, "s": term.Session, "a": term.Always, "n": term.Refuse, "e": term.Change}[word]
	if !ok || choice == term.Session && !q.Session || choice == term.Always && !q.Always || choice == term.Change && !q.Edit {
		p.t.Errorf("%s: %q is not offered", q.Prompt, a)
	}
	return term.PermitAnswer{Choice: choice, Reason: reason}, nil
}

func (p *person) Select(_ context.Context, q term.SelectQuestion) (int, error) {
	a, err := p.next(q.Message, q.Prompt)
	i, _ := strconv.Atoi(a)
	return i, err
}

func (p *person) Text(_ context.Context, q term.TextQuestion) (string, error) {
	return p.next(q.Message, q.Prompt)
}

func (p *person) Edit(_ context.Context, q term.EditQuestion) (string, error) {
	return p.next(term.Message{Quoted: q.Text}, "edit")
}

// says has somebody at the terminal for the next calls, and wants at the end that everything was asked.
func (w *world) says(answers ...string) *person {
	w.t.Helper()
	if p, ok := w.prompter.(*person); ok && len(p.answers) > 0 {
		w.t.Errorf("nobody asked for %q", p.answers)
	}
	p := &person{t: w.t, answers: answers}
	w.prompter = p
	w.t.Cleanup(func() {
		if len(p.answers) > 0 {
			w.t.Errorf("nobody asked for %q", p.answers)
		}
	})
	return p
}

func (w *world) nobody() { w.says(); w.prompter = term.None{} }
